"""What a check found, in words, and how a check tells how far it is."""

from collections.abc import Callable
from typing import Final, Literal

import msgspec

SHOWN: Final = 20
"""Findings named for each kind; the rest is counted: more would bury the other kinds."""

Level = Literal["fault", "note"]
Progress = Callable[[str, int, int], None]
"""Told what is being checked, how much of it is done, and how much there is."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it should be (a note: that should be known)."""

    what: str
    remedy: str = ""
    level: Level = "fault"


class Checked(msgspec.Struct, kw_only=True):
    """What came of checking one kind of thing."""

    kind: str
    what: str = ""
    """What was checked and how much of it, in one line."""
    count: int = 0
    findings: list[Finding] = []
    more: int = 0
    """Findings beyond those that are named."""

    @property
    def faults(self) -> int:
        """How many faults were found."""
        return self.more + sum(finding.level == "fault" for finding in self.findings)

    def fault(self, what: str, remedy: str) -> None:
        """Add a fault; once enough are named, only count it."""
        if self.faults < SHOWN:
            self.findings.append(Finding(what=what, remedy=remedy))
        else:
            self.more += 1

    def note(self, what: str, remedy: str = "") -> None:
        """Add something that is no fault and should be known."""
        self.findings.append(Finding(what=what, remedy=remedy, level="note"))


def amount(count: int, word: str, words: str = "") -> str:
    """`1 entry`, `12,345 entries`."""
    return f"{count:,} {word if count == 1 else words or f'{word}s'}"
