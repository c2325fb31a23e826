"""Handing over: an approval at most once, a question under tokens that only rise."""

from itertools import product
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.decide.ask import OUTCOMES, AskState, Kind, Outcome, Step, advance
from sync.decide.handover import Give, Held, Standing, give, lease_from, outcome_unknown
from sync.limits import LEASE_MS

ANSWERED = [Kind.QUESTION, Kind.APPROVAL]
USE_BY = 500


def standing(kind: Kind, outcome: Outcome, state: AskState = AskState.CLOSED) -> Standing:
    use_by = USE_BY if outcome in (Outcome.ALLOWED, Outcome.DENIED) else None
    return Standing(kind=kind, state=state, outcome=outcome, use_by=use_by, held=None)


class Wish(NamedTuple):
    """A session that wants what was decided."""

    session: str
    take_over: bool


WISHES = st.builds(Wish, st.sampled_from(["one", "two", "three"]), st.booleans())
EVENTS = st.lists(
    WISHES | st.sampled_from(["resolve", "void"]) | st.integers(0, 2 * LEASE_MS), max_size=14
)
ENDS = st.sampled_from(
    [(kind, outcome) for kind in ANSWERED for outcome in Outcome if outcome in OUTCOMES[kind]]
)


class Life:
    """Carries out what `give` decides, as the node does."""

    def __init__(self, kind: Kind, outcome: Outcome) -> None:
        self.standing = standing(kind, outcome)
        self.now = 0
        self.handed: list[Held] = []
        self.told: list[tuple[str, int]] = []
        """(session, token) of everyone who was given it."""

    def step(self, event: Wish | str | int) -> None:
        if isinstance(event, int):
            self.now += event
        elif isinstance(event, str):
            wanted, step = (
                (AskState.HANDED, Step.RESOLVE)
                if event == "resolve"
                else (AskState.CLOSED, Step.VOID)
            )
            if self.standing.state is wanted:
                self._move(step)
        else:
            self._give(event)

    def _give(self, wish: Wish) -> None:
        decided = give(self.standing, wish.session, now=self.now, take_over=wish.take_over)
        held = self.standing.held
        if decided is Give.HAND:
            token = held.token + 1 if held else 1
            fresh = Held(session=wish.session, token=token, lease_until=lease_from(self.now))
            self._move(Step.HAND, held=fresh)
            self.handed.append(fresh)
            self.told.append((wish.session, token))
        elif decided is Give.AGAIN:
            assert held is not None
            assert held.session == wish.session
            self.told.append((wish.session, held.token))
        elif decided is Give.VOID_USE_BY:
            self._move(Step.VOID)

    def _move(self, step: Step, **more: object) -> None:
        state = advance(self.standing.kind, self.standing.state, step)
        self.standing = msgspec.structs.replace(self.standing, state=state, **more)


@given(end=ENDS, events=EVENTS)
def test_an_approval_is_told_to_one_session_once(
    end: tuple[Kind, Outcome], events: list[Wish | str | int]
) -> None:
    life = Life(*end)
    for event in events:
        life.step(event)
    tokens = [held.token for held in life.handed]
    assert tokens == list(range(1, len(tokens) + 1))
    if life.standing.kind is Kind.APPROVAL:
        assert len(life.told) <= 1
    # Whoever is told, is told under the token that was highest then.
    highest = 0
    for _, token in life.told:
        assert token >= highest
        highest = token


@given(events=EVENTS)
def test_an_allow_is_never_handed_after_its_use_by(events: list[Wish | str | int]) -> None:
    life = Life(Kind.APPROVAL, Outcome.ALLOWED)
    for event in events:
        before = len(life.handed)
        life.step(event)
        if life.now >= USE_BY:
            assert len(life.handed) == before


@given(end=ENDS, events=EVENTS, wish=WISHES)
def test_what_is_void_is_given_to_nobody(
    end: tuple[Kind, Outcome], events: list[Wish | str | int], wish: Wish
) -> None:
    life = Life(*end)
    life.step("void")
    for event in events:
        life.step(event)
    assert give(life.standing, wish.session, now=life.now, take_over=True) is Give.NOTHING
    assert life.told == []


def test_what_is_open_is_given_to_nobody() -> None:
    for kind in ANSWERED:
        waiting = Standing(kind=kind, state=AskState.WAITING, outcome=None, use_by=None, held=None)
        assert give(waiting, "one", now=10**9, take_over=True) is Give.NOTHING


HELD = Held(session="one", token=1, lease_until=100)


@pytest.mark.parametrize(
    ("state", "session", "now", "take_over"),
    list(product((AskState.HANDED, AskState.RESOLVED), ("one", "two"), (99, 100), (False, True))),
)
def test_a_question_that_someone_has(
    state: AskState, session: str, now: int, take_over: bool
) -> None:
    held = msgspec.structs.replace(standing(Kind.QUESTION, Outcome.ANSWERED, state), held=HELD)
    decided = give(held, session, now=now, take_over=take_over)
    if session == "one":
        assert decided is Give.AGAIN
    elif state is AskState.HANDED and (take_over or now >= 100):
        assert decided is Give.HAND
    else:
        assert decided is Give.HELD


@pytest.mark.parametrize(
    ("state", "session", "now", "take_over"),
    list(product((AskState.HANDED, AskState.RESOLVED), ("one", "two"), (99, 100), (False, True))),
)
def test_an_approval_that_someone_has_is_never_given_again(
    state: AskState, session: str, now: int, take_over: bool
) -> None:
    for outcome in OUTCOMES[Kind.APPROVAL]:
        held = msgspec.structs.replace(standing(Kind.APPROVAL, outcome, state), held=HELD)
        assert give(held, session, now=now, take_over=take_over) is Give.HELD


@pytest.mark.parametrize(
    ("kind", "state", "now"), list(product(ANSWERED, AskState, (99, 100, 101)))
)
def test_the_outcome_is_unknown_only_for_an_allow_whose_holder_fell_silent(
    kind: Kind, state: AskState, now: int
) -> None:
    for outcome in OUTCOMES[kind]:
        held = HELD if state in (AskState.HANDED, AskState.RESOLVED) else None
        now_standing = msgspec.structs.replace(standing(kind, outcome, state), held=held)
        assert outcome_unknown(now_standing, now) is (
            outcome is Outcome.ALLOWED and state is AskState.HANDED and now >= 100
        )
