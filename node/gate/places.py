"""Paths as the places they name, and patterns of paths with `*`, `?` and `**`."""

import os
import os.path
import re
import sys
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final
from urllib.parse import unquote

from node import limits
from node.gate.match import UPWARD, Glob
from node.gate.truth import Truth

FOLDS: Final = sys.platform == "darwin"
"""Whether the file system takes names of another case for the same file."""

ELSEWHERE: Final = re.compile(r"/proc/|/dev/fd(/|$)")
"""What a path there names depends on the process that looks."""


def plain_path(text: str, cwd: str | None) -> str:
    """The place a path names, without `~`, `.`, `..` and doubled slashes; links stay."""
    # As the host reads it: pathlib would keep `..` and raise where there is no such user.
    place = os.path.join(cwd or "", os.path.expanduser(text))  # noqa: PTH111, PTH118
    path = os.path.normpath(place)
    return f"/{path.lstrip('/')}" if path.startswith("//") else path


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a path leads: as it is written, and with its links followed."""

    text: str
    cwd: str | None

    @property
    def usable(self) -> bool:
        """Whether this is the text of a path at all."""
        return "\0" not in self.text and 0 < len(self.text) <= limits.PATH_CHARACTERS

    @cached_property
    def readable(self) -> bool:
        """Whether it can be told which file this is."""
        if not self.usable:
            return False
        if not self.plain.startswith("/"):
            return False
        return ELSEWHERE.match(self.plain) is None and ELSEWHERE.match(self.real) is None

    @cached_property
    def plain(self) -> str:
        """Without `~`, `.` and `..`; links stay."""
        text = self.text
        if text[:5].lower() == "file:":
            text = unquote(re.sub(r"^//[^/]*", "", text[5:]))
        return plain_path(text, self.cwd)

    @cached_property
    def real(self) -> str:
        """With links followed, in the order in which the system follows them."""
        if self.text[:5].lower() == "file:":
            return _real(self.plain)
        place = os.path.join(self.cwd or "", os.path.expanduser(self.text))  # noqa: PTH111, PTH118
        return _real(place)

    @cached_property
    def exact(self) -> bool:
        """Whether every reader of the text ends at the same file: what `allow` asks for."""
        begins = self.text[:1] == "~" or self.text[:5].lower() == "file:"
        return not begins and UPWARD.search(self.text) is None


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return "/proc/"


@dataclass(frozen=True, kw_only=True)
class PathPattern:
    """One pattern: `**` stands for any folders, `*` and `?` stay within one name."""

    text: str
    folds: bool = FOLDS
    _led: list[tuple[tuple[Glob, ...], ...]] = field(
        default_factory=list, compare=False, repr=False
    )
    """The parts from the folder to which the base leads, where that is another."""

    @cached_property
    def runs(self) -> tuple[tuple[Glob, ...], ...]:
        """The parts between one `**` and the next."""
        return self._runs(self.written)

    @cached_property
    def written(self) -> str:
        """The pattern with the home folder put in, and folded where the file system folds."""
        home = self.text == "~" or self.text.startswith("~/")
        # pathlib raises where there is no home folder.
        return os.path.expanduser(self.text) if home else self.text  # noqa: PTH111

    @cached_property
    def base(self) -> str:
        """The folders before the first wildcard."""
        parts = self.written.split("/")
        wild = next((n for n, part in enumerate(parts) if re.search(r"[*?]", part)), len(parts))
        return "/".join(parts[:wild])

    def allows(self, place: Place) -> bool:
        """Whether the place lies within, however it is read; as an `allow` rule asks."""
        if not (place.readable and place.exact):
            return False
        return self._has(self.runs, place.plain) and self._has(self.runs, place.real)

    def guards(self, place: Place) -> Truth:
        """Whether the place lies within in any reading; as `ask` and `deny` ask."""
        if not place.usable:
            return Truth.UNSURE
        views = {self._fold(place.plain), self._fold(place.real)}
        for runs in (self._folded, *self._led):
            if any(self._has(runs, view) for view in views):
                return Truth.YES
        return Truth.NO if place.readable else Truth.UNSURE

    @cached_property
    def _folded(self) -> tuple[tuple[Glob, ...], ...]:
        return self._runs(self._fold(self.written))

    def keys(self, real: str, *, guarded: bool) -> set[str]:
        """One of these every path has that this stands for; `real`: where the base leads."""
        if not self.base:
            last = self.written.rpartition("/")[2]
            return {"" if last == "**" or Glob(last).literal is False else f"*/{self._fold(last)}"}
        if guarded:
            return {self.base}
        # At one stroke: other threads match meanwhile.
        rest = self.written[len(self.base) :]
        led = [self._runs(self._fold(real.rstrip("/") + rest))] if real != self.base else []
        self._led[:] = led
        return {self._fold(self.base), self._fold(real)}

    def _fold(self, text: str) -> str:
        return unicodedata.normalize("NFC", text).casefold() if self.folds else text

    @staticmethod
    def _runs(text: str) -> tuple[tuple[Glob, ...], ...]:
        runs: list[list[Glob]] = [[]]
        for part in (part for part in text.split("/") if part):
            if part == "**":
                runs.append([])
            else:
                runs[-1].append(Glob(part))
        return tuple(tuple(run) for run in runs)

    @staticmethod
    def _has(runs: tuple[tuple[Glob, ...], ...], path: str) -> bool:
        """Each inner run is put where it first can stand: no later place could do better."""
        parts = [part for part in path.split("/") if part]
        first, last = runs[0], runs[-1]
        if len(runs) == 1:
            return len(first) == len(parts) and _at(first, parts, 0)
        end = len(parts) - len(last)
        if end < len(first) or not _at(first, parts, 0) or not _at(last, parts, end):
            return False
        here = len(first)
        for run in runs[1:-1]:
            while here + len(run) <= end and not _at(run, parts, here):
                here += 1
            here += len(run)
            if here > end:
                return False
        return True


def ancestors(path: str) -> set[str]:
    """The keys of patterns under which a path may lie, also where the system folds case."""
    found: set[str] = {""}
    folded = unicodedata.normalize("NFC", path).casefold() if FOLDS else path
    for text in {path, folded}:
        found.add(f"*/{text.rpartition('/')[2]}")
        here = text
        while here:
            found.add(here)
            here = here.rpartition("/")[0]
    return found


def leads_to(base: str, known: dict[str, tuple[str, bool]]) -> str:
    """Where a folder leads, with its links followed.

    `known` keeps what was looked at, and whether anything is there: a look for each part of
    each pattern would take long, and below what is not there nothing is.
    """
    if not base:
        return ""
    if base not in known:
        parent, _, name = base.rpartition("/")
        above = leads_to(parent, known)
        here = f"{above}/{name}"
        there = (not parent or known[parent][1]) and os.path.lexists(here)
        if there and os.path.islink(here):  # noqa: PTH114 - no Path a thousand times
            here = _real(here).removesuffix("/")
        known[base] = (here, there)
    return known[base][0]


def _at(run: tuple[Glob, ...], parts: list[str], place: int) -> bool:
    return all(glob.matches(parts[place + n]) for n, glob in enumerate(run))
