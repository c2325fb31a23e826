"""What does not fit in a request, in words: the reader of the bytes names types and places."""

import re
from collections.abc import Callable
from typing import Final

PLACE: Final = re.compile(r"(?P<what>.*?)(?: - at `(?P<at>(?:key in )?\$.*)`)?", re.DOTALL)
KINDS: Final = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
    "bytes": "a text in base64",
}


def misfit(error: Exception) -> str:
    """Return what is wrong with a request, as a part of a sentence without its full stop."""
    found = PLACE.fullmatch(str(error))
    what, at = (found["what"], found["at"]) if found else (str(error), None)
    name = _name(at)
    for pattern, say in _SAID:
        said = pattern.fullmatch(what)
        if said is not None:
            return say(name, *said.groups())
    return f"{_subject(name)} is not of the form it must have"


def _name(at: str | None) -> str:
    """A place as whoever wrote the request knows it: `votes[0].seen`; empty for all of it."""
    return (at or "").removeprefix("key in ").removeprefix("$").removeprefix(".")


def _subject(name: str) -> str:
    return f"`{name}`" if name else "it"


def _kinds(told: str) -> str:
    return " or ".join(KINDS.get(kind.strip(), "another value") for kind in told.split("|"))


def _kind(name: str, wanted: str, got: str) -> str:
    return f"{_subject(name)} must be {_kinds(wanted)}, not {_kinds(got)}"


def _length(name: str, kind: str, sign: str, count: str) -> str:
    parts = "entries" if kind == "array" else "characters"
    if sign == ">=":
        return (
            f"{_subject(name)} is empty"
            if count == "1"
            else f"{_subject(name)} has fewer than {count} {parts}"
        )
    return f"{_subject(name)} has more than {count} {parts}"


def _bound(name: str, sign: str, count: str) -> str:
    return f"{_subject(name)} must be at {'least' if sign == '>=' else 'most'} {count}"


def _missing(name: str, field: str) -> str:
    return f"`{name}.{field}` is missing" if name else f"`{field}` is missing"


def _unknown(name: str, field: str) -> str:
    return f"`{name}.{field}` means nothing here" if name else f"`{field}` means nothing here"


def _value(name: str, value: str) -> str:
    return f"{_subject(name)} cannot be {value}"


_SAID: Final[tuple[tuple[re.Pattern[str], Callable[..., str]], ...]] = (
    (re.compile(r"Expected `([^`]+)`, got `([^`]+)`"), _kind),
    (re.compile(r"Expected `(\w+)`(?: \| null)? of length (<=|>=) (\d+)"), _length),
    (re.compile(r"Expected `(?:int|float)[^`]*` (<=|>=) (-?[\d.]+)"), _bound),
    (re.compile(r"Object missing required field `(.+)`", re.DOTALL), _missing),
    (re.compile(r"Object contains unknown field `(.+)`", re.DOTALL), _unknown),
    (re.compile(r"Invalid enum value (.+)", re.DOTALL), _value),
    (
        re.compile(r"JSON is malformed.*|Input data was truncated", re.DOTALL),
        lambda _: "it is no JSON",
    ),
    (re.compile(r"Invalid UTF-8.*|'utf-8' codec.*", re.DOTALL), lambda _: "it is no UTF-8 text"),
    (re.compile(r"maximum recursion.*", re.DOTALL), lambda _: "it is nested too deeply"),
)
