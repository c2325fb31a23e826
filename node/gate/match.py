"""Globs of the gate's rules: `*` stands for any text, `?` for one character, and that is all.

Matching takes time in proportion to the text, whatever the pattern: agents choose the text.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

UNSAFE: Final = re.compile("[;&|<>$`()\"'\\\\\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]")
"""What a wildcard of an `allow` rule never stands for: with these a shell leaves the command
that the reader of the rule has in mind; line breaks and control characters as well."""

UPWARD: Final = re.compile(r"(?:^|[/\s=:,])\.\.(?:[/\s,]|$)")
"""A path part `..`: the text then names a place outside of what its beginning says."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a pattern without a star; of the same length as what it stands for."""

    text: str
    pattern: re.Pattern[str] | None

    def at(self, text: str, place: int) -> bool:
        """Whether this stands at that place of the text."""
        if self.pattern is None:
            return text.startswith(self.text, place)
        return self.pattern.match(text, place) is not None

    def find(self, text: str, place: int) -> int:
        """The first place from there on where this stands, or -1."""
        if self.pattern is None:
            return text.find(self.text, place)
        found = self.pattern.search(text, place)
        return found.start() if found else -1


@dataclass(frozen=True, slots=True)
class Glob:
    """One pattern. `guarded` is how an `allow` rule reads it: its wildcards stand for less."""

    text: str
    guarded: bool = False
    parts: tuple[Part, ...] = field(init=False, compare=False, repr=False)
    literal: bool = field(init=False, compare=False, repr=False)
    """Whether the pattern has no wildcard and so stands for one text only."""
    begin: str = field(init=False, compare=False, repr=False)
    """What every text begins with that this stands for."""

    def __post_init__(self) -> None:
        """Cut the pattern at its stars once, so that matching only searches."""
        parts = tuple(_part(part, guarded=self.guarded) for part in self.text.split("*"))
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "literal", "*" not in self.text and "?" not in self.text)
        object.__setattr__(self, "begin", parts[0].text.partition("?")[0])

    def matches(self, text: str) -> bool:
        """Whether the pattern stands for this text, whole."""
        if self.literal:
            return text == self.text
        if self.guarded and UPWARD.search(text):
            return False
        first, last = self.parts[0], self.parts[-1]
        if len(self.parts) == 1:
            return len(text) == len(first.text) and first.at(text, 0)
        end = len(text) - len(last.text)
        if end < len(first.text) or not first.at(text, 0) or not last.at(text, end):
            return False
        return self._between(text, len(first.text), end)

    def _between(self, text: str, here: int, end: int) -> bool:
        """Put each inner part where it first can stand: no later place could do better.

        That holds for guarded patterns too: what lies between an early and a later place
        would be stood for by the star before, so it is harmless for the star after.
        """
        for part in self.parts[1:-1]:
            begin = part.find(text, here)
            if begin < 0 or begin + len(part.text) > end or not self._free(text, here, begin):
                return False
            here = begin + len(part.text)
        return self._free(text, here, end)

    def _free(self, text: str, begin: int, end: int) -> bool:
        """Whether a star may stand for this stretch of the text."""
        return not self.guarded or UNSAFE.search(text, begin, end) is None

    def covers(self, other: "Glob | AnyOf") -> bool:
        """Whether this certainly stands for every text that `other` stands for."""
        if isinstance(other, AnyOf):
            return all(self.covers(glob) for glob in other.globs)
        if not other.begin.startswith(self.begin):
            return False
        if other.literal:
            return self.matches(other.text)
        if self.guarded and not other.guarded:
            return False
        return _covers(self.text, other.text, guarded=self.guarded)


def _part(text: str, *, guarded: bool) -> Part:
    """A stretch ready for searching; only one with question marks needs an expression."""
    if "?" not in text:
        return Part(text, None)
    one = f"(?!{UNSAFE.pattern})." if guarded else "."
    pattern = "".join(one if mark == "?" else re.escape(mark) for mark in text)
    return Part(text, re.compile(pattern, re.DOTALL))


class Effort:
    """How many steps may still be taken to see whether patterns cover each other."""

    def __init__(self, steps: int) -> None:
        self.steps = steps


_effort: ContextVar[Effort | None] = ContextVar("effort", default=None)


@contextmanager
def bounded(steps: int) -> Iterator[Effort]:
    """Within it, no more steps than these: after them nothing is certain to cover anything.

    Whoever writes a repository's file chooses its patterns, and each pair is compared.
    """
    effort = Effort(steps)
    token = _effort.set(effort)
    try:
        yield effort
    finally:
        _effort.reset(token)


def _covers(wide: str, narrow: str, *, guarded: bool) -> bool:
    """Whether `wide` stands for the text of `narrow`, whose own wildcards only wildcards match."""
    effort = _effort.get() or Effort(len(wide) * len(narrow) + 1)
    here = there = 0
    star, resume = -1, 0
    while there < len(narrow):
        effort.steps -= 1
        if effort.steps < 0:
            return False
        mark = wide[here] if here < len(wide) else ""
        stood_for = narrow[there] != "*" and not (guarded and UNSAFE.match(narrow[there]))
        if mark == "*":
            star, resume = here, there
            here += 1
        elif mark and ((mark == "?" and stood_for) or (mark == narrow[there] and mark != "?")):
            here, there = here + 1, there + 1
        elif star >= 0 and not (guarded and UNSAFE.match(narrow[resume])):
            resume += 1
            here, there = star + 1, resume
        else:
            return False
    return set(wide[here:]) <= {"*"}


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Several patterns; the tools of a named set."""

    text: str
    globs: tuple[Glob, ...]

    def matches(self, text: str) -> bool:
        """Whether one of them stands for this text."""
        return any(glob.matches(text) for glob in self.globs)

    def covers(self, other: "Glob | AnyOf") -> bool:
        """Whether they certainly stand for every text that `other` stands for."""
        return all(any(mine.covers(glob) for mine in self.globs) for glob in globs_of(other))


def globs_of(pattern: Glob | AnyOf) -> tuple[Glob, ...]:
    """The patterns that a tool's pattern consists of."""
    return (pattern,) if isinstance(pattern, Glob) else pattern.globs
