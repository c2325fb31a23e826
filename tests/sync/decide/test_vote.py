"""What an answer may say: every kind with every decision."""

from itertools import product

import pytest

from sync import limits
from sync.decide.ask import DECIDED, OUTCOMES, Kind
from sync.decide.vote import DECISIONS, OUTCOME_OF, Decision, check_ballot
from sync.errors import Invalid

FITS = {
    ("approval", "allow"),
    ("approval", "deny"),
    ("question", "answer"),
    ("question", "decline"),
}
ANSWERS = [None, "1", "9"]
TEXTS = [None, "", " ", "left"]


def check(kind: Kind, decision: Decision, **more: str | None) -> None:
    words = {"choice": None, "text": None, "because": None} | more
    check_ballot(kind, decision=decision, options=["1", "2"], unclear=False, **words)


@pytest.mark.parametrize(("kind", "decision"), list(product(Kind, Decision)))
def test_every_kind_and_decision(kind: Kind, decision: Decision) -> None:
    text = "left" if decision is Decision.ANSWER else None
    if (kind.value, decision.value) in FITS or decision is Decision.TAKE_BACK:
        check(kind, decision, text=text)
    else:
        with pytest.raises(Invalid, match="cannot be answered"):
            check(kind, decision, text=text)


def test_every_decision_makes_an_outcome_its_kind_can_have() -> None:
    for kind in Kind:
        assert {OUTCOME_OF[decision] for decision in DECISIONS[kind]} <= OUTCOMES[kind]
        assert bool(DECISIONS[kind]) is (kind in DECIDED)
    assert set(OUTCOME_OF) == set(Decision) - {Decision.TAKE_BACK}


@pytest.mark.parametrize(("choice", "text"), list(product(ANSWERS, TEXTS)))
def test_every_answer(choice: str | None, text: str | None) -> None:
    says_something = choice is not None or bool((text or "").strip())
    if says_something and choice != "9":
        check(Kind.QUESTION, Decision.ANSWER, choice=choice, text=text)
    else:
        with pytest.raises(Invalid):
            check(Kind.QUESTION, Decision.ANSWER, choice=choice, text=text)


@pytest.mark.parametrize("decision", [Decision.ALLOW, Decision.DENY, Decision.DECLINE])
def test_only_an_answer_has_a_choice_and_a_text(decision: Decision) -> None:
    kind = Kind.QUESTION if decision is Decision.DECLINE else Kind.APPROVAL
    check(kind, decision, because="not today")
    for more in ({"choice": "1"}, {"text": "left"}):
        with pytest.raises(Invalid, match="because"):
            check(kind, decision, **more)


@pytest.mark.parametrize("field", ["text", "because"])
def test_words_have_limits(field: str) -> None:
    most = limits.ANSWER_CHARACTERS // 2
    answer = {"choice": "1"}
    check(Kind.QUESTION, Decision.ANSWER, **answer, **{field: "x" * most})
    with pytest.raises(Invalid, match=str(most)):
        check(Kind.QUESTION, Decision.ANSWER, **answer, **{field: "x" * (most + 1)})
