"""Cards of a machine on hold, and of what was decided after a history split in two."""

from itertools import product

import msgspec
import pytest

from sync.decide.ask import AskState, Kind
from sync.decide.card import card
from sync.decide.card_state import CardState, HomeState
from tests.sync.decide.test_card import AFTER, ANSWERED, BEFORE, NOW, OWN, VIEWERS, closings, opened

HELD = "This machine's data was put back, so answers wait."


@pytest.mark.parametrize("kind", ANSWERED)
def test_an_open_ask_says_why_it_is_on_hold_and_has_no_button(kind: Kind) -> None:
    for own, viewer in product(OWN, VIEWERS):
        facts = msgspec.structs.replace(opened(kind, own, None, AFTER), on_hold=HELD)
        shown = card(facts, viewer, NOW)
        assert (shown.state, shown.sentence) == (CardState.ON_HOLD, HELD)
        assert (shown.actions, shown.open, shown.needs_me) == ((), True, False)
    late = msgspec.structs.replace(opened(kind, "nothing", None, BEFORE), on_hold=HELD)
    assert card(late, VIEWERS[1], NOW).state is CardState.DEADLINE_PASSED


def test_what_is_decided_and_not_handed_over_waits_with_it() -> None:
    """On its own machine; of another one it is not known here that it does."""
    for facts in closings():
        held = msgspec.structs.replace(facts, on_hold=HELD)
        shown, before = card(held, VIEWERS[1], NOW), card(facts, VIEWERS[1], NOW)
        assert shown.actions == ()
        outcome = facts.outcome
        decided = outcome is not None and outcome.value not in ("expired", "withdrawn")
        if facts.state is AskState.CLOSED and decided:
            assert shown.state is CardState.ON_HOLD
            assert shown.sentence.endswith(HELD)
            away = msgspec.structs.replace(held, home=HomeState.AWAY)
            assert card(away, VIEWERS[1], NOW).state is not CardState.ON_HOLD
        else:
            assert shown.state is before.state


def test_what_was_decided_behind_a_fork_is_disputed_whatever_it_is() -> None:
    for facts, home in product(closings(), HomeState):
        shown = card(msgspec.structs.replace(facts, disputed=True, home=home), VIEWERS[1], NOW)
        assert (shown.state, shown.actions, shown.open) == (CardState.DISPUTED, (), False)
        assert "the history of box had split in two" in shown.sentence


def test_an_open_ask_behind_a_fork_waits_for_its_machine_to_join_again() -> None:
    facts = opened(Kind.QUESTION, "nothing", None, None)
    split = msgspec.structs.replace(facts, disputed=True, home=HomeState.MUST_REJOIN)
    assert card(split, VIEWERS[1], NOW).state is CardState.MUST_REJOIN
