"""What a restored node makes up for, once it knows its own last entry.

In between somebody may have denied, taken back, or used what the copy still shows as open or
allowed: none of it may be decided or handed over any more. A question loses nothing by
staying open.
"""

import sqlite3
import time

import msgspec

from node.backup.mark import RESTORED, RESTORED_FROM, Mark, banner
from node.desk import persons
from node.desk.closing import close, expire_if_due, void
from node.desk.rows import select
from node.store.hold import HOLD
from node.store.transaction import Transaction
from sync.decide.ask import AskState, Outcome
from sync.decide.handover import WHY_RESTORED, Void
from sync.decide.people import Act, may
from sync.errors import NotAllowed
from sync.log.facts import FinalText
from web.desk import Viewer

OPEN = "kind = 'approval' AND state = 'waiting' AND home = ? AND fleet = ?"
UNUSED = "kind = 'approval' AND state = 'closed' AND outcome = 'allowed' AND home = ? AND fleet = ?"


def make_up_alone(transaction: Transaction) -> int:
    """Make up for it at once, and go on, where no other machine could know more of our log."""
    other = transaction.row(
        "SELECT 1 FROM node WHERE removed IS NULL AND id != ?", transaction.identity.name
    )
    if other is not None or transaction.value(RESTORED) is None:
        return 0
    transaction.lift()
    transaction.keep(HOLD, None)
    return make_up(transaction)


def make_up(transaction: Transaction) -> int:
    """Void what was decided or open before the copy was made; return how much that was.

    One transaction, once: with no mark nothing happens. Call it when our own last entry is
    known, before anything is ruled on or handed over.
    """
    value = transaction.value(RESTORED)
    if value is None:
        return 0
    mark = msgspec.json.decode(value, type=Mark)
    here = (transaction.identity.name, transaction.identity.fleet)
    reason = f"this machine was put back to a copy of {day(mark.when)}"
    withdrawn = unused = 0
    for row in select(transaction.connection, OPEN, here):
        if expire_if_due(transaction, row).state != AskState.WAITING.value:
            continue
        text = FinalText(reason=reason)
        close(transaction, row, Outcome.WITHDRAWN, text=text, reason=WHY_RESTORED)
        withdrawn += 1
    for row in select(transaction.connection, UNUSED, here):
        void(transaction, row, Void.RESTORED)
        unused += 1
    count_on(transaction)
    transaction.keep(RESTORED, None)
    transaction.change("fleet", transaction.identity.name)
    return withdrawn + unused


def count_on(transaction: Transaction) -> None:
    """Go on above the numbers of all asks of ours that came back from other machines."""
    (last,) = transaction.row(
        "SELECT coalesce(max(number), 0) FROM ask WHERE home = ?", transaction.identity.name
    )
    if last > int.from_bytes(transaction.value("number") or b"", "big"):
        transaction.keep("number", int(last).to_bytes(8, "big"))


def put_away(transaction: Transaction, *, viewer: Viewer) -> None:
    """A person has read that this node was restored. Raises `NotAllowed`."""
    if not may(persons.everyone(transaction.connection).get(viewer.person), Act.ANSWER):
        raise NotAllowed("You may see this, but not put it away.")
    transaction.keep(RESTORED_FROM, None)
    transaction.change("node", transaction.identity.name)


def copied(connection: sqlite3.Connection) -> int | None:
    """Return of what time the copy was; None once a person has put the notice away."""
    mark = banner(connection)
    return None if mark is None else mark.when


def words(connection: sqlite3.Connection) -> list[str]:
    """Return the same for a terminal."""
    mark = banner(connection)
    if mark is None:
        return []
    return [
        (
            f"This machine was restored from a copy of {day(mark.when)}, by {mark.by}. Approvals"
            " that were open then are withdrawn, and what was allowed and not used is void."
            " On the page this can be put away."
        )
    ]


def day(at: int) -> str:
    """Return the day and minute, as the clock of this machine shows it."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at / 1000))
