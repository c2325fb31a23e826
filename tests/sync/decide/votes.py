"""A home in one object: rules on votes in order, and keeps what a home keeps."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from sync.decide.ask import Ask, AskState, Kind, Outcome, Step, advance
from sync.decide.final import Verdict, rule
from sync.decide.people import Person, Role
from sync.decide.vote import Decision, Ruling, Vote
from sync.log.facts import Quorum

SEEN = b"seen" * 8
STALE = b"old." * 8
DEADLINE = 1_000
STANDING = (Ruling.ACCEPTED, Ruling.COUNTED)


def an_ask(
    kind: Kind = Kind.APPROVAL,
    *,
    needed: int = 1,
    role: str | None = None,
    deadline: int | None = DEADLINE,
    state: AskState = AskState.WAITING,
    not_by: Sequence[str] = (),
) -> Ask:
    return Ask(
        id="home-1",
        kind=kind,
        state=state,
        entry_hash=SEEN,
        options=["1", "2"] if kind is Kind.QUESTION else [],
        deadline=deadline,
        session="s",
        enforced=False,
        quorum=Quorum(needed=needed, role=role, not_by=list(not_by)),
    )


def a_person(name: str, role: Role = Role.MEMBER, *, ended: bool = False) -> Person:
    return Person(id=name, name=name, role=role, ended=ended)


class Cast(NamedTuple):
    """One vote as it arrives, and what the home knows of its person then."""

    person: str
    node: bytes
    decision: Decision
    stale: bool = False
    choice: str | None = None
    unclear: bool = False
    role: Role = Role.MEMBER
    speaks_for: bool = True


class Home:
    """What happens at the home of one ask."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        self.votes: list[tuple[Vote, Ruling]] = []
        self.finals: list[tuple[Outcome, tuple[Vote, ...]]] = []
        self.voids = 0

    def vote(self, cast: Cast, now: int) -> Verdict:
        """Rule on one vote and carry the ruling out."""
        vote = Vote(
            hash=len(self.votes).to_bytes(32, "big"),
            node=cast.node,
            person=cast.person,
            decision=cast.decision,
            seen=STALE if cast.stale else SEEN,
            choice=cast.choice,
            unclear=cast.unclear,
        )
        verdict = rule(
            self.ask,
            vote,
            earlier=self.standing(),
            person=a_person(cast.person, cast.role),
            speaks_for=cast.speaks_for,
            final_by=[made.hash for _, votes in self.finals for made in votes],
            now=now,
        )
        self.votes.append((vote, verdict.ruling))
        if verdict.closes is not None:
            self._step(Step.CLOSE)
            self.finals.append((verdict.closes, verdict.made_by))
        if verdict.voids:
            self._step(Step.VOID)
            self.voids += 1
        return verdict

    def hand_over(self) -> None:
        """Hand the final over, where one stands."""
        if self.ask.state is AskState.CLOSED:
            self._step(Step.HAND)

    def standing(self) -> list[Vote]:
        """What a later ruling looks at: votes that stand, and what was taken back."""
        return [
            vote
            for vote, ruling in self.votes
            if ruling in STANDING
            or (ruling is Ruling.TAKEN_BACK and vote.decision is Decision.TAKE_BACK)
        ]

    def _step(self, step: Step) -> None:
        state = advance(self.ask.kind, self.ask.state, step)
        self.ask = msgspec.structs.replace(self.ask, state=state)
