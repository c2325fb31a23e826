"""Conditions on one argument of a call: its text, value, place, host or commands.

Each is read in one of two ways: `allow` is taken at its word and nothing else; `ask` and
`deny` also see other spellings of what they name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from node.gate.commands import Prefix
from node.gate.given import MISSING, Given, Path
from node.gate.hosts import HostPattern
from node.gate.match import Glob
from node.gate.places import PathPattern, plain_path
from node.gate.truth import Truth, either, every

PATH_KEYS: Final = ("file_path", "notebook_path", "path")
"""Arguments that hosts read as a path: `ask` and `deny` also see what the path comes to."""


class Test(Protocol):
    """What an argument is held against."""

    def holds(self, given: Given, path: Path) -> Truth:
        """Whether the argument, which is there, is what this names."""

    def covers(self, other: object) -> bool:
        """Whether this certainly holds wherever the other, of a later rule, holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """The text has a pattern; what is no text is compared by its canonical JSON."""

    glob: Glob

    def holds(self, given: Given, path: Path) -> Truth:
        """Whether the text has the pattern."""
        value = given.value(path)
        if not isinstance(value, str):
            text = given.json(path)
            if text is None:
                return Truth.NO if self.glob.guarded else Truth.YES
            return Truth.YES if self.glob.matches(text) else Truth.NO
        if self.glob.matches(value):
            return Truth.YES
        # Only where matching makes the gate stricter: another spelling of a path that a
        # rule guards.
        if self.glob.guarded or path[-1] not in PATH_KEYS:
            return Truth.NO
        return Truth.YES if self.glob.matches(plain_path(value, given.cwd)) else Truth.NO

    def covers(self, other: object) -> bool:
        """Whether this pattern stands for all that the other stands for."""
        if isinstance(other, Text):
            return self.glob.covers(other.glob)
        return isinstance(other, Equal) and self.glob.matches(other.text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Equal:
    """The value is this one; of numbers and other JSON by its canonical form."""

    json: str
    text: str
    """As patterns see it: a text itself, else its JSON."""

    def holds(self, given: Given, path: Path) -> Truth:
        """Whether the value is this one."""
        text = given.json(path)
        if text is None:
            return Truth.UNSURE
        return Truth.YES if text == self.json else Truth.NO

    def covers(self, other: object) -> bool:
        """Whether the other names the same value."""
        return isinstance(other, Equal) and other.json == self.json


@dataclass(frozen=True, kw_only=True, slots=True)
class Within:
    """The path leads to a place that one of the patterns names."""

    patterns: tuple[PathPattern, ...]
    guarded: bool

    def holds(self, given: Given, path: Path) -> Truth:
        """Whether the path, or one of a list of paths, leads there; for `allow`, all do."""

        def one(text: str) -> Truth:
            place = given.place(text)
            if self.guarded:
                return _sure(any(pattern.allows(place) for pattern in self.patterns))
            return either(pattern.guards(place) for pattern in self.patterns)

        return _of_texts(given.value(path), one, guarded=self.guarded)

    def covers(self, other: object) -> bool:
        """Whether every pattern of the other stands here too."""
        if not isinstance(other, Within) or (self.guarded and not other.guarded):
            return False
        return {each.text for each in other.patterns} <= {each.text for each in self.patterns}


@dataclass(frozen=True, kw_only=True, slots=True)
class AtHost:
    """The URL leads to one of these hosts."""

    patterns: tuple[HostPattern, ...]
    guarded: bool

    def holds(self, given: Given, path: Path) -> Truth:
        """Whether the URL, or one of a list, leads there; for `allow`, all do."""

        def one(text: str) -> Truth:
            target = given.target(text)
            if self.guarded:
                return _sure(any(pattern.allows(target) for pattern in self.patterns))
            return either(pattern.guards(target) for pattern in self.patterns)

        return _of_texts(given.value(path), one, guarded=self.guarded)

    def covers(self, other: object) -> bool:
        """Whether every host of the other is one of these."""
        if not isinstance(other, AtHost) or (self.guarded and not other.guarded):
            return False
        return all(
            any(mine.text == each.text or mine.has(each.text) for mine in self.patterns)
            for each in other.patterns
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Runs:
    """The shell text runs one of these commands; for `allow`, nothing else."""

    prefixes: tuple[Prefix, ...]
    guarded: bool

    def holds(self, given: Given, path: Path) -> Truth:
        """Whether a command of the text begins so; for `allow`, whether all do."""
        value = given.value(path)
        if not isinstance(value, str):
            return Truth.UNSURE
        shell = given.shell(value)
        if not self.guarded:
            if len(self.prefixes) == 1:
                return self.prefixes[0].guards(shell)
            truth = Truth.NO
            # A loop of its own: where a text cannot be read, every such rule is asked.
            for prefix in self.prefixes:
                found = prefix.guards(shell)
                if found is Truth.YES:
                    return found
                truth = truth if found is Truth.NO else found
            return truth
        return _sure(
            shell.plain
            and all(
                any(prefix.allows(words, exactly=runs) for prefix in self.prefixes)
                for words, runs in shell.direct
            )
        )

    def covers(self, other: object) -> bool:
        """Whether each command of the other begins with one of these."""
        if not isinstance(other, Runs) or (self.guarded and not other.guarded):
            return False
        return all(
            any(each.words[: len(mine.words)] == mine.words for mine in self.prefixes)
            for each in other.prefixes
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class NoOthers:
    """The call has no arguments but these."""

    names: frozenset[Path]

    def holds(self, given: Given, path: Path) -> Truth:
        """Whether each argument, or one that holds it, is among them."""
        value = given.value(path)
        return _sure(isinstance(value, Mapping) and self._knows(value, path))

    def _knows(self, value: Mapping[str, object], path: Path) -> bool:
        for key, inner in value.items():
            here = (*path, key)
            if here in self.names:
                continue
            deeper = any(name[: len(here)] == here for name in self.names)
            if not (deeper and isinstance(inner, Mapping) and self._knows(inner, here)):
                return False
        return True

    def covers(self, other: object) -> bool:
        """Whether the other lets no more through."""
        return isinstance(other, NoOthers) and other.names <= self.names


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """One argument, by its path of keys, and what it must be."""

    path: Path
    key: str
    """The rule's key that says so: `arguments`, `equals`, `path`, `host`, `shell`, `cwd` or
    `others`."""
    test: Test

    def holds(self, given: Given) -> Truth:
        """Whether the argument is there and is this; a missing one never is."""
        path = self.path
        return Truth.NO if given.value(path) is MISSING else self.test.holds(given, path)


def _sure(holds: bool) -> Truth:  # noqa: FBT001 - the only argument
    return Truth.YES if holds else Truth.NO


def _of_texts(value: object, one: Callable[[str], Truth], *, guarded: bool) -> Truth:
    """A text, or a list of texts; what else it may be nobody can tell."""
    if isinstance(value, str):
        return one(value)
    if not isinstance(value, list) or not value:
        return Truth.UNSURE
    truths: Iterable[Truth] = [
        one(each) if isinstance(each, str) else Truth.UNSURE for each in value
    ]
    return every(truths) if guarded else either(truths)
