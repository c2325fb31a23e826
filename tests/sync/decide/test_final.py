"""The compare-and-swap: whatever arrives in whatever order, at most one final is made."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.decide.ask import OUTCOMES, AskState, Kind, Outcome
from sync.decide.final import rule
from sync.decide.people import Role
from sync.decide.vote import DECISIONS, OUTCOME_OF, Decision, Ruling, Vote
from tests.sync.decide.votes import DEADLINE, SEEN, Cast, Home, a_person, an_ask

ANSWERED = [Kind.QUESTION, Kind.APPROVAL]
ANN, BOB, CID = "ann", "bob", "cid"
CASTS = st.builds(
    Cast,
    person=st.sampled_from([ANN, BOB, CID]),
    node=st.sampled_from([b"n1", b"n2", b"n3"]),
    decision=st.sampled_from(Decision),
    stale=st.sampled_from([False, False, False, True]),
    choice=st.sampled_from([None, "1", "9"]),
    unclear=st.sampled_from([False, False, True]),
    role=st.sampled_from([Role.MEMBER, Role.MEMBER, Role.OWNER, Role.VIEWER]),
    speaks_for=st.sampled_from([True, True, True, False]),
)
LIVES = st.lists(CASTS | st.just("hand over") | st.integers(0, 700), max_size=14)


def live(home: Home, life: list[Cast | str | int]) -> list[tuple[Cast, int, Ruling]]:
    """Let votes arrive, time pass, and the agent fetch what was decided."""
    now = 0
    ruled = []
    for event in life:
        if isinstance(event, int):
            now += event
        elif isinstance(event, str):
            home.hand_over()
        else:
            ruled.append((event, now, home.vote(event, now).ruling))
    return ruled


@given(kind=st.sampled_from(ANSWERED), needed=st.integers(1, 3), life=LIVES)
def test_at_most_one_final_and_it_was_earned(
    kind: Kind, needed: int, life: list[Cast | str | int]
) -> None:
    home = Home(an_ask(kind, needed=needed))
    live(home, life)
    assert len(home.finals) <= 1
    assert home.voids <= len(home.finals)
    for outcome, made_by in home.finals:
        assert outcome in OUTCOMES[kind]
        if outcome in (Outcome.ALLOWED, Outcome.ANSWERED):
            assert not any(vote.unclear for vote in made_by)
        if outcome is Outcome.EXPIRED:
            assert made_by == ()
        elif outcome is Outcome.ALLOWED:
            assert len({vote.person for vote in made_by}) == len(made_by) >= needed
            assert len({vote.node for vote in made_by}) == len(made_by)
        else:
            assert len(made_by) == 1
        for vote in made_by:
            assert OUTCOME_OF[vote.decision] is outcome
            assert vote.seen == SEEN


@given(kind=st.sampled_from(ANSWERED), needed=st.integers(1, 3), life=LIVES)
def test_no_vote_that_may_not_count_makes_a_final(
    kind: Kind, needed: int, life: list[Cast | str | int]
) -> None:
    for cast, now, ruling in live(Home(an_ask(kind, needed=needed)), life):
        if ruling in (Ruling.ACCEPTED, Ruling.COUNTED):
            assert not cast.stale
            assert cast.speaks_for
            assert cast.role is not Role.VIEWER
            assert now < DEADLINE
            assert cast.decision in DECISIONS[kind]
            assert cast.choice in ([None] if cast.decision is not Decision.ANSWER else [None, "1"])


@given(life=LIVES, needed=st.integers(1, 3))
def test_one_eligible_deny_closes(life: list[Cast | str | int], needed: int) -> None:
    home = Home(an_ask(needed=needed))
    live(home, [event for event in life if not isinstance(event, int)])
    if home.ask.state is not AskState.WAITING:
        return
    verdict = home.vote(Cast(ANN, b"n1", Decision.DENY), now=DEADLINE - 1)
    assert (verdict.ruling, verdict.closes) == (Ruling.ACCEPTED, Outcome.DENIED)


@given(life=LIVES, needed=st.integers(1, 3))
def test_only_who_made_the_final_takes_it_back_and_only_before_the_hand_over(
    life: list[Cast | str | int], needed: int
) -> None:
    home = Home(an_ask(needed=needed))
    live(home, life)
    before = home.ask.state
    makers = {vote.person for _, votes in home.finals for vote in votes}
    for person in (ANN, BOB, CID):
        again = Home(home.ask)
        again.votes, again.finals = list(home.votes), list(home.finals)
        verdict = again.vote(Cast(person, b"n1", Decision.TAKE_BACK), now=0)
        assert verdict.closes is None
        assert verdict.voids is (before is AskState.CLOSED and person in makers)


@given(life=LIVES, cast=CASTS, needed=st.integers(1, 3))
def test_ruling_changes_nothing_by_itself(
    life: list[Cast | str | int], cast: Cast, needed: int
) -> None:
    """The same vote under the same facts is ruled alike: a crash between may repeat it."""
    one, two = Home(an_ask(needed=needed)), Home(an_ask(needed=needed))
    assert live(one, life) == live(two, life)
    assert one.vote(cast, 5) == two.vote(cast, 5)


def test_k_of_n_counts_persons_and_nodes() -> None:
    home = Home(an_ask(needed=3))
    allow = Decision.ALLOW
    steps = [
        (Cast(ANN, b"n1", allow), Ruling.COUNTED, 1),
        (Cast(ANN, b"n2", allow), Ruling.COUNTED, 1),
        (Cast(BOB, b"n2", allow), Ruling.COUNTED, 1),
        (Cast(BOB, b"n3", allow), Ruling.COUNTED, 2),
        (Cast(ANN, b"n2", Decision.TAKE_BACK), Ruling.TAKEN_BACK, 1),
        (Cast(CID, b"n1", allow), Ruling.COUNTED, 2),
        (Cast(ANN, b"n2", allow), Ruling.ACCEPTED, 3),
    ]
    for cast, ruling, counted in steps:
        verdict = home.vote(cast, 0)
        assert (verdict.ruling, verdict.counted) == (ruling, counted), cast
    outcome, made_by = home.finals[0]
    assert outcome is Outcome.ALLOWED
    assert {vote.person for vote in made_by} == {ANN, BOB, CID}


@pytest.mark.parametrize("now", [DEADLINE - 1, DEADLINE, DEADLINE + 1])
@pytest.mark.parametrize("decision", [Decision.ALLOW, Decision.DENY])
def test_a_late_tap_loses_and_closes_the_ask(now: int, decision: Decision) -> None:
    verdict = Home(an_ask()).vote(Cast(ANN, b"n1", decision), now)
    if now < DEADLINE:
        assert verdict.ruling is Ruling.ACCEPTED
    else:
        assert (verdict.ruling, verdict.closes, verdict.made_by) == (
            Ruling.LATE,
            Outcome.EXPIRED,
            (),
        )


@pytest.mark.parametrize(
    ("cast", "ruling"),
    [
        (Cast(ANN, b"n1", Decision.ALLOW, stale=True), Ruling.STALE),
        (Cast(ANN, b"n1", Decision.ALLOW, role=Role.VIEWER), Ruling.NOT_ALLOWED),
        (Cast(ANN, b"n1", Decision.ALLOW, speaks_for=False), Ruling.NOT_ALLOWED),
        (Cast(ANN, b"n1", Decision.ANSWER), Ruling.NOT_ALLOWED),
        (Cast(ANN, b"n1", Decision.ALLOW, choice="1"), Ruling.NOT_ALLOWED),
        (Cast(ANN, b"n1", Decision.TAKE_BACK), Ruling.TAKEN_BACK),
    ],
)
def test_votes_that_do_not_count(cast: Cast, ruling: Ruling) -> None:
    home = Home(an_ask())
    verdict = home.vote(cast, 0)
    assert (verdict.ruling, verdict.closes, home.finals) == (ruling, None, [])


def test_a_choice_that_was_not_offered_is_no_answer() -> None:
    """A node of another person may send anything; the home knows what it offered."""
    home = Home(an_ask(Kind.QUESTION))
    assert home.vote(Cast(ANN, b"n1", Decision.ANSWER, choice="9"), 0).ruling is Ruling.NOT_ALLOWED
    assert home.vote(Cast(ANN, b"n1", Decision.ANSWER, choice="2"), 0).ruling is Ruling.ACCEPTED


def test_a_person_who_ended_or_is_unknown_does_not_count() -> None:
    vote = Vote(hash=b"v", node=b"n", person=ANN, decision=Decision.DENY, seen=SEEN)
    for person in (None, a_person(ANN, Role.OWNER, ended=True)):
        verdict = rule(
            an_ask(), vote, earlier=[], person=person, speaks_for=True, final_by=[], now=0
        )
        assert verdict.ruling is Ruling.NOT_ALLOWED


@pytest.mark.parametrize(("kind", "state"), list(product(ANSWERED, AskState)))
def test_whatever_comes_after_a_final_is_superseded(kind: Kind, state: AskState) -> None:
    decision = Decision.DENY if kind is Kind.APPROVAL else Decision.DECLINE
    verdict = Home(an_ask(kind, state=state)).vote(Cast(BOB, b"n2", decision), now=10**9)
    expected = Ruling.LATE if state is AskState.WAITING else Ruling.SUPERSEDED
    assert verdict.ruling is expected


@given(life=LIVES, needed=st.integers(1, 3), own=st.sets(st.sampled_from([ANN, BOB, CID])))
def test_nobody_allows_what_their_own_agent_asks_and_anyone_may_deny_it(
    life: list[Cast | str | int], needed: int, own: set[str]
) -> None:
    home = Home(an_ask(needed=needed, not_by=sorted(own)))
    ruled = live(home, [event for event in life if not isinstance(event, int)])
    for cast, _, ruling in ruled:
        if cast.decision is Decision.ALLOW and cast.person in own:
            assert ruling in (Ruling.NOT_ALLOWED, Ruling.SUPERSEDED, Ruling.STALE)
    for outcome, made_by in home.finals:
        assert outcome is not Outcome.ALLOWED or not own & {vote.person for vote in made_by}
    if home.ask.state is AskState.WAITING:
        for person in sorted(own)[:1]:
            assert home.vote(Cast(person, b"n1", Decision.DENY), 0).closes is Outcome.DENIED


@pytest.mark.parametrize("decision", [Decision.ALLOW, Decision.ANSWER])
def test_unclear_is_never_a_yes(decision: Decision) -> None:
    """A node that claims so is not believed: its vote counts as neither."""
    kind = Kind.APPROVAL if decision is Decision.ALLOW else Kind.QUESTION
    choice = None if decision is Decision.ALLOW else "1"
    home = Home(an_ask(kind))
    verdict = home.vote(Cast(ANN, b"n1", decision, choice=choice, unclear=True), 0)
    assert (verdict.ruling, verdict.closes) == (Ruling.NOT_ALLOWED, None)
    assert home.vote(Cast(ANN, b"n1", decision, choice=choice), 0).closes is OUTCOME_OF[decision]
