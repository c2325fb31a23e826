"""Text from agents cannot act on a screen, and cannot hide on it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.decide.visible import COMBINING_RUN, visible, visible_line


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("rm -rf \x1b[8m/\x1b[0m", "rm -rf ⟨U+001B⟩[8m/⟨U+001B⟩[0m"),
        ("\x1b]8;;http://a\x07b", "⟨U+001B⟩]8;;http://a⟨U+0007⟩b"),
        ("\x1b]52;c;aGk=\x07", "⟨U+001B⟩]52;c;aGk=⟨U+0007⟩"),
        ("\x9b2J", "⟨U+009B⟩2J"),
        ("safe\rEVIL", "safe⟨U+000D⟩EVIL"),
        ("a\x08b\x7f\x00", "a⟨U+0008⟩b⟨U+007F⟩⟨U+0000⟩"),
        ("\u202etxt.exe\u202c", "⟨U+202E⟩txt.exe⟨U+202C⟩"),
        ("\u2066a\u2069\u200f", "⟨U+2066⟩a⟨U+2069⟩⟨U+200F⟩"),
        ("pass\u200bword\ufeff\u00ad", "pass⟨U+200B⟩word⟨U+FEFF⟩⟨U+00AD⟩"),
        ("a\u2028b\u2029c\x85d", "a⟨U+2028⟩b⟨U+2029⟩c⟨U+0085⟩d"),
        ("a\u00a0b\u2003c", "a⟨U+00A0⟩b⟨U+2003⟩c"),
        ("hi\U000e0041\U000e007f", "hi⟨U+E0041⟩⟨U+E007F⟩"),
        ("a\ufe01\U000e0100b", "a⟨U+FE01⟩⟨U+E0100⟩b"),
        ("\u3164\uffa0\u2800", "⟨U+3164⟩⟨U+FFA0⟩⟨U+2800⟩"),
        ("\ud800 \ue000 \uffff", "⟨U+D800⟩ ⟨U+E000⟩ ⟨U+FFFF⟩"),
        ("a\ufe0f", "a⟨U+FE0F⟩"),
    ],
)
def test_what_acts_or_hides_is_shown(raw: str, shown: str) -> None:
    assert visible(raw) == shown


@pytest.mark.parametrize(
    "plain",
    [
        "",
        "git push origin main",
        "Grüße, naïve café, Ελληνικά, Здравствуй",
        "日本語\u3000の文",
        "שלום עולם · مرحبا",
        "हिन्दी ไทย Việt Nam e\u0301",
        "⚠\ufe0f done ✅ 👍🏽 ▶\ufe0f",
        "two\n\tlines",
        "[link=http://x]rich markup[/link]",
    ],
)
def test_plain_writing_stays_as_it_is(plain: str) -> None:
    assert visible(plain) == plain


def test_one_line_shows_line_ends_and_tabs() -> None:
    assert visible_line("a\nb\tc") == "a⟨U+000A⟩b⟨U+0009⟩c"
    assert visible_line("title") == "title"


def test_a_pile_of_accents_is_cut_down() -> None:
    shown = visible("o" + "\u0301" * 50)
    assert shown.count("\u0301") == COMBINING_RUN
    assert shown.endswith("⟨U+0301⟩")


@given(st.text(st.characters(codec=None, exclude_categories=[])))
def test_nothing_shown_is_obeyed(text: str) -> None:
    shown = visible(text)
    for character in shown:
        assert character in "\n\t" or unicodedata.category(character)[0] != "C"
        assert character not in "\u2028\u2029"
    assert visible(shown) == shown
    assert "\n" not in visible_line(text)


def test_a_large_call_is_quick_to_show() -> None:
    text = ("x" * 79 + "\n") * 50_000 + "\u202e"
    assert visible(text).endswith("⟨U+202E⟩")
