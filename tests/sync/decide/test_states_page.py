"""docs/states.md says what the tables say."""

import pytest

from sync.decide.ask import STEPS, AskState, Kind, Step
from sync.decide.card_state import CardState, HomeState
from sync.decide.vote import Ruling
from tests.sync.decide.states_page import PAGE, page


def test_the_page_is_current() -> None:
    told = "run: python -m tests.sync.decide.states_page"
    assert PAGE.read_text(encoding="utf-8") == page(), told


def test_every_state_and_ruling_is_on_it() -> None:
    text = page()
    for one in (*AskState, *CardState, *HomeState, *Ruling):
        assert f"| `{one.value}` |" in text


def test_a_changed_table_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    before = page()
    monkeypatch.setitem(STEPS[Kind.APPROVAL], AskState.VOID, {Step.HAND: AskState.HANDED})
    assert page() != before
