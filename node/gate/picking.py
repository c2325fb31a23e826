"""Finds among many rules for one tool those that a call could meet, without asking each.

A rule stands under what one of its conditions needs; a call is looked up by what it has.
Where a call cannot be read, every rule of that kind is asked.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from node import limits
from node.gate.conditions import PATH_KEYS, AtHost, Equal, Runs, Test, Text, Within
from node.gate.given import MISSING, Given, Path
from node.gate.hosts import spellings
from node.gate.places import ancestors, leads_to, plain_path
from node.gate.truth import Truth
from node.gate.wrappers import base_name

if TYPE_CHECKING:
    from node.gate.rules import Rule

PART: Final = 3
"""Characters of a pattern's longest part by which it is found."""

Index = dict[tuple[str, Path], dict[str, list[int]]]
"""By kind and argument, and then by what a rule needs: the places of rules."""

TEXT_CHARACTERS: Final = 4_096
"""In a longer text it takes less time to ask every rule than to look up each place."""


class Commands(NamedTuple):
    """The rules that are found by what one argument runs."""

    denies: list[int]
    """Of these, while a text cannot be read and names none of their programs, none is sure."""
    others: list[int]
    """Rules that take doubt for a no or for a yes."""
    named: dict[str, list[int]]
    """The denies again, by the programs that they name."""


class Picked:
    """The rules for one tool and agent, in order, found by what each of them needs."""

    def __init__(self, rules: Sequence["Rule"]) -> None:
        self.rules = tuple(rules)
        self._always: list[int] = []
        self._found: Index = {}
        self._commands: dict[Path, Commands] = {}
        self._places: list[tuple[int, Path, Within]] = []
        self._by_place: Index = {}
        self._placed: float | None = None
        for place, rule in enumerate(self.rules):
            if not self._note(place, rule):
                self._always.append(place)
        self._lengths = {
            path: sorted({len(text) for text in texts})
            for (kind, path), texts in self._found.items()
            if kind == "begin"
        }

    def _note(self, place: int, rule: "Rule") -> bool:
        """Put the rule under one of its conditions; False when none narrows it down."""
        for condition in rule.conditions:
            if isinstance(condition.test, Within):
                self._places.append((place, condition.path, condition.test))
                return True
            needs = _needs(condition.test)
            if needs is not None:
                _put(self._found, (needs[0], condition.path), needs[1], place)
                if isinstance(condition.test, Runs):
                    self._note_command(place, rule, condition.path, condition.test)
                return True
        return False

    def _note_command(self, place: int, rule: "Rule", path: Path, test: Runs) -> None:
        known = self._commands.setdefault(path, Commands([], [], {}))
        if rule.action != "deny":
            known.others.append(place)
            return
        known.denies.append(place)
        for name in {prefix.name for prefix in test.prefixes}:
            known.named.setdefault(name, []).append(place)

    def _place_anew(self) -> None:
        """Put path rules under the folders to which their patterns lead by now."""
        now = time.monotonic()
        fresh = self._placed is not None and 0 <= now - self._placed < limits.PLACES_KEPT_S
        if not self._places or fresh:
            return
        known: dict[str, tuple[str, bool]] = {}
        index: Index = {}
        for place, path, test in self._places:
            for pattern in test.patterns:
                real = leads_to(pattern.base, known)
                _put(index, ("place", path), pattern.keys(real, guarded=test.guarded), place)
        # At one stroke: other threads match meanwhile.
        self._by_place = index
        self._placed = now

    def candidates(self, given: Given) -> Iterable["Rule"]:
        """Every rule that could match, in order; others certainly do not."""
        self._place_anew()
        found = set(self._always)
        for (kind, path), index in (*self._found.items(), *self._by_place.items()):
            value = given.value(path)
            if value is MISSING:
                continue
            has = self._has(kind, path, given)
            if has is None and kind == "runs" and isinstance(value, str):
                found.update(self._unread(self._commands[path], given, value))
                continue
            for text in index if has is None else has:
                found.update(index.get(text, ()))
        return (self.rules[place] for place in sorted(found))

    def _unread(self, known: Commands, given: Given, text: str) -> Iterable[int]:
        """The rules on commands that a text which cannot be read to its end may meet.

        Of the denies that name no program of it, which may hold and never surely do, the first
        says all that the others could: one doubt is enough.
        """
        sure = set(known.others)
        for name in given.shell(text).named:
            sure.update(known.named.get(name or "", ()))
        vague = (place for place in known.denies if place not in sure)
        doubt = (place for place in vague if self.rules[place].holds(given) is Truth.UNSURE)
        sure.update(itertools.islice(doubt, 1))
        return sure

    def _has(self, kind: str, path: Path, given: Given) -> Iterable[str] | None:
        """What the call has of this kind; None: it could have anything."""
        if kind == "equal":
            return _one(given.json(path))
        if kind in ("begin", "part"):
            return self._has_text(kind, path, given)
        value = given.value(path)
        if value == [] or (kind == "runs" and not isinstance(value, str)):
            return None
        has: set[str] = set()
        for each in value if isinstance(value, list) else [value]:
            keys = READERS[kind](given, each) if isinstance(each, str) else None
            if keys is None:
                return None
            has.update(keys)
        return has

    def _has_text(self, kind: str, path: Path, given: Given) -> Iterable[str] | None:
        value = given.value(path)
        texts = [value if isinstance(value, str) else given.json(path)]
        if isinstance(value, str) and path[-1] in PATH_KEYS:
            texts.append(plain_path(value, given.cwd))
        has: set[str] = set()
        for text in texts:
            if text is None or (kind == "part" and len(text) > TEXT_CHARACTERS):
                return None
            if kind == "part":
                has.update(text[n : n + PART] for n in range(len(text) - PART + 1))
            else:
                has.update(text[:length] for length in self._lengths[path])
        return has


def _put(index: Index, key: tuple[str, Path], texts: Iterable[str], place: int) -> None:
    places = index.setdefault(key, {})
    for text in texts:
        places.setdefault(text, []).append(place)


def _needs(test: Test) -> tuple[str, Iterable[str]] | None:
    """The kind by which a condition is found, and the texts of which a call must have one."""
    if isinstance(test, Equal):
        return "equal", [test.json]
    if isinstance(test, Runs):
        return "runs", {_command_key(prefix.words) for prefix in test.prefixes}
    if isinstance(test, AtHost):
        return "host", {pattern.text for pattern in test.patterns}
    if isinstance(test, Text):
        if test.glob.begin:
            return "begin", [test.glob.begin]
        whole = (part.text for part in test.glob.parts if part.pattern is None)
        part = max(whole, key=len, default="")
        return ("part", [part[:PART]]) if len(part) >= PART else None
    return None


def _command_key(words: Sequence[str]) -> str:
    name = base_name(words[0])
    return name if len(words) == 1 or words[1].startswith("-") else f"{name} {words[1]}"


def _one(text: str | None) -> list[str] | None:
    return None if text is None else [text]


def _has_commands(given: Given, text: str) -> Iterable[str] | None:
    shell = given.shell(text)
    if not shell.readable:
        return None
    has: set[str] = set()
    for named in (shell.named, shell.suspects):
        for name, commands in named.items():
            if any(None in words for words in commands):
                return None
            has.add(name or "")
            has.update(f"{name} {word}" for words in commands for word in words[1:])
    return has


def _has_hosts(given: Given, text: str) -> Iterable[str] | None:
    host = given.target(text).host
    return None if host is None else spellings(host)


def _has_places(given: Given, text: str) -> Iterable[str] | None:
    place = given.place(text)
    if not place.usable or not place.readable:
        return None
    return ancestors(place.plain) | ancestors(place.real)


READERS: Final[dict[str, Callable[[Given, str], Iterable[str] | None]]] = {
    "runs": _has_commands,
    "host": _has_hosts,
    "place": _has_places,
}
