"""docs/states.md says what the tables say."""

import pytest

from sync.decide.ask import STEPS, AskState, Kind, Step
from sync.decide.card_state import CardState, HomeState
from sync.decide.vote import Ruling
from tests.sync.decide.card_table import ROWS
from tests.sync.decide.states_page import PAGE, page


def test_the_page_is_current() -> None:
    told = "run: python -m tests.sync.decide.states_page"
    assert PAGE.read_text(encoding="utf-8") == page(), told


def test_every_state_and_ruling_is_on_it() -> None:
    text = page()
    for one in (*AskState, *CardState, *HomeState, *Ruling):
        assert f"| `{one.value}` |" in text


def test_every_card_is_on_it_with_sign_words_and_sentence() -> None:
    lines = page().splitlines()
    for row in ROWS:
        said = f"| {row.sign} | {row.word} | {row.word}: {row.spoken} | {row.sentence} |"
        assert "|" not in row.sentence
        assert any(said in line and f"`{row.state.value}`" in line for line in lines)


def test_a_changed_table_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    before = page()
    monkeypatch.setitem(STEPS[Kind.APPROVAL], AskState.VOID, {Step.HAND: AskState.HANDED})
    assert page() != before
