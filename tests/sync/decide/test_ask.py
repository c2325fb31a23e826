"""The life of an ask, step by step, and what a new ask must be."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync import limits
from sync.decide.ask import (
    DECIDED,
    OUTCOMES,
    STEPS,
    AskState,
    Kind,
    Outcome,
    Step,
    advance,
    check_shape,
    check_words,
    deadline_for,
    expired,
)
from sync.errors import IllegalStep, Invalid

# Written a second time, by hand, from DESIGN §5: the table must not drift unseen.
LEGAL = {
    ("approval", "waiting", "close"): "closed",
    ("approval", "closed", "hand"): "handed",
    ("approval", "closed", "void"): "void",
    ("approval", "handed", "resolve"): "resolved",
    ("question", "waiting", "close"): "closed",
    ("question", "closed", "hand"): "handed",
    ("question", "closed", "void"): "void",
    ("question", "handed", "hand"): "handed",
    ("question", "handed", "resolve"): "resolved",
}


@pytest.mark.parametrize(("kind", "state", "step"), list(product(Kind, AskState, Step)))
def test_every_state_and_step(kind: Kind, state: AskState, step: Step) -> None:
    legal = LEGAL.get((kind.value, state.value, step.value))
    if legal is None:
        with pytest.raises(IllegalStep, match=state.value):
            advance(kind, state, step)
    else:
        assert advance(kind, state, step) is AskState(legal)


@given(kind=st.sampled_from(Kind), steps=st.lists(st.sampled_from(Step), max_size=12))
def test_no_life_closes_twice_or_hands_an_approval_twice(kind: Kind, steps: list[Step]) -> None:
    state = AskState.WAITING
    done: list[Step] = []
    for step in steps:
        if step in STEPS[kind].get(state, {}):
            state = advance(kind, state, step)
            done.append(step)
    assert done.count(Step.CLOSE) <= 1
    assert done.count(Step.VOID) <= 1
    assert done.count(Step.RESOLVE) <= 1
    assert kind is Kind.QUESTION or done.count(Step.HAND) <= 1
    assert not (Step.VOID in done and Step.HAND in done)
    assert kind in DECIDED or not done


def test_every_state_can_be_reached() -> None:
    for kind in DECIDED:
        reached = {AskState.WAITING}
        for _ in AskState:
            reached |= {after for state in reached for after in STEPS[kind][state].values()}
        assert reached == set(AskState)


def test_outcomes_fit_their_kind() -> None:
    assert OUTCOMES[Kind.NOTE] == OUTCOMES[Kind.DONE] == frozenset()
    assert Outcome.ALLOWED not in OUTCOMES[Kind.QUESTION]
    assert Outcome.ANSWERED not in OUTCOMES[Kind.APPROVAL]
    for kind in DECIDED:
        assert {Outcome.EXPIRED, Outcome.WITHDRAWN} <= OUTCOMES[kind]


def test_at_the_deadline_itself_it_has_passed() -> None:
    assert [expired(10, now) for now in (9, 10, 11)] == [False, True, True]
    assert not expired(None, 10**18)


@pytest.mark.parametrize(
    ("kind", "asked", "default", "expected"),
    [
        (Kind.APPROVAL, None, None, limits.APPROVAL_DEADLINE_MS),
        (Kind.APPROVAL, None, 5_000, 5_000),
        (Kind.APPROVAL, 9_000, 5_000, 9_000),
        (Kind.APPROVAL, limits.APPROVAL_DEADLINE_MAX_MS, None, limits.APPROVAL_DEADLINE_MAX_MS),
        (Kind.QUESTION, None, None, None),
        (Kind.QUESTION, limits.DEADLINE_MIN_MS, None, limits.DEADLINE_MIN_MS),
        (Kind.NOTE, None, None, None),
        (Kind.DONE, None, 5_000, None),
    ],
)
def test_deadlines(
    kind: Kind, asked: int | None, default: int | None, expected: int | None
) -> None:
    found = deadline_for(kind, created=100, asked_ms=asked, default_ms=default)
    assert found == (None if expected is None else 100 + expected)


@pytest.mark.parametrize(
    ("kind", "asked", "told"),
    [
        (Kind.APPROVAL, limits.APPROVAL_DEADLINE_MAX_MS + 1, "outside"),
        (Kind.APPROVAL, limits.DEADLINE_MIN_MS - 1, "outside"),
        (Kind.APPROVAL, 0, "outside"),
        (Kind.APPROVAL, -5, "outside"),
        (Kind.QUESTION, limits.QUESTION_DEADLINE_MAX_MS + 1, "outside"),
        (Kind.NOTE, 5_000, "waits for nobody"),
        (Kind.DONE, 5_000, "waits for nobody"),
    ],
)
def test_deadlines_that_cannot_be(kind: Kind, asked: int, told: str) -> None:
    with pytest.raises(Invalid, match=told):
        deadline_for(kind, created=0, asked_ms=asked)


@given(kind=st.sampled_from(Kind), asked=st.none() | st.integers(-(10**12), 10**12))
def test_an_approval_never_waits_for_ever(kind: Kind, asked: int | None) -> None:
    try:
        deadline = deadline_for(kind, created=0, asked_ms=asked)
    except Invalid:
        return
    if kind is Kind.APPROVAL:
        assert deadline is not None
        assert 0 < deadline <= limits.APPROVAL_DEADLINE_MAX_MS


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("options", [[], ["a"], ["a", "b"]])
@pytest.mark.parametrize("fallback", [None, "blue"])
@pytest.mark.parametrize("has_call", [False, True])
def test_every_shape(kind: Kind, options: list[str], fallback: str | None, has_call: bool) -> None:
    question = kind is Kind.QUESTION
    fits = (
        (not options or question)
        and (fallback is None or question)
        and (not has_call or kind is Kind.APPROVAL)
    )
    if fits:
        check_shape(kind, options=options, fallback=fallback, has_call=has_call)
    else:
        with pytest.raises(Invalid):
            check_shape(kind, options=options, fallback=fallback, has_call=has_call)


def test_options_are_few_and_different() -> None:
    many = [str(number) for number in range(limits.OPTIONS + 1)]
    check_shape(Kind.QUESTION, options=many[1:], fallback=None, has_call=False)
    with pytest.raises(Invalid, match="at most"):
        check_shape(Kind.QUESTION, options=many, fallback=None, has_call=False)
    with pytest.raises(Invalid, match="same label"):
        check_shape(Kind.QUESTION, options=["a", "b", "a"], fallback=None, has_call=False)
    with pytest.raises(Invalid, match="same label"):
        check_shape(Kind.QUESTION, options=["a b", " a  b\n"], fallback=None, has_call=False)


def test_words() -> None:
    check_words("title", "x" * 5, 5, needed=True)
    check_words("detail", "", 5)
    check_words("detail", "\U0001f600", 1)
    for text, told in (("", "empty"), (" \n", "empty"), ("x" * 6, "at most 5"), ("\ud83d", "half")):
        with pytest.raises(Invalid, match=told):
            check_words("title", text, 5, needed=True)
