"""Allows that are enough by now, though no new one came.

A vote is ruled on once, when it arrives; whether it counts is judged by the people and the
accounts of each moment. So a role that is given back, or an account that is settled, can make
up the number by itself, and nobody who sees "2 of 2" should have to answer once more.
"""

import sqlite3

from node.desk import persons
from node.desk.closing import close
from node.desk.rows import AskRow, select
from node.desk.votes import COUNTED_FROM, counting_votes, words_of
from node.store.transaction import Transaction
from sync.decide.ask import Outcome, expired
from sync.decide.quorum import counted
from sync.decide.vote import Vote
from sync.log.facts import FinalText

OPEN = "state = 'waiting' AND needed >= ? AND home = ?"


def reached(connection: sqlite3.Connection, here: str, now: int) -> list[tuple[AskRow, list[Vote]]]:
    """Return the open asks of this home that enough people allow, and the votes of these."""
    rows = select(connection, OPEN, (COUNTED_FROM, here))
    if not rows:
        return []
    people = persons.everyone(connection)
    found = []
    for row in rows:
        votes = counted(counting_votes(connection, row, people))
        if len(votes) >= row.needed and not expired(row.deadline, now):
            found.append((row, votes))
    return found


def close_reached(transaction: Transaction) -> None:
    """Make the finals that are due; on hold, none is."""
    if transaction.silenced is not None:
        return
    connection, here = transaction.connection, transaction.identity.name
    for row, votes in reached(connection, here, transaction.now):
        last = votes[-1]
        said = words_of(connection, last.hash)
        close(
            transaction,
            row,
            Outcome.ALLOWED,
            votes=[vote.hash for vote in votes],
            text=FinalText(text=said.text, because=said.because),
        )
