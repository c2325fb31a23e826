"""The tables of what persons are called for, from the entries that say so.

Who may say it for whom changes with the fleet, so every node's last word is kept and who
counts is settled where it is read (`node.desk.attention`): the order of arrival then makes
no difference.
"""

import sqlite3
from enum import Enum

import msgspec

from sync.decide.attention import DAY_MINUTES
from sync.errors import BadEntry
from sync.limits import PATTERN_CHARACTERS
from sync.log.attention_facts import SubscriptionFacts
from sync.log.entry import Entry
from sync.log.facts import AskFacts, read
from sync.log.names import node_name

TABLES = ("subscription", "escalation", "handed")
"""What `node.store.projection` derives here and beside it."""


class Field(Enum):
    """What a person can set, as `SubscriptionFacts.field` names it."""

    AGENTS = "agents"
    MUTE = "mute"
    QUIET = "quiet"


def escalation(connection: sqlite3.Connection, ask: str, facts: AskFacts) -> None:
    """Note from when on an ask goes on to others, where it says so."""
    if facts.escalate_at is not None and facts.escalate_to is not None:
        connection.execute(
            "INSERT INTO escalation VALUES (?, ?, ?)", (ask, facts.escalate_at, facts.escalate_to)
        )


def subscription(connection: sqlite3.Connection, entry: Entry) -> str | None:
    """Keep what a node said for a person, unless it said something later on the same.

    Returns None: it is about no ask. Raises `BadEntry` for what nobody could mean.
    """
    facts = read(SubscriptionFacts, entry.facts)
    header = entry.header
    connection.execute(
        "INSERT INTO subscription VALUES (?, ?, ?, ?, ?) ON CONFLICT (person, field, node)"
        " DO UPDATE SET facts = excluded.facts, hlc = excluded.hlc"
        " WHERE excluded.hlc > subscription.hlc",
        (facts.person, _field(facts), node_name(header.author), entry.facts, header.hlc),
    )
    return None


def _field(facts: SubscriptionFacts) -> str:
    """Return the name of what is set. Raises `BadEntry` where it cannot be set so."""
    if facts.field not in {field.value for field in Field}:
        # A newer node's word: kept, and without meaning here.
        return _packed(facts.field)
    if facts.field != Field.AGENTS.value:
        if facts.quiet is not None:
            _check_quiet(facts)
        return _packed(facts.field)
    parts = (facts.agent, facts.project, facts.machine)
    if not facts.agent or any(len(part) > PATTERN_CHARACTERS for part in parts):
        raise BadEntry("A subscription names an agent that no agent can be.")
    return _packed(facts.field, *parts)


def _check_quiet(facts: SubscriptionFacts) -> None:
    hours = facts.quiet
    if hours is None:
        return
    minutes = all(0 <= minute < DAY_MINUTES for minute in (hours.start, hours.end))
    if not minutes or hours.start == hours.end or not set(hours.days) <= set(range(7)):
        raise BadEntry("Quiet hours lie outside of any day.")


def _packed(*parts: str) -> str:
    return msgspec.json.encode(parts).decode()
