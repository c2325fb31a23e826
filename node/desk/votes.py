"""Votes of an ask as rows of the store, for rulings and for cards."""

import sqlite3
from collections.abc import Mapping

from node.desk import accounts, persons
from node.desk.rows import AskRow
from sync.decide import standing
from sync.decide.ask import AskState, Outcome
from sync.decide.people import Person, eligible
from sync.decide.quorum import counted, latest, may_say
from sync.decide.vote import Decision, Ruling, Vote
from sync.errors import BadEntry
from sync.log.entry import sha256, verify_header
from sync.log.facts import FinalFacts, VoteFacts, VoteText, read, read_text

STANDING = (Ruling.ACCEPTED.value, Ruling.COUNTED.value)
COUNTED_FROM = 2
"""Where one is enough, the first allow is final at once."""
Record = tuple[bytes, str, str, str, bytes, str | None, int]
COLUMNS = "hash, node, person, decision, seen, choice, unclear"


def vote_of(record: Record) -> Vote:
    """Make a vote from a record selected by `COLUMNS`."""
    vote, node, person, decision, seen, choice, unclear = record
    return Vote(
        hash=vote,
        node=node.encode(),
        person=person,
        decision=Decision(decision),
        seen=seen,
        choice=choice,
        unclear=bool(unclear),
    )


def standing_votes(connection: sqlite3.Connection, ask: str) -> list[Vote]:
    """Return what later votes are counted with: accepted or counted ones, and takings back."""
    found = connection.execute(
        f"SELECT {COLUMNS} FROM vote"  # noqa: S608 -- a constant
        " WHERE ask = ? AND (ruling IN (?, ?) OR (ruling = ? AND decision = 'take_back'))"
        " ORDER BY n",
        (ask, *STANDING, Ruling.TAKEN_BACK.value),
    )
    return [vote_of(record) for record in found]


def counting_votes(
    connection: sqlite3.Connection, row: AskRow, people: Mapping[str, Person]
) -> list[Vote]:
    """Return what a vote is counted with, by the people of this moment.

    While the ask is open, an allow counts only as long as who gave it may give it: a final
    is checked everywhere as of the moment it was made, each vote in it alike.
    """
    votes = standing_votes(connection, row.id)
    if row.state != AskState.WAITING.value:
        return votes
    quorum, said = row.quorum, accounts.said(connection)
    return [
        vote
        for vote in votes
        if vote.decision is not Decision.ALLOW
        or (
            may_say(quorum, vote)
            and persons.speaks_for(connection, vote.node.decode(), vote.person)
            and eligible(people.get(vote.person), row.role)
            and standing.refuses(said, vote.person) is None
        )
    ]


def allows(connection: sqlite3.Connection, row: AskRow, people: Mapping[str, Person]) -> int:
    """Return how many allows count by now, of an open approval that needs several."""
    if row.needed < COUNTED_FROM or row.state != AskState.WAITING.value:
        return 0
    return len(counted(counting_votes(connection, row, people)))


def uncounted(
    connection: sqlite3.Connection, row: AskRow, people: Mapping[str, Person]
) -> frozenset[bytes]:
    """Return the allows that are recorded and do not count.

    They stand beside another of the same machine, or their person may not allow it any more.
    """
    if row.needed < COUNTED_FROM:
        return frozenset()
    if row.state == AskState.WAITING.value:
        count = {vote.hash for vote in counted(counting_votes(connection, row, people))}
    elif row.outcome == Outcome.ALLOWED.value:
        count = set(final_votes(connection, row))
    else:
        return frozenset()
    given = latest(standing_votes(connection, row.id))
    allowed = {vote.hash for vote in given if vote.decision is Decision.ALLOW}
    return frozenset(allowed - count)


def unruled(connection: sqlite3.Connection, ask: str) -> list[Vote]:
    """Return the votes of an ask that have no ruling yet, in order of arrival."""
    found = connection.execute(
        f"SELECT {COLUMNS} FROM vote"  # noqa: S608 -- a constant
        " WHERE ask = ? AND ruling IS NULL ORDER BY n",
        (ask,),
    )
    return [vote_of(record) for record in found]


def final_votes(connection: sqlite3.Connection, row: AskRow) -> list[bytes]:
    """Return the votes in the final itself: others may count and yet not have made it."""
    if row.final_hash is None:
        return []
    record = connection.execute(
        "SELECT facts FROM entry WHERE hash = ?", (row.final_hash,)
    ).fetchone()
    if record is None:
        return []
    return [sha256(vote.raw + vote.signature) for vote in read(FinalFacts, record[0]).votes]


def is_signed(connection: sqlite3.Connection, vote: bytes) -> bool:
    """Whether the node of a vote signed the vote itself.

    A run is proved by its last signature, so an author can hide a spoilt one in its own log.
    A final carries its votes alone, and nobody would accept one that rests on such a vote.
    """
    record = connection.execute(
        "SELECT header, signature, public_key FROM entry JOIN vote USING (hash)"
        " JOIN node ON node.id = vote.node WHERE entry.hash = ?",
        (vote,),
    ).fetchone()
    if record is None:
        return False
    try:
        verify_header(*record)
    except BadEntry:
        return False
    return True


def words_of(connection: sqlite3.Connection, vote: bytes) -> VoteText:
    """Return a vote's words; none where they were erased or do not read."""
    record = connection.execute("SELECT text FROM entry WHERE hash = ?", (vote,)).fetchone()
    try:
        said = None if record is None else read_text(VoteText, record[0])
    except BadEntry:
        said = None
    return said or VoteText()


def taken_back(connection: sqlite3.Connection, ask: str, vote: Vote) -> bool:
    """Whether a taking back of the same person, here already, names this vote.

    It may have come on a shorter way than the vote. One that a node signed which does not
    speak for the person takes nothing back.
    """
    for (facts,) in connection.execute(
        "SELECT facts FROM vote JOIN entry ON entry.hash = vote.hash"
        " JOIN speaks_for ON speaks_for.node = vote.node AND speaks_for.person = vote.person"
        " WHERE ask = ? AND vote.person = ? AND decision = 'take_back' AND live",
        (ask, vote.person),
    ):
        if vote.hash in read(VoteFacts, facts).takes_back:
            return True
    return False
