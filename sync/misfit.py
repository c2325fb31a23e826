"""What does not fit a record, as a sentence for whoever sent it: never the type's own words.

Nothing of what was sent is repeated but the name of a field: it may be a passphrase.
"""

import re
from collections.abc import Callable
from typing import Any, Final, get_args

import msgspec

from sync.decide.visible import visible_line
from sync.errors import Invalid

SHOWN: Final = 40
"""Characters of a field's name that are repeated; it may come from whoever sent it."""

_PLACE: Final = re.compile(r" - at `(?:key in )?\$?(?P<place>[^`]*)`\Z")
_KINDS: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
Words = Callable[[str, re.Match[str]], str]


def _kind(found: str) -> str:
    parts = [_KINDS.get(part.strip(), part.strip()) for part in found.replace("`", "").split("|")]
    return " or ".join(parts)


_MISFITS: Final[tuple[tuple[re.Pattern[str], Words], ...]] = (
    (
        re.compile(r"Object missing required field `(?P<field>[^`]*)`"),
        lambda place, found: f"{_field(place, found['field'])} is missing.",
    ),
    (
        re.compile(r"Object contains unknown field `(?P<field>.*)`", re.DOTALL),
        lambda place, found: f"{_field(place, found['field'])} is not asked for here.",
    ),
    (
        re.compile(r"Expected `str` of length <= (?P<most>\d+)"),
        lambda place, found: f"{place} is too long: at most {found['most']} characters fit.",
    ),
    (
        re.compile(r"Expected `array` of length <= (?P<most>\d+)"),
        lambda place, found: f"{place} holds too many: at most {found['most']} fit.",
    ),
    (
        re.compile(r"Expected `(?:str|array)` of length >= 1\Z"),
        lambda place, _: f"{place} is empty.",
    ),
    (
        re.compile(r"Expected `(?:int|float)` (?P<way><=|>=) (?P<bound>-?[\d.]+)"),
        lambda place, found: (
            f"{place} must be {'at most' if found['way'] == '<=' else 'at least'} {found['bound']}."
        ),
    ),
    (
        re.compile(r"Expected (?P<wanted>`[^`]*`), got (?P<got>`[^`]*`)"),
        lambda place, found: (
            f"{place} must be {_kind(found['wanted'])}, not {_kind(found['got'])}."
        ),
    ),
    (
        re.compile(r"Invalid enum value"),
        lambda place, _: f"{place} is none of what it can be.",
    ),
    (
        re.compile(r"Expected `str` matching regex"),
        lambda place, _: f"{place} does not have the form it must have.",
    ),
)


def misfit(error: Exception, record: type[msgspec.Struct]) -> Invalid:
    """Return the error to raise for what `record` could not be made of."""
    if isinstance(error, RecursionError):
        return Invalid("This is nested too deeply to be read; nothing was recorded.")
    text = str(error)
    at = _PLACE.search(text)
    steps = [] if at is None else [step for step in re.split(r"[.\[\]]+", at["place"]) if step]
    if not isinstance(error, msgspec.ValidationError):
        return Invalid("This is no JSON that can be read; nothing was recorded.")
    place = _shown(steps)
    for pattern, words in _MISFITS:
        found = pattern.match(text if at is None else text[: at.start()])
        if found is not None:
            return Invalid(words(place, found), hint=_choices(record, steps))
    return Invalid(f"{place} is not what it must be.")


def _shown(steps: list[str]) -> str:
    named = [step for step in steps if step != "..." and not step.isdigit()]
    return "What was sent" if not named else f"`{visible_line(' in '.join(named[::-1]))}`"


def _field(place: str, name: str) -> str:
    shown = visible_line(name[:SHOWN])
    return f"`{shown}`" if place == "What was sent" else f"`{shown}` in {place}"


def _choices(record: type[msgspec.Struct], steps: list[str]) -> str:
    """What a field at the top can be, where that is a few words; else nothing."""
    fields: dict[str, Any] = {one.encode_name: one.type for one in msgspec.structs.fields(record)}
    words = get_args(fields.get(steps[0])) if len(steps) == 1 and steps[0] in fields else ()
    if not words or not all(isinstance(word, str) for word in words):
        return ""
    return f"It is one of: {', '.join(word.replace('_', ' ') for word in words)}."
