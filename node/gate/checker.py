"""Checks a rules file for the page and the command line, without putting it into force."""

from typing import Any

from node.gate.rules import RulesRefused, as_json, parse


def check(source: str) -> list[dict[str, Any]]:
    """Every problem as `{line, reason, fix}`; none when the file could be applied."""
    try:
        parse(source)
    except RulesRefused as refused:
        return as_json(refused.problems)
    return []
