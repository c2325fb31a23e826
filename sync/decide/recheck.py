"""What any node checks of a final by itself: that it rests on votes which make it.

Those who voted must have been allowed to as of `people_heads`: what the home knew then,
and every node can know as well (`voted_rightly`). Nobody's word is taken for it.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import msgspec

from sync.decide.ask import OUTCOMES, Kind, Outcome
from sync.decide.membership import Membership
from sync.decide.people import eligible
from sync.decide.vote import OUTCOME_OF, Decision
from sync.errors import BadEntry
from sync.log.entry import sha256, unpack, verify_header
from sync.log.facts import EmbeddedVote, FinalFacts, Quorum, VoteFacts, read
from sync.log.kinds import EntryType

WITHOUT_VOTES = frozenset({Outcome.EXPIRED, Outcome.WITHDRAWN})
"""Outcomes that nobody voted for."""


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """The ask that a final closes."""

    kind: Kind
    seen: bytes
    """Hash of the revision that stands: what the final and its votes must name."""
    fleet: bytes
    quorum: Quorum


class Counted(NamedTuple):
    """A vote inside a final."""

    node: bytes
    facts: VoteFacts
    embedded: EmbeddedVote


def votes_of(final: FinalFacts, closing: Closing) -> list[Counted]:
    """Return the votes that made a final, the deciding one last.

    Raises `BadEntry` where the final is of another revision, or does not follow from them.
    """
    outcome = Outcome(final.outcome)
    if final.seen != closing.seen:
        raise BadEntry("A final is of another revision than the one that stands.")
    if outcome not in OUTCOMES[closing.kind]:
        raise BadEntry(f"A {closing.kind.value} cannot end as {outcome.value}.")
    votes = [_vote(embedded, final, closing) for embedded in final.votes]
    if outcome in WITHOUT_VOTES:
        if votes:
            raise BadEntry(f"Nobody votes for {outcome.value}.")
        return []
    needed = closing.quorum.needed if outcome is Outcome.ALLOWED else 1
    if not votes or _independent(votes) < needed:
        raise BadEntry("A final rests on fewer votes than its ask needs.")
    if outcome is Outcome.ALLOWED:
        _by_others(votes, closing.quorum.not_by)
    if any(OUTCOME_OF.get(_decision(vote)) is not outcome for vote in votes):
        raise BadEntry("A final says something else than the votes in it.")
    if final.unclear and not votes[-1].facts.unclear:
        raise BadEntry("A final sends back as unclear what the vote that made it decided.")
    if final.choice != votes[-1].facts.choice:
        raise BadEntry("A final chooses something else than the vote that made it.")
    return votes


def voted_rightly(votes: Iterable[Counted], fleet: Membership, role: str | None) -> None:
    """Check that each vote was signed where it may be, for someone who may answer.

    `fleet` is the fleet as of the final's `people_heads`, `role` the one that guards the
    ask. Raises `BadEntry`.
    """
    for vote in votes:
        node, person = fleet.nodes.get(vote.node), vote.facts.person
        if node is None or not fleet.speaks(vote.node, person):
            raise BadEntry("A vote in a final was signed where its person has no machine.")
        if not eligible(fleet.person(person), role):
            raise BadEntry("A vote in a final is by someone who may not answer.")
        if fleet.held(person) is not None:
            raise BadEntry("A vote in a final is by someone whose account was on hold.")
        verify_header(vote.embedded.raw, vote.embedded.signature, node.public_key)


def _vote(embedded: EmbeddedVote, final: FinalFacts, closing: Closing) -> Counted:
    header = unpack(embedded.raw)
    if (
        header.type != EntryType.VOTE
        or header.fleet != closing.fleet
        or header.facts_len != len(embedded.facts)
        or header.facts_hash != sha256(embedded.facts)
    ):
        raise BadEntry("A vote in a final is not what was signed.")
    facts = read(VoteFacts, embedded.facts)
    if facts.ask != final.ask or facts.seen != closing.seen:
        raise BadEntry("A vote in a final is on another ask.")
    return Counted(header.author, facts, embedded)


def _decision(vote: Counted) -> Decision:
    try:
        return Decision(vote.facts.decision)
    except ValueError:
        raise BadEntry("A vote in a final says what nobody knows.") from None


def _by_others(votes: Iterable[Counted], not_by: Collection[str]) -> None:
    if any(vote.facts.person in not_by for vote in votes):
        raise BadEntry("A final rests on the allow of someone whose own agent asked.")


def _independent(votes: Iterable[Counted]) -> int:
    """Return how many votes count: those of one person, or of one node, are one."""
    nodes: set[bytes] = set()
    persons: set[str] = set()
    kept = 0
    for vote in votes:
        # A home puts one vote of a person in, and one of a node: more of either add nothing.
        kept += vote.node not in nodes and vote.facts.person not in persons
        nodes.add(vote.node)
        persons.add(vote.facts.person)
    return kept
