"""Paths as the places they name, and patterns of paths with `*`, `?` and `**`."""

import os
import os.path
import re
import sys
import time
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

    @cached_property
    def readable(self) -> bool:
        """Whether it can be told which file this is."""
        if "\0" in self.text or not 0 < len(self.text) <= limits.PATH_CHARACTERS:
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
    _places: dict[str, tuple[float, str]] = field(default_factory=dict, compare=False, repr=False)

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
        if not 0 < len(place.text) <= limits.PATH_CHARACTERS or "\0" in place.text:
            return Truth.UNSURE
        views = {self._fold(place.plain), self._fold(place.real)}
        for runs in {self._folded, self._where_it_leads()}:
            if any(self._has(runs, view) for view in views):
                return Truth.YES
        return Truth.NO if place.readable else Truth.UNSURE

    @cached_property
    def _folded(self) -> tuple[tuple[Glob, ...], ...]:
        return self._runs(self._fold(self.written))

    def _where_it_leads(self) -> tuple[tuple[Glob, ...], ...]:
        """The pattern with the links of its base followed."""
        now = time.monotonic()
        known = self._places.get("base")
        if known is None or not 0 <= now - known[0] < limits.PLACES_KEPT_S:
            known = (now, _real(self.base) if self.base else self.base)
            self._places["base"] = known
        if known[1] == self.base:
            return self._folded
        return self._runs(self._fold(known[1].rstrip("/") + self.written[len(self.base) :]))

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


def _at(run: tuple[Glob, ...], parts: list[str], place: int) -> bool:
    return all(glob.matches(parts[place + n]) for n, glob in enumerate(run))
