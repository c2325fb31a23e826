"""Globs: what they stand for, what those of `allow` never stand for, and in which time."""

from functools import cache

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from node.gate.match import UNSAFE, UPWARD, Glob

ALPHABET = "ab;*?/"
PATTERNS = st.text(alphabet="ab;*?", max_size=8)
TEXTS = st.text(alphabet="ab;*?\n", max_size=10)


def stands_for(pattern: str, text: str, *, guarded: bool) -> bool:
    """The meaning, written as plainly as possible."""

    def free(char: str) -> bool:
        return not guarded or UNSAFE.match(char) is None

    @cache
    def at(p: int, t: int) -> bool:
        if p == len(pattern):
            return t == len(text)
        if pattern[p] == "*" and at(p + 1, t):
            return True
        if t == len(text):
            return False
        if pattern[p] == "*":
            return free(text[t]) and at(p, t + 1)
        return (free(text[t]) if pattern[p] == "?" else pattern[p] == text[t]) and at(p + 1, t + 1)

    return at(0, 0)


@given(PATTERNS, TEXTS, st.booleans())
def test_a_glob_stands_for_what_its_meaning_says(pattern: str, text: str, guarded: bool) -> None:
    assume(not UPWARD.search(text))
    assert Glob(pattern, guarded).matches(text) == stands_for(pattern, text, guarded=guarded)


@given(PATTERNS, PATTERNS, TEXTS, st.booleans(), st.booleans())
def test_what_covers_another_stands_for_all_of_it(
    wide: str, narrow: str, text: str, guarded: bool, also: bool
) -> None:
    one, other = Glob(wide, guarded), Glob(narrow, also)
    if one.covers(other) and other.matches(text):
        assert one.matches(text)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("*", "git push*"),
        ("git*", "git push*"),
        ("git *", "git push --force"),
        ("*push*", "git push ?"),
        ("a?c", "a?c"),
    ],
)
def test_an_earlier_pattern_covers_a_narrower_one(wide: str, narrow: str) -> None:
    assert Glob(wide).covers(Glob(narrow))
    assert not Glob(narrow).covers(Glob(wide)) or wide == narrow


def test_a_guarded_pattern_does_not_cover_an_open_one() -> None:
    assert not Glob("git *", guarded=True).covers(Glob("git *"))
    assert Glob("git *").covers(Glob("git *", guarded=True))


@pytest.mark.parametrize("special", [*";&|<>$`()\"'\\", "\n", "\r", "\x00", "\x1b", "\u2028"])
def test_a_wildcard_of_allow_never_stands_for_what_a_shell_reads(special: str) -> None:
    for pattern in ("npm test*", "npm test?rm", "npm*rm"):
        text = f"npm test{special}rm"
        assert Glob(pattern).matches(text)
        assert not Glob(pattern, guarded=True).matches(text)


def test_what_an_allow_rule_writes_out_itself_it_may_match() -> None:
    assert Glob("make a && make b", guarded=True).matches("make a && make b")
    assert Glob("make * && make *", guarded=True).matches("make a && make b")
    assert not Glob("make * && make *", guarded=True).matches("make a && make b && rm c")


@pytest.mark.parametrize(
    "text", ["/home/me/../you/x", "/home/me/..", "cat ../x", "--file=../x", ".."]
)
def test_a_wildcard_of_allow_never_leads_upward(text: str) -> None:
    assert not Glob("*", guarded=True).matches(text)
    assert Glob(text, guarded=True).matches(text)


@pytest.mark.parametrize("text", ["git diff main..topic", "wait...", "a/..b"])
def test_two_dots_that_are_no_path_part_are_harmless(text: str) -> None:
    assert Glob("*", guarded=True).matches(text)


def test_brackets_and_braces_are_plain_text() -> None:
    assert Glob("[ab]{c}*").matches("[ab]{c}d")
    assert not Glob("[ab]").matches("a")


@pytest.mark.timeout(60)
def test_no_text_makes_matching_slow() -> None:
    """A backtracking matcher needs hours for this; searching needs milliseconds."""
    pattern = "*a" * 40 + "*b?c*d"
    assert not Glob(pattern).matches("a" * 4_000_000)
    assert not Glob(pattern, guarded=True).matches("a" * 400_000)
