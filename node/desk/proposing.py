"""'Always like this': the call of an approval made a rule to look at. Changes nothing itself."""

import asyncio
import json
import sqlite3
from typing import Any, Final, NamedTuple

from node.desk import persons
from node.desk.call_content import whole
from node.desk.context import Context
from node.desk.rows import AskRow, find
from node.desk.rules_history import Text, changes
from node.desk.rules_store import RulesStore
from node.desk.sessions import names_of
from node.gate.law import Law
from node.gate.proposal import Applier, Made, Wish, propose
from node.gate.repository import around
from node.gate.rules import Rules
from node.gate.until import written
from sync.decide.people import Act, Person, Role, may
from sync.errors import Invalid, NotAllowed
from sync.limits import DAY_MS
from web.desk import Viewer
from web.rules_messages import Wanted
from web.rules_views import Proposal

NAMES: Final = 100
"""Rules made of one ask: more have no names."""


class _Asked(NamedTuple):
    """An approval as it stands, and who looks at it."""

    row: AskRow
    call: dict[str, Any]
    agents: tuple[str, ...]
    person: Person
    owns: bool


async def propose_rule(
    context: Context, store: RulesStore, viewer: Viewer, ask_id: str, wanted: Wanted
) -> Proposal:
    """Make a rule of the call of an ask, for the rules in force by now."""
    asked = await context.reader.run(lambda connection: _asked(context, connection, viewer, ask_id))
    if wanted.action == "allow" and not asked.row.enforced:
        raise Invalid(
            "This was asked on the agent's word: no gate holds such calls, so no rule lets"
            " them run.",
            hint="Rules that refuse count for it all the same.",
        )
    rules = await store.in_force()
    view = await store.view()
    now = context.clock.now()
    wish = _wish(asked, wanted, rules, f"always {wanted.action} {context.short(asked.row.id)}", now)
    here = asked.row.home == context.identity.name

    def make() -> tuple[Made, str]:
        law = Law(account=rules, repository=around(wish.cwd) if here else (), now=now)
        role = asked.person.role if may(asked.person, Act.RULES) else Role.ADMIN
        made = propose(law, wish, Applier(role=role, owns=asked.owns))
        before = [Text(rules.name, rules.source)] if rules.entries else []
        return made, changes(before, made.source)

    made, difference = await asyncio.to_thread(make)
    return Proposal(
        name=view.name if view else "rules",
        rule=made.rule,
        source=made.source,
        replaces=view.version if view else None,
        changes=difference,
        until=wish.until,
        action=wanted.action,
        notes=_notes(wish, made, here=here),
        may_apply=may(asked.person, Act.RULES),
    )


def _wish(asked: _Asked, wanted: Wanted, rules: Rules, name: str, now: int) -> Wish:
    return Wish(
        tool=asked.call["tool"],
        arguments=asked.call["arguments"],
        cwd=asked.call["cwd"],
        agents=asked.agents,
        action=wanted.action,
        name=_name(rules, name),
        until=None if wanted.days is None else (now + wanted.days * DAY_MS) // 1000 * 1000,
    )


def _asked(context: Context, connection: sqlite3.Connection, viewer: Viewer, ask: str) -> _Asked:
    person = persons.everyone(connection).get(viewer.person)
    if person is None or not may(person, Act.ANSWER):
        raise NotAllowed("You may see this, but make no rule of it.")
    row = find(connection, ask)
    if row.blob is None:
        raise Invalid(
            f"{context.short(row.id)} is about no call, so no rule can be made of it.",
            hint="Rules are about calls of tools.",
        )
    canonical = whole(context, connection, row)
    call: dict[str, Any] = json.loads(canonical or b"{}")
    if "hidden" in json.loads(context.blobs.get(row.blob)):
        raise Invalid(
            "Some arguments of this call never leave the machine that asks, and a rule goes to"
            " every machine.",
            hint="Write a rule by hand that does not name them.",
        )
    return _Asked(
        row,
        call,
        names_of(connection, row.session, row.agent),
        person,
        owns=viewer.person in row.quorum.not_by
        or persons.speaks_for(connection, row.home, viewer.person),
    )


def _name(rules: Rules, name: str) -> str:
    """A name of its own: a second rule of one ask is counted."""
    taken = {rule.name for rule in rules.rules}
    names = (name, *(f"{name} ({number})" for number in range(2, NAMES)))
    return next((each for each in names if each not in taken), name)


def _notes(wish: Wish, made: Made, *, here: bool) -> list[str]:
    whose = " and ".join(made.for_agents) or "every agent"
    effect = "run without anyone being asked" if wish.action == "allow" else "are refused"
    end = "with no end" if wish.until is None else f"until {written(wish.until)}"
    notes = [
        f"Calls of exactly this kind {effect}, {end}.",
        f"It holds for {whose}, on every machine, in this folder.",
    ]
    if not here:
        notes.append("What a .askmesh.toml of the folder says there was not looked at.")
    return notes
