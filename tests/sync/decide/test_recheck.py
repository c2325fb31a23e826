"""What a home cannot pass off as a quorum: anyone who checks its final counts for himself."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from sync.decide.ask import Kind
from sync.decide.recheck import Closing, votes_of
from sync.errors import BadEntry
from sync.log.facts import EmbeddedVote, FinalFacts, Quorum, VoteFacts, pack_facts
from sync.log.kinds import EntryType
from tests.sync.log.entries import FLEET, entry, key

ASK, SEEN = "n-1", b"s" * 32
Cast = tuple[str, int]
"""Who, and on which machine."""


def embedded(person: str, node: int, decision: str = "allow", **said: Any) -> EmbeddedVote:  # noqa: ANN401 -- any field
    facts = {"ask": ASK, "seen": SEEN, **said}
    packed = pack_facts(VoteFacts(person=person, decision=decision, at=1, **facts))
    one = entry(by=key(node), kind=EntryType.VOTE, facts=packed)
    return EmbeddedVote(raw=one.raw, signature=one.signature, facts=one.facts)


def final(votes: list[EmbeddedVote], outcome: str = "allowed", **more: Any) -> FinalFacts:  # noqa: ANN401 -- any field
    return FinalFacts(ask=ASK, seen=SEEN, outcome=outcome, votes=votes, at=2, **more)


def closing(needed: int = 1, not_by: Sequence[str] = ()) -> Closing:
    quorum = Quorum(needed=needed, not_by=list(not_by))
    return Closing(kind=Kind.APPROVAL, seen=SEEN, fleet=FLEET, quorum=quorum)


@pytest.mark.parametrize(
    ("casts", "counts"),
    [
        ([("ann", 1)], 1),
        ([("ann", 1), ("bob", 2)], 2),
        ([("ann", 1), ("bob", 1)], 1),
        ([("ann", 1), ("ann", 2)], 1),
        # As many people as machines, and yet no three who each had one of their own.
        ([("ann", 1), ("ann", 2), ("ann", 3), ("bob", 1), ("cid", 1)], 1),
        ([("ann", 1), ("bob", 2), ("cid", 3)], 3),
    ],
)
def test_people_on_machines_of_their_own(casts: list[Cast], counts: int) -> None:
    made = final([embedded(person, node) for person, node in casts])
    for needed in (1, 2, 3):
        if needed <= counts:
            assert len(votes_of(made, closing(needed))) == len(casts)
        else:
            with pytest.raises(BadEntry, match="fewer votes"):
                votes_of(made, closing(needed))


def test_no_allow_by_whose_agent_asks_and_their_deny_stands() -> None:
    both = [embedded("ann", 1), embedded("bob", 2)]
    for own in ("ann", "bob"):
        with pytest.raises(BadEntry, match="own agent"):
            votes_of(final(both), closing(2, [own]))
    assert votes_of(final(both), closing(2, ["cid"]))
    denied = final([embedded("ann", 1, "deny")], "denied")
    assert votes_of(denied, closing(2, ["ann"]))


@pytest.mark.parametrize(("said", "told"), [*product([True, False], repeat=2)])
def test_unclear_is_the_persons_word_alone(said: bool, told: bool) -> None:
    """A home of an older askmesh leaves it out; none may add it."""
    made = final([embedded("ann", 1, "deny", unclear=said)], "denied", unclear=told)
    if told and not said:
        with pytest.raises(BadEntry, match="unclear"):
            votes_of(made, closing())
    else:
        assert votes_of(made, closing())


@pytest.mark.parametrize("changed", [{"ask": "n-2"}, {"seen": b"o" * 32}])
def test_a_vote_on_another_ask_or_revision_is_no_part_of_a_quorum(
    changed: dict[str, Any],
) -> None:
    votes = [embedded("ann", 1), embedded("bob", 2, **changed)]
    with pytest.raises(BadEntry, match="another ask"):
        votes_of(final(votes), closing(2))
    assert votes_of(final(votes[:1]), closing())
