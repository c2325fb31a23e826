"""One thing that `doctor` looked at, how bad it is, and what to do about it."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "warning", "fault"]
"""A note is good to know; a warning does not stop askmesh; a fault does, or soon will."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was looked at."""

    about: str
    what: str
    level: Level = "ok"
    remedy: str = ""
