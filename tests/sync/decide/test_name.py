"""One rule for every name that somebody gives; and names of old still find whom they name."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.decide.name import UNNAMED, checked, is_called, looks_like, made_plain
from sync.decide.visible import visible_line
from sync.errors import Conflict, Invalid
from sync.limits import NAME_CHARACTERS


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("Ann", "Ann"),
        ("  Bob   B ", "Bob B"),
        ("Jose\u0301", "Jos\u00e9"),
        ("Ann\u00a0Lee", "Ann Lee"),
        ("山田\u3000太郎", "山田 太郎"),
        ("हिन्दी", "हिन्दी"),
        ("ed ✅", "ed ✅"),
        ("studio-2.local", "studio-2.local"),
        ("x" * NAME_CHARACTERS, "x" * NAME_CHARACTERS),
    ],
)
def test_a_name_is_kept_in_its_one_spelling(typed: str, kept: str) -> None:
    assert checked("name", typed) == kept
    assert checked("name", kept) == kept


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "The name is empty"),
        (" \u00a0 ", "The name is empty"),
        ("Ann\nLee", r"U\+000A \(a control character\)"),
        ("Ann\x1b[2J", r"U\+001B"),
        ("Ann\u202e", r"U\+202E \(RIGHT-TO-LEFT OVERRIDE\)"),
        ("A\u200bnn", r"U\+200B \(ZERO WIDTH SPACE\)"),
        ("\ufeffAnn", r"U\+FEFF"),
        ("Ann\u3164", r"U\+3164 \(HANGUL FILLER\)"),
        ("Ann\ue000", r"U\+E000 \(a character of private use\)"),
        ("Ann\uffff", r"U\+FFFF \(a character that no writing has\)"),
        ("Ann\ud800", r"U\+D800 \(half of a character\)"),
        ("Ann\u2028Lee", r"U\+2028 \(LINE SEPARATOR\)"),
        ("A" + "\u0337" * 9, r"U\+0337"),
        ("\u0301Ann", r"begins with U\+0301"),
        ("x" * (NAME_CHARACTERS + 1), f"has {NAME_CHARACTERS + 1} characters; at most"),
        ("abcdefghijklmnop", "form of an id"),
        ("A2B3C4D5E6F7ABCD", "form of an id"),
        ("a" * 52, "form of an id"),
    ],
)
def test_what_is_no_name_is_refused_and_the_character_named(typed: str, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        checked("name", typed)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann", "ann"),
        ("Ann", "\uff21nn"),  # full width
        ("Ann", "\u0391nn"),  # Greek capital
        ("anna", "\u0430nn\u0430"),  # Cyrillic
        ("HOPE", "\u041d\u041e\u0420\u0415"),  # all Cyrillic
        ("\u0410\u043d\u043d\u0430", "\u0410\u041d\u041d\u0410"),  # of one another
        ("Jose", "Jos\u00e9"),
        ("Bob", "B0b"),
        ("Straße", "STRASSE"),
        ("kim", "K\u0131m"),
    ],
)
def test_a_name_that_looks_like_another_is_refused(one: str, other: str) -> None:
    assert looks_like(one, other)
    with pytest.raises(Conflict, match="looks like"):
        checked("name", one, taken=["Zoe", other])
    with pytest.raises(Conflict, match="looks like"):
        checked("name", other, taken=[one])


@pytest.mark.parametrize(
    ("one", "other"),
    [("Ann", "Anna"), ("Ian", "Lan"), ("ann lee", "annlee"), ("か", "が"), ("कमल", "कुमल")],
)
def test_names_that_can_be_told_apart_stand_beside_each_other(one: str, other: str) -> None:
    assert checked("name", one, taken=[other]) == one


def test_the_same_name_again_is_called_the_same() -> None:
    with pytest.raises(Conflict, match=r"There is a Bob already\."):
        checked("name", " Bob ", taken=["Bob"])


def test_a_name_of_old_is_found_by_what_is_shown_of_it() -> None:
    hidden = "Ann\u202e\u200b"
    assert is_called(visible_line(hidden), hidden)
    assert is_called("ANN", "Ann")
    assert is_called("jose\u0301", "José")
    assert not is_called("Ann", hidden)
    assert not is_called("", " ")
    # Nobody comes to be called what such a name is shown as.
    with pytest.raises(Conflict, match="looks like"):
        checked("name", visible_line(hidden), taken=[hidden])


@pytest.mark.parametrize(
    ("told", "made"),
    [
        ("desk", "desk"),
        ("de\u202esk\x00", "desk"),
        ("\u0301\u200bdesk", "desk"),
        ("a\nb", "a b"),
        ("\u200b\u3164", UNNAMED),
        ("x" * 99, "x" * NAME_CHARACTERS),
    ],
)
def test_what_a_machine_says_of_itself_is_made_a_name(told: str, made: str) -> None:
    assert made_plain(told) == made


@given(st.text(max_size=80))
def test_every_name_that_is_let_through_shows_as_it_is_and_stays(text: str) -> None:
    made = made_plain(text)
    assert visible_line(made) == made
    assert made_plain(made) == made
    try:
        name = checked("name", text)
    except Invalid:
        return
    assert visible_line(name) == name == unicodedata.normalize("NFC", name)
    assert checked("name", name) == name
    assert is_called(name, name)
