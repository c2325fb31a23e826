"""Counting: one a person, one a node, and who takes back is gone."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from sync.decide.quorum import beside, counted, latest, missing
from sync.decide.vote import Decision, Vote
from sync.log.facts import Quorum

VOTES = st.lists(
    st.builds(
        Vote,
        hash=st.binary(min_size=4, max_size=4),
        node=st.sampled_from([b"n1", b"n2", b"n3"]),
        person=st.sampled_from(["ann", "bob", "cid", "dee"]),
        decision=st.sampled_from(Decision),
        seen=st.just(b"s"),
    ),
    max_size=12,
)


@given(votes=VOTES)
def test_the_latest_of_each_person_stands(votes: list[Vote]) -> None:
    last = {vote.person: vote for vote in votes}
    standing = [vote for vote in last.values() if vote.decision is not Decision.TAKE_BACK]
    assert sorted(latest(votes), key=lambda vote: vote.person) == sorted(
        standing, key=lambda vote: vote.person
    )


@given(votes=VOTES)
def test_what_counts(votes: list[Vote]) -> None:
    found = counted(votes)
    assert len({vote.person for vote in found}) == len(found)
    assert len({vote.node for vote in found}) == len(found)
    standing = latest(votes)
    for vote in found:
        assert vote in standing
        assert vote.decision is Decision.ALLOW
    # Nobody is left out but for a node that counts already.
    nodes = {vote.node for vote in found}
    assert all(vote.node in nodes for vote in standing if vote.decision is Decision.ALLOW)


@given(votes=VOTES, person=st.sampled_from(["ann", "bob", "cid", "dee"]))
def test_taking_back_never_adds_a_vote(votes: list[Vote], person: str) -> None:
    back = Vote(hash=b"back", node=b"n1", person=person, decision=Decision.TAKE_BACK, seen=b"s")
    assert len(counted([*votes, back])) <= len(counted(votes))


PEOPLE = ["ann", "bob", "cid", "dee"]
MACHINES = st.dictionaries(
    st.sampled_from(PEOPLE), st.frozensets(st.sampled_from([b"n1", b"n2", b"n3"])), max_size=4
)


@given(
    votes=VOTES,
    machines=MACHINES,
    needed=st.integers(1, 4),
    own=st.lists(st.sampled_from(PEOPLE), max_size=2, unique=True),
)
def test_what_is_missing_is_what_no_order_of_allows_could_bring(
    votes: list[Vote], machines: dict[str, frozenset[bytes]], needed: int, own: list[str]
) -> None:
    """Against every way in which those who are left could allow it."""
    votes = counted(vote for vote in votes if vote.person not in own)
    able, short = missing(Quorum(needed=needed, not_by=own), votes, machines)
    done = {vote.person for vote in votes} | set(own)
    choices = [
        [None, *sorted(nodes)] for person, nodes in sorted(machines.items()) if person not in done
    ]
    used = {vote.node for vote in votes}
    most = max(len({node for node in way if node is not None} - used) for way in product(*choices))
    assert short == max(needed - len(votes) - most, 0)
    assert able == sum(
        1 for person, nodes in machines.items() if person not in done and nodes - used
    )


@given(votes=VOTES, person=st.sampled_from(PEOPLE))
def test_whose_allow_counts_instead(votes: list[Vote], person: str) -> None:
    other = beside(votes, person)
    own = next((vote for vote in latest(votes) if vote.person == person), None)
    allowed = own is not None and own.decision is Decision.ALLOW
    assert (other is not None) is (allowed and own not in counted(votes))
    if other is not None and own is not None:
        assert other in counted(votes)
        assert other.node == own.node
        assert other.person != person
