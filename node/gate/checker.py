"""Checks a rules file for the page and the command line, without putting it into force."""

from collections.abc import Sequence
from typing import Any

from node.gate.rules import Rules, RulesRefused, as_json, parse


def check(source: str, people: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Every problem as `{line, reason, fix}`; none when the file could be applied.

    `people` are the roles of those who are there, where that is known.
    """
    return read(source, people)[1]


def read(
    source: str, people: Sequence[str] | None = None
) -> tuple[Rules | None, list[dict[str, Any]]]:
    """The rules of a file (None: it is refused), and every problem of it."""
    try:
        return parse(source, people=people), []
    except RulesRefused as refused:
        return None, as_json(refused.problems)
