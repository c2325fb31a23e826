"""Text from an agent, made safe to show: nothing in it acts on a screen or hides on it.

A character that a terminal or a browser would obey, or would draw as nothing, is shown
as its code point between angle brackets. The page has a twin in `web/static`.
"""

import re
from typing import Final

COMBINING_RUN: Final = 4
"""Marks on one letter that some writing needs; more of them paint over other lines."""

QUOTED: Final = 80
"""Characters of what was typed that a sentence about it repeats."""

# Characters Python calls printable although they draw nothing: fillers, joiners,
# variation selectors. The selector of a colour emoji may follow a symbol (below).
_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U0001d159\U000e0100-\U000e01ef]"
)
_EMOJI_SELECTOR: Final = re.compile("(?<=[\u203c-\u3299\U0001f000-\U0001faff])\ufe0f")
_COMBINING: Final = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
    f"{{{COMBINING_RUN + 1},}}"
)
_KEPT: Final = "\n\t"
_WIDE_SPACE: Final = "\u3000"
"""The space of East Asian writing: it shows as what it is, a gap of one letter."""


def visible(text: str) -> str:
    """Return `text` with all that acts or hides made visible; lines and tabs remain."""
    if text.isascii() and text.isprintable():
        return text
    return _shown(text, _KEPT)


def visible_line(text: str) -> str:
    """Return `text` as one line: line ends and tabs are made visible too."""
    if text.isascii() and text.isprintable():
        return text
    return _shown(text, "")


def quoted(text: str) -> str:
    """Return what somebody typed as a sentence quotes it: one line, between quotation marks."""
    return f"“{visible_line(text[:QUOTED])}{'…' if len(text) > QUOTED else ''}”"


def first_hidden(text: str) -> str | None:
    """Return the first character of `text` that would act or hide on one line; None: none."""
    if text.isascii() and text.isprintable():
        return None
    rest = _EMOJI_SELECTOR.sub("", text)
    for character in rest:
        if _acts_or_hides(character):
            return character
    many = _COMBINING.search(rest)
    return None if many is None else many.group()[-1]


def _shown(text: str, kept: str) -> str:
    text = _COMBINING.sub(_too_many, text)
    parts = _EMOJI_SELECTOR.split(text)
    marks = {
        ord(character): _mark(character)
        for character in set().union(*parts)
        if character not in kept and _acts_or_hides(character)
    }
    if not marks:
        return text
    return "\ufe0f".join(part.translate(marks) for part in parts)


def _acts_or_hides(character: str) -> bool:
    # `isprintable` is false for controls, format characters (bidi, zero width, tags),
    # lone surrogates, private and unassigned code points, and spaces other than U+0020.
    if character == _WIDE_SPACE:
        return False
    return not character.isprintable() or _BLANK.match(character) is not None


def _too_many(found: re.Match[str]) -> str:
    run = found.group()
    return run[:COMBINING_RUN] + "".join(map(_mark, run[COMBINING_RUN:]))


def _mark(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"
