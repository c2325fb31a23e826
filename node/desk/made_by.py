"""Whose votes a final rests on: everyone who counted, not only who came last."""

import sqlite3
from typing import NamedTuple

from node.desk.rows import AskRow
from node.desk.votes import COUNTED_FROM
from sync.decide.ask import Outcome
from sync.decide.verdict import both
from sync.log.entry import unpack
from sync.log.facts import FinalFacts, VoteFacts, read
from sync.log.names import node_name


class Made(NamedTuple):
    """A person whose vote is in a final, and the machine on which it was given."""

    person: str | None
    node: str | None


def made_by(connection: sqlite3.Connection, row: AskRow) -> list[Made]:
    """Return whose votes are in the final of an ask, the deciding one last; none: nobody's.

    Read from the final itself: the votes need not have come to this machine.
    """
    if row.closed_by is None and row.closed_on is None:
        return []
    last = Made(row.closed_by, row.closed_on)
    several = row.needed >= COUNTED_FROM and row.outcome == Outcome.ALLOWED.value
    if not several or row.final_hash is None:
        return [last]
    record = connection.execute(
        "SELECT facts FROM entry WHERE hash = ?", (row.final_hash,)
    ).fetchone()
    if record is None:
        return [last]
    return [
        Made(read(VoteFacts, vote.facts).person, node_name(unpack(vote.raw).author))
        for vote in read(FinalFacts, record[0]).votes
    ]


def names_of(connection: sqlite3.Connection, row: AskRow) -> str | None:
    """Return the names of everyone whose vote closed an ask; None: nobody's that is known."""
    known = dict(connection.execute("SELECT id, name FROM person"))
    found = [known[made.person] for made in made_by(connection, row) if made.person in known]
    return both(found) if found else None
