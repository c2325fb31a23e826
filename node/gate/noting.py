"""Gathers what is wrong with a rules file while it is read."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from node import limits
from node.gate.lines import Table
from node.gate.rules import Problem
from sync.decide.visible import visible_line

CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class TooMany(Exception):
    """There are so many problems that the rest is not looked at."""


class Notes:
    """The problems so far, and the table that is being read."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.table = Table(line=1)

    def refuse(self, line: int, reason: str, fix: str) -> None:
        """Note a problem. Raises `TooMany` once there are as many as anyone is told."""
        # Keys and values of the file stand in it: none of them makes a line of its own.
        problem = Problem(line=line, reason=visible_line(reason), fix=visible_line(fix))
        self.problems.append(problem)
        if len(self.problems) >= limits.RULE_PROBLEMS:
            raise TooMany

    def at(self, key: str, reason: str, fix: str) -> None:
        """Note a problem of a key of this table."""
        self.refuse(self.table.of(key), reason, fix)

    def text(self, table: Mapping[str, Any], key: str, most: int, fix: str) -> str | None:
        """A text that must be there, on one line, not too long."""
        if table.get(key) is None:
            self.at(key, f"The rule has no `{key}`.", fix)
            return None
        return self.line(table[key], key, most, fix)

    def line(self, value: object, key: str, most: int, fix: str) -> str | None:
        """A value that must be one line of text, not empty, not too long."""
        if not isinstance(value, str) or not value.strip():
            self.at(key, f"`{key}` must be a text that is not empty.", fix)
        elif len(value) > most:
            self.at(key, f"`{key}` has {len(value)} characters; {most} is the most.", fix)
        elif CONTROL.search(value):
            self.at(key, f"`{key}` holds a control character or a line break.", fix)
        else:
            return value
        return None

    def lines(self, value: object, key: str, most: int, fix: str) -> list[str]:
        """One text or a list of texts; none with a problem noted."""
        values = value if isinstance(value, list) else [value]
        if not values:
            self.at(key, f"`{key}` names nothing, so it could never match.", fix)
        if len(values) > most:
            self.at(key, f"`{key}` has {len(values)} entries; {most} is the most.", fix)
            return []
        read = [self.line(each, key, limits.GLOB_CHARACTERS, fix) for each in values]
        return [each for each in read if each is not None] if None not in read else []


def nearest(word: str, known: Iterable[str]) -> str:
    """A sentence that names the known word most like this one; empty when none is."""
    found = difflib.get_close_matches(word[:100].lower(), list(known), n=1)
    return f"Did you mean `{found[0]}`? " if found else ""


def seconds_of(value: object) -> int | None:
    """A duration such as `90s` or `4h`, in seconds; None when it is none."""
    found = re.fullmatch(r"([0-9]{1,6})([smhd])", value) if isinstance(value, str) else None
    return None if found is None else int(found[1]) * UNITS[found[2]]
