"""The table of cards: each row is exactly what is seen, heard and offered."""

import unicodedata

import pytest

from sync.decide import card_marks
from sync.decide.card import card, card_when_late
from sync.decide.card_state import CardState, Mark, Tone
from tests.sync.decide.card_table import AFTER, NOW, ROWS, Row, opened


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_is_what_is_seen_heard_and_offered(row: Row) -> None:
    shown = card(row.facts, row.viewer, NOW)
    mark = shown.mark
    assert (shown.state, shown.sentence, shown.actions) == (row.state, row.sentence, row.actions)
    assert (mark.sign, mark.word, mark.tone.value) == (row.sign, row.word, row.tone)
    assert mark.spoken == f"{row.word}: {row.spoken}"


def test_every_state_and_every_mark_has_a_row() -> None:
    assert {row.state for row in ROWS} == set(CardState) == set(card_marks.MARKS)
    named = {name for name, mark in vars(card_marks).items() if isinstance(mark, Mark)}
    assert named, "the marks of states that are told more closely"
    for mark in (getattr(card_marks, name) for name in named):
        assert any((row.sign, row.word) == (mark.sign, mark.word) for row in ROWS), mark
    assert {row.tone for row in ROWS} == {tone.value for tone in Tone}
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_signs_tell_states_apart_without_colour() -> None:
    """One character of one cell, none of it a coloured picture, none like another one's."""
    by_sign: dict[str, set[CardState]] = {}
    for row in ROWS:
        by_sign.setdefault(unicodedata.normalize("NFKD", row.sign).casefold(), set()).add(row.state)
        sign = row.sign
        assert len(sign) == 1
        assert unicodedata.combining(sign) == 0
        assert unicodedata.category(sign)[0] in "PSL", sign
        assert unicodedata.east_asian_width(sign) not in ("W", "F"), sign
        # What all fonts have (WGL4), but for the few of it that are emoji as well.
        assert len(sign.encode("utf-16-le")) == 2
        assert sign not in "©®‼™↔↕▪▫▶◀☺♀♂♠♣♥♦"
    assert all(len(states) == 1 for states in by_sign.values()), by_sign


def test_words_fit_and_stand_for_one_state() -> None:
    states: dict[str, set[CardState]] = {}
    for row in ROWS:
        assert len(row.word) <= 24, row.word
        assert row.word[0].isupper()
        states.setdefault(row.word, set()).add(row.state)
    shared = {word for word, of in states.items() if len(of) > 1}
    assert shared <= {"Denied, not picked up", "Answered, not picked up"}, "here and elsewhere"


def test_the_screen_knows_what_to_say_once_the_deadline_passes() -> None:
    for row in ROWS:
        late = card_when_late(row.facts, row.viewer, NOW)
        ahead = row.facts.deadline is not None and row.facts.deadline > NOW
        assert (late is not None) is (ahead and card(row.facts, row.viewer, NOW).open), row.name
        if late is not None:
            assert late == card(row.facts, row.viewer, AFTER)
            assert late.actions == ()
            assert not late.needs_me
    late = card_when_late(opened(), ROWS[0].viewer, NOW)
    assert late is not None
    assert late.state is CardState.DEADLINE_PASSED
