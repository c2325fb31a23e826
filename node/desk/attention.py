"""What persons said about being called, as all their machines know it, and what follows."""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from node.desk import persons
from node.desk.rows import AskRow
from node.desk.session_views import project_name
from node.store.attention_tables import Field
from sync.decide.ask import AskState
from sync.decide.attention import (
    CALLED,
    NOTHING_SAID,
    Asked,
    Attention,
    Mode,
    QuietTime,
    Settings,
    Subscription,
    attention,
    called,
)
from sync.decide.people import Person
from sync.limits import MUTE_MAX_MS, SUBSCRIPTIONS
from sync.log.attention_facts import QuietHours, SubscriptionFacts
from sync.log.facts import read
from sync.log.hlc import newer
from sync.log.names import node_bytes

# A machine that was removed said what it said while it was one; what came later is cut off.
_SAID = (
    "SELECT said.person, said.field, said.node, said.facts, said.hlc FROM subscription AS said"
    " JOIN speaks_for ON speaks_for.node = said.node AND speaks_for.person = said.person"
    " JOIN node ON node.id = said.node WHERE speaks_for.live OR node.removed IS NOT NULL"
)


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What one person set, as it was signed."""

    agents: tuple[SubscriptionFacts, ...] = ()
    """The latest first."""
    muted_until: int | None = None
    quiet: QuietHours | None = None


def said(connection: sqlite3.Connection) -> dict[str, Said]:
    """Return what each person set: per field the last word of a node that may say it."""
    latest: dict[tuple[str, str], tuple[tuple[int, bytes], bytes]] = {}
    for person, field, node, facts, hlc in connection.execute(_SAID):
        stamp = (hlc, node_bytes(node))
        known = latest.get((person, field))
        if known is None or newer(stamp, known[0]):
            latest[person, field] = (stamp, facts)
    words: dict[str, list[SubscriptionFacts]] = {}
    for (person, _), (_, raw) in sorted(latest.items(), key=lambda item: item[1][0], reverse=True):
        words.setdefault(person, []).append(read(SubscriptionFacts, raw))
    return {person: _gathered(found) for person, found in words.items()}


def _gathered(found: Iterable[SubscriptionFacts]) -> Said:
    agents: list[SubscriptionFacts] = []
    muted_until: int | None = None
    quiet: QuietHours | None = None
    for facts in found:
        if facts.field == Field.AGENTS.value and facts.on is not None:
            agents.append(facts)
        elif facts.field == Field.MUTE.value and facts.until is not None:
            # Whoever said longer: a mute ends by itself.
            muted_until = min(facts.until, facts.at + MUTE_MAX_MS)
        elif facts.field == Field.QUIET.value:
            quiet = facts.quiet
    return Said(agents=tuple(agents[:SUBSCRIPTIONS]), muted_until=muted_until, quiet=quiet)


def settings_of(one: Said) -> Settings:
    """Return what is decided by; hours in a zone this machine does not know are not quiet."""
    return Settings(
        subscriptions=tuple(
            Subscription(
                agent=facts.agent, project=facts.project, machine=facts.machine, on=bool(facts.on)
            )
            for facts in one.agents
        ),
        muted_until=one.muted_until,
        quiet=_quiet(one.quiet),
    )


def _quiet(hours: QuietHours | None) -> QuietTime | None:
    zone = None if hours is None else zone_of(hours.zone)
    if hours is None or zone is None:
        return None
    return QuietTime(days=frozenset(hours.days), start=hours.start, end=hours.end, zone=zone)


def zone_of(name: str) -> ZoneInfo | None:
    """Return a time zone by its IANA name; None where this machine knows none of that name."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        # Also for what is no name at all: a path, a folder, nothing.
        return None


class Heard(NamedTuple):
    """What an open ask means for the viewer, and whether it calls nobody at all."""

    attention: Attention
    unheard: bool


class Attentive:
    """What everybody is called for, in one reading of one snapshot."""

    def __init__(self, connection: sqlite3.Connection, people: Mapping[str, Person]) -> None:
        self._connection = connection
        self.said = said(connection)
        self._settings = {person: settings_of(one) for person, one in self.said.items()}
        self._people = people
        self._with_machine: list[Person] | None = None

    def settings(self, person: str) -> Settings:
        """Return what a person set."""
        return self._settings.get(person, NOTHING_SAID)

    def means(self, person: Person, what: Asked, now: int) -> Attention:
        """Return what an open ask means for a person."""
        return attention(what, person, self.settings(person.id), now)

    def of(self, row: AskRow, viewer: Person | None, now: int) -> Heard:
        """Return what an ask means for the viewer; one that is not open calls nobody."""
        if row.state != AskState.WAITING.value:
            return Heard(CALLED, unheard=False)
        what = self._asked(row)
        means = CALLED if viewer is None else self.means(viewer, what, now)
        return Heard(means, unheard=bool(self._unheard(what, now)))

    def unheard(self, row: AskRow, now: int) -> list[tuple[Person, Attention]]:
        """Return those who may answer and are not called, where nobody is; else none."""
        waits = row.state == AskState.WAITING.value
        return self._unheard(self._asked(row), now) if waits else []

    def _unheard(self, what: Asked, now: int) -> list[tuple[Person, Attention]]:
        if not self._settings:
            return []
        if self._with_machine is None:
            self._with_machine = persons.with_machine(self._connection, self._people)
        known = [(person, self.settings(person.id)) for person in self._with_machine]
        count, others = called(what, known, now)
        return [] if count else others

    def _asked(self, row: AskRow) -> Asked:
        found = self._connection.execute(
            "SELECT at, role FROM escalation WHERE ask = ?", (row.id,)
        ).fetchone()
        at, to = found or (None, None)
        return asked(Columns(row.agent, row.project, row.home, row.role, at, to))


class Columns(NamedTuple):
    """What of an ask says whom it calls, as its columns have it."""

    agent: str
    project: str
    home: str
    role: str | None
    escalate_at: int | None
    escalate_to: str | None


def asked(columns: Columns) -> Asked:
    """Return what is decided by."""
    return Asked(
        agent=columns.agent,
        projects=(columns.project, project_name(columns.project)),
        machine=columns.home,
        role=columns.role,
        escalate_at=columns.escalate_at,
        escalate_to=columns.escalate_to,
    )


def why_unheard(connection: sqlite3.Connection, row: AskRow, now: int) -> str | None:
    """Return that nobody is called for an ask, and why; None where someone is."""
    if connection.execute("SELECT 1 FROM subscription").fetchone() is None:
        return None
    return unheard_reason(Attentive(connection, persons.everyone(connection)).unheard(row, now))


WHY = {
    Mode.NOT_SUBSCRIBED: "did not subscribe to this agent",
    Mode.MUTED: "muted everything for a while",
    Mode.QUIET: "has quiet hours",
}


def unheard_reason(others: list[tuple[Person, Attention]]) -> str | None:
    """Return that nobody is called, and why; None where someone is."""
    if not others:
        return None
    why = "; ".join(f"{person.name} {WHY[state.mode]}" for person, state in others[:3])
    more = f"; and {len(others) - 3} more" if len(others) > 3 else ""
    return f"nobody who may answer is called for it now ({why}{more}); it is seen on a look"
