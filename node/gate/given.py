"""The arguments of one call, each read once however many rules look at it."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import rfc8785

from node.gate.hosts import Target
from node.gate.places import Place
from node.gate.shell import Shell, read_shell

MISSING: Final = object()
"""There is no such argument; JSON has no such value."""

Path = tuple[str, ...]
"""The keys that lead to an argument."""

CWD: Final[Path] = ("\0cwd",)
"""Leads to the folder in which the call is made, whatever arguments it has."""

ALL: Final[Path] = ()
"""Leads to all arguments together."""

Read = TypeVar("Read")


class Given:
    """The arguments of a call, and the folder where it is made."""

    def __init__(self, arguments: object, cwd: str | None) -> None:
        self.cwd = cwd
        self._arguments = arguments
        self._values: dict[Path, object] = {}
        self._json: dict[Path, str | None] = {}
        self._places: dict[str, Place] = {}
        self._targets: dict[str, Target] = {}
        self._shells: dict[str, Shell] = {}

    def value(self, path: Path) -> object:
        """The argument, or `MISSING`."""
        found = self._values.get(path)
        if found is None:
            found = self._values[path] = self._look(path)
        return found

    def _look(self, path: Path) -> object:
        if path == CWD:
            return MISSING if self.cwd is None else self.cwd
        value = self._arguments
        for key in path:
            if not isinstance(value, Mapping) or key not in value:
                return MISSING
            value = value[key]
        return value

    def json(self, path: Path) -> str | None:
        """The canonical JSON of the argument; None where there is none."""
        if path not in self._json:
            try:
                text = rfc8785.dumps(self.value(path)).decode()  # type: ignore[arg-type]
            except (ValueError, RecursionError):
                text = None
            self._json[path] = text
        return self._json[path]

    def place(self, text: str) -> Place:
        """Where a path leads."""
        return _once(self._places, text, lambda: Place(text=text, cwd=self.cwd))

    def target(self, text: str) -> Target:
        """Where a URL leads."""
        return _once(self._targets, text, lambda: Target(text=text))

    def shell(self, text: str) -> Shell:
        """The commands of a shell text."""
        # Written out: a text that cannot be read is held against every rule on commands.
        found = self._shells.get(text)
        if found is None:
            found = self._shells[text] = read_shell(text)
        return found


def _once(known: dict[str, Read], text: str, read: Callable[[], Read]) -> Read:
    found = known.get(text)
    if found is None:
        found = known[text] = read()
    return found
