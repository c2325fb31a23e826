"""Counting: one a person, one a node, and who takes back is gone."""

from hypothesis import given
from hypothesis import strategies as st

from sync.decide.quorum import counted, latest
from sync.decide.vote import Decision, Vote

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
