"""Checks a rules file for the page and the command line, without putting it into force."""

from collections.abc import Sequence
from typing import Any

from node.gate.rules import RulesRefused, as_json, parse


def check(source: str, people: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Every problem as `{line, reason, fix}`; none when the file could be applied.

    `people` are the roles of those who are there, where that is known.
    """
    try:
        parse(source, people=people)
    except RulesRefused as refused:
        return as_json(refused.problems)
    return []
