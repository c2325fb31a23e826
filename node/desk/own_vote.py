"""What a viewer has said to an ask, and what that counts for where several must allow it."""

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from node.desk.rows import AskRow
from node.desk.votes import COUNTED_FROM, counting_votes
from sync.decide.ask import AskState
from sync.decide.card_facts import CardFacts
from sync.decide.people import Person
from sync.decide.quorum import beside, counted, latest
from sync.decide.vote import Decision, Ruling

OWN_VOTE = "SELECT decision, ruling FROM vote WHERE ask = ? AND person = ? ORDER BY n DESC LIMIT 1"


class OwnVote(NamedTuple):
    """The viewer's last word on an ask; `decision` None: there is none."""

    decision: str | None
    ruling: str | None

    @property
    def taking_back(self) -> bool:
        """Whether it takes an answer back, and the home has not ruled on that."""
        return self.decision == Decision.TAKE_BACK.value and self.ruling is None

    @property
    def pending(self) -> bool:
        """Whether it is an answer that the home has not ruled on."""
        return self.decision is not None and self.ruling is None and not self.taking_back

    @property
    def ruled(self) -> str:
        """How the home ruled on an answer; "" for what was taken back."""
        return "" if self.decision == Decision.TAKE_BACK.value else self.ruling or ""


def own_vote(connection: sqlite3.Connection, row: AskRow, viewer: Person | None) -> OwnVote:
    """Return the viewer's last word on an ask, from whichever machine."""
    if viewer is None or row.posted:
        return OwnVote(None, None)
    last = connection.execute(OWN_VOTE, (row.id, viewer.id)).fetchone()
    return OwnVote(*(last or (None, None)))


def with_quorum(
    connection: sqlite3.Connection,
    row: AskRow,
    facts: CardFacts,
    viewer: Person | None,
    people: Mapping[str, Person],
) -> CardFacts:
    """Add how many allows the home has counted, as far as its rulings are here.

    Judged by the people of now, as the home would at the next vote: who lost the right to
    allow counts no more.
    """
    if row.state != AskState.WAITING.value:
        return facts
    who = viewer.id if viewer else ""
    own_agent = who in row.quorum.not_by
    if row.needed < COUNTED_FROM:
        return msgspec.structs.replace(facts, own_agent=own_agent)
    votes = counting_votes(connection, row, people)
    other = beside(votes, who)
    standing = any(vote.person == who and vote.decision is Decision.ALLOW for vote in latest(votes))
    ruled = own_vote(connection, row, viewer).ruled
    return msgspec.structs.replace(
        facts,
        counted=len(counted(votes)),
        own_counted=ruled == Ruling.COUNTED.value and standing,
        own_beside=people[other.person].name if other else None,
        own_agent=own_agent,
    )
