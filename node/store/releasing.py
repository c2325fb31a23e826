"""What was stamped ahead of time: applied once time has caught up with it."""

import sqlite3

from node.store import derive
from node.store.transaction import Transaction
from sync.limits import CLOCK_AHEAD_MS
from sync.log import hlc


def release(transaction: Transaction) -> int:
    """Apply what was held out of merges and is too far ahead no more; return how many.

    To be called now and then: time alone makes them due.
    """
    due = transaction.rows(
        "SELECT entry.n FROM held JOIN entry ON entry.n = held.n WHERE held.hlc < ? ORDER BY 1",
        transaction.wall + CLOCK_AHEAD_MS + 1 << hlc.COUNTER_BITS,
    )
    if not due:
        return 0
    connection = transaction.connection
    counting = derive.ends_of_all(connection, transaction.identity.fleet)
    for (n,) in due:
        transaction.run("DELETE FROM held WHERE n = ?", n)
        transaction.tell(derive.replay(connection, derive.stored_at(connection, n), counting))
    transaction.change("attention", "")
    return len(due)


def next_release(connection: sqlite3.Connection) -> int | None:
    """Return at which wall-clock time `release` has something to do."""
    (stamp,) = connection.execute("SELECT min(hlc) FROM held").fetchone()
    return None if stamp is None else hlc.milliseconds(stamp) - CLOCK_AHEAD_MS
