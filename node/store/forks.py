"""The forks that are known here: evidence for ever, and where it freezes a log.

Of each log only the evidence of the earliest fork is kept: what its author signs after that
could fill the disk.
"""

import sqlite3

from node.store.transaction import Transaction
from sync.errors import BadEntry
from sync.log.chain import EMPTY, Head
from sync.log.fork import Evidence, Frozen, Side, evidence
from sync.log.names import node_name
from sync.log.vector import Place

CARDS_TOLD = 500
"""Asks of the author whose cards are told anew: more than any screen shows."""
COLUMNS = "author, log, at_header, at_signature, header, signature"


def frozen_at(connection: sqlite3.Connection, fleet: bytes, author: bytes, log: int) -> int | None:
    """Return where an author's log forked, None while it did not."""
    (seq,) = connection.execute(
        "SELECT min(seq) FROM fork WHERE fleet = ? AND author = ? AND log = ?",
        (fleet, author, log),
    ).fetchone()
    return None if seq is None else int(seq)


def known(connection: sqlite3.Connection, fleet: bytes) -> dict[Place, Frozen]:
    """Return every log of a fleet that is frozen, and up to where it is held here."""
    found: dict[Place, Frozen] = {}
    for author, log, at_header, at_signature, header, signature in connection.execute(
        f"SELECT {COLUMNS} FROM fork WHERE fleet = ?",  # noqa: S608 -- a constant
        (fleet,),
    ).fetchall():
        proof = evidence(
            Side(raw=at_header, signature=at_signature), Side(raw=header, signature=signature)
        )
        end = end_before(connection, fleet, (author, log), proof.seq)
        found[author, log] = Frozen(evidence=proof, end=end)
    return found


def end_before(connection: sqlite3.Connection, fleet: bytes, place: Place, seq: int) -> Head:
    """Return the last entry of a log that is held here and lies before `seq`."""
    row = connection.execute(
        "SELECT seq, hash FROM entry WHERE fleet = ? AND author = ? AND log = ? AND seq < ?"
        " ORDER BY seq DESC LIMIT 1",
        (fleet, *place, seq),
    ).fetchone()
    return EMPTY if row is None else Head(seq=row[0], hash=row[1])


def keep(transaction: Transaction, proof: Evidence, key: bytes) -> Frozen | None:
    """Keep what proves a fork, if it shows an earlier one than is known; None: it does not.

    It is to be told then (`tell`). Raises `BadEntry` when the author did not sign both: a
    relay can spoil a signature, not make one.
    """
    connection, fleet = transaction.connection, transaction.identity.fleet
    if proof.fleet != fleet:
        raise BadEntry("Evidence of a fork is of another fleet.")
    before = frozen_at(connection, fleet, *proof.place)
    if before is not None and before <= proof.seq:
        return None
    proof.verify(key)
    transaction.run(
        "DELETE FROM fork WHERE fleet = ? AND author = ? AND log = ?", fleet, *proof.place
    )
    transaction.run(
        "INSERT INTO fork (fleet, author, log, seq, at_header, at_signature, header, signature,"
        " at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        fleet,
        *proof.place,
        proof.seq,
        proof.first.raw,
        proof.first.signature,
        proof.second.raw,
        proof.second.signature,
        transaction.now,
    )
    return Frozen(evidence=proof, end=end_before(connection, fleet, proof.place, proof.seq))


def tell(transaction: Transaction, author: bytes) -> None:
    """Every card of the author's asks says so, and the pages do.

    Once for a batch: whoever forks itself can prove many forks of one log, each earlier.
    """
    node = node_name(author)
    transaction.change("fleet", node)
    told = transaction.rows(
        "SELECT id FROM ask WHERE home = ? AND state != 'posted' ORDER BY created DESC LIMIT ?",
        node,
        CARDS_TOLD,
    )
    transaction.change_all("ask", [ask for (ask,) in told])
