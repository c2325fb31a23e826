"""What became of an ask, over every state and outcome."""

from itertools import product

import pytest

from node.audit.became import UNDECIDED, WORDS, Became, became, state_of
from sync.decide.ask import AskState, Outcome

DECIDED = [outcome for outcome in Outcome if outcome not in UNDECIDED]


@pytest.mark.parametrize(("state", "outcome"), list(product(AskState, Outcome)))
def test_every_state_has_a_word(state: AskState, outcome: Outcome) -> None:
    word = became(state, outcome)
    assert word in WORDS
    if outcome in UNDECIDED:
        assert word.value == outcome.value


@pytest.mark.parametrize("outcome", DECIDED)
def test_what_was_decided_goes_through_the_agents_hands(outcome: Outcome) -> None:
    assert [became(state, outcome).value for state in AskState] == [
        "waiting", "not_picked_up", "handed_over", "void", "spent",
    ]  # fmt: skip
    assert became(AskState.HANDED, outcome, unknown=True) is Became.OUTCOME_UNKNOWN


def test_what_nobody_decided_stays_that_though_the_agent_was_told() -> None:
    assert became(AskState.HANDED, Outcome.EXPIRED, unknown=True) is Became.EXPIRED
    assert became(AskState.WAITING, None) is Became.WAITING


def test_the_state_follows_from_what_was_said() -> None:
    assert state_of(None, None, resolved=False) is AskState.WAITING
    assert state_of("allowed", None, resolved=False) is AskState.CLOSED
    assert state_of("allowed", "handed", resolved=False) is AskState.HANDED
    assert state_of("allowed", "handed", resolved=True) is AskState.RESOLVED
    assert state_of("allowed", "void", resolved=False) is AskState.VOID
