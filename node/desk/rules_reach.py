"""How many people can allow one call as machines are now, for what is said of rules."""

import sqlite3
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import msgspec

from node.desk import persons
from node.gate.remarks import ROLES, Reach, remarks
from node.gate.rules import Rules, as_json
from sync.decide.quorum import most
from web.rules_views import RuleProblem


def reach_of(connection: sqlite3.Connection, here: str) -> Reach:
    """Return how many can allow, by role; `here` is the machine whose agents ask."""
    anyone: dict[str, int] = {}
    others: dict[str, int] = {}
    for role in ROLES:
        machines: Mapping[str, AbstractSet[bytes]] = persons.machines(connection, role)
        apart = {person: nodes for person, nodes in machines.items() if here.encode() not in nodes}
        anyone[role], others[role] = most(machines), most(apart)
    return Reach(anyone=anyone, others=others)


def notes_on(
    connection: sqlite3.Connection, rules: Rules, here: str, now: int
) -> list[RuleProblem]:
    """Return what of these rules has no effect as things stand."""
    found = as_json(remarks(rules, now, reach_of(connection, here)))
    return msgspec.convert(found, list[RuleProblem])
