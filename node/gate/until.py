"""Rules that hold for a time only: `until`, a moment after which a rule matches nothing."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from node.gate.noting import Notes
from node.gate.rules import Rules

KEY: Final = "until"
FIX: Final = "Write date, time and zone without quotes: until = 2027-01-31T18:00:00Z."


def read_until(notes: Notes, table: Mapping[str, Any]) -> int | None:
    """The moment of a rule, as Unix milliseconds; None for a rule without end."""
    if KEY not in table:
        return None
    value = table[KEY]
    if not isinstance(value, dt.datetime) or value.tzinfo is None:
        notes.at(KEY, f"`until` is {str(value)!r:.60}, which names no moment with its zone.", FIX)
        return None
    return round(value.timestamp() * 1000)


def written(moment: int) -> str:
    """A moment as `until` is written."""
    at = dt.datetime.fromtimestamp(moment // 1000, dt.UTC)
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def in_time(rules: Rules, now: int) -> Rules:
    """The rules without those whose time is over; its siblings' as well."""
    siblings = tuple(in_time(sibling, now) for sibling in rules.siblings)
    over = frozenset(
        rule.line for rule in rules.rules if rule.until is not None and rule.until <= now
    )
    if not over and all(map(_same, siblings, rules.siblings)):
        return rules
    key = (over, *map(id, siblings))
    kept = rules.timely.get(key)
    if kept is None:
        left = tuple(rule for rule in rules.rules if rule.line not in over)
        rules.timely.clear()
        kept = rules.timely[key] = replace(rules, rules=left, siblings=siblings)
    return kept


def _same(one: Rules, other: Rules) -> bool:
    return one is other
