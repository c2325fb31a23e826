"""Which lines are wanted, and in which order they come: the latest first, a page at a time.

Asks are read from an index in the order of their closing, so a long past costs nothing;
what is said about the fleet itself is little.
"""

import contextlib
import heapq
import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from sync.decide.ask import AskState
from sync.decide.name import is_called
from sync.errors import Invalid, NotFound
from sync.log.entry import sha256
from sync.log.kinds import EntryType
from sync.log.names import node_name
from web.audit_views import AuditWanted
from web.limits import AUDIT_STARS

FIRST: Final = -(1 << 63)
LAST: Final = (1 << 63) - 1
"""The moments that a store can keep; what is said to be of another one counts as of these."""
BEYOND: Final = "\x7f"
"""Sorts after every id."""
SHORTEST: Final = 4
"""Characters of a machine's id that name it."""
_PLACE: Final = re.compile(r"(-?[0-9]{1,19})\.([0-9a-z-]{1,80})")

Place = tuple[int, str]
"""A line's time and its id."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What lines have to fit, with persons and machines by their ids."""

    since: int = FIRST
    until: int = LAST + 1
    agent: str | None = None
    """As `GLOB` takes it."""
    persons: frozenset[str] | None = None
    rule: str | None = None
    machine: str | None = None
    outcome: str | None = None
    decisions: bool = True
    changes: bool = True


class Key(NamedTuple):
    """Where a line stands: its time, its id, and whether it is an ask."""

    at: int
    ref: str
    ask: bool


class _Common(msgspec.Struct, frozen=True):
    """What of a statement's facts says where it belongs."""

    at: int = 0
    by: str | None = None
    person: str | None = None
    node: str | None = None
    node_key: str | None = None


_common = msgspec.json.Decoder(_Common)


def wanted(connection: sqlite3.Connection, said: AuditWanted) -> Wanted:
    """Find out who and what is meant. Raises `NotFound` for what nobody knows, `Invalid`."""
    for name, value in msgspec.structs.asdict(said).items():
        if isinstance(value, str) and any("\ud800" <= one <= "\udfff" for one in value):
            raise Invalid(f"{name} holds half of a character (a lone surrogate).")
    narrow = said.agent is not None or said.rule is not None or said.outcome is not None
    return Wanted(
        since=FIRST if said.since is None else max(FIRST, min(said.since, LAST)),
        until=LAST + 1 if said.until is None else max(FIRST + 1, min(said.until, LAST + 1)),
        agent=None if said.agent is None else _pattern(said.agent),
        persons=None if said.person is None else _persons(connection, said.person),
        rule=said.rule,
        machine=None if said.machine is None else machine_named(connection, said.machine),
        outcome=said.outcome,
        decisions=said.only != "changes",
        # What says no agent, no rule and no outcome fits none.
        changes=said.only != "decisions" and not narrow,
    )


def _pattern(typed: str) -> str:
    if typed.count("*") > AUDIT_STARS:
        raise Invalid(
            f"A pattern of agents has at most {AUDIT_STARS} times *.", hint="Leave some out."
        )
    return typed.replace("[", "[[]")


def _persons(connection: sqlite3.Connection, typed: str) -> frozenset[str]:
    """Return everyone who is meant: a name may be that of several."""
    found = {
        str(person)
        for person, name in connection.execute("SELECT id, name FROM person")
        if person == typed or is_called(typed, name)
    }
    if not found:
        raise NotFound(f"There is nobody called {typed[:80]!r}.", hint="See: askmesh people list")
    return frozenset(found)


def machine_named(connection: sqlite3.Connection, typed: str) -> str:
    """Return the id of a machine by its name, short or full id. Raises `NotFound`, `Invalid`."""
    found = connection.execute(
        "SELECT id FROM node WHERE id = ?1 OR name = ?1"
        " OR (length(?1) >= ?2 AND substr(id, 1, length(?1)) = ?1) LIMIT 2",
        (typed, SHORTEST),
    ).fetchall()
    if not found:
        raise NotFound(f"No machine is called {typed[:80]!r}.", hint="See: askmesh node list")
    if len(found) > 1:
        raise Invalid(f"{typed[:80]!r} names several machines.", hint="Give the id of one.")
    return str(found[0][0])


def place_of(key: Key) -> str:
    """Return what the next page begins behind."""
    return f"{key.at}.{key.ref}"


def place(text: str) -> Place:
    """Read what `place_of` gave. Raises `Invalid`."""
    found = _PLACE.fullmatch(text)
    if found is None or not FIRST <= int(found[1]) <= LAST:
        raise Invalid("That is no place in an audit.", hint="Begin again without `before`.")
    return int(found[1]), found[2]


def keys(
    connection: sqlite3.Connection, what: Wanted, before: Place | None, limit: int
) -> list[Key]:
    """Return the keys of the next lines behind `before` (None: from the latest on)."""
    end = min(before or (LAST, BEYOND), (what.until - 1, BEYOND))
    sources: list[Iterable[Key]] = []
    if what.decisions:
        sources += [asks(connection, what, which, end, limit) for which in (CLOSED, WAITING)]
    if what.changes:
        said = [key for key in _statements(connection, what) if key[:2] < end]
        sources.append(sorted(said, reverse=True))
    merged = heapq.merge(*sources, reverse=True)
    return [key for key, _ in zip(merged, range(limit), strict=False)]


CLOSED: Final = ("closed", "closed IS NOT NULL")
WAITING: Final = ("created", f"state = '{AskState.WAITING.value}'")
"""What is open counts from when it was raised."""


def asks(
    connection: sqlite3.Connection, what: Wanted, which: tuple[str, str], end: Place, limit: int
) -> list[Key]:
    """Return the keys of those asks that fit, latest first: `CLOSED` or `WAITING`."""
    sql, values = query(what, *which)
    found = connection.execute(sql, {**values, "at": end[0], "ref": end[1], "limit": limit})
    return [Key(at, ask, ask=True) for at, ask in found]


_BY_OUTCOME: Final = {
    "waiting": f"state = '{AskState.WAITING.value}'",
    "void": f"state = '{AskState.VOID.value}'",
    "unclear": "unclear",
}
"""What is no outcome of a final, and can be asked for like one."""
_DECIDED: Final = "outcome = :outcome AND NOT unclear"
"""What went back as unclear is signed as a denial or as declined, and is neither."""


def query(what: Wanted, column: str, where: str) -> tuple[str, dict[str, str | int]]:
    """Return the SQL that finds those asks, and what of it comes from outside."""
    conditions = [where, f"({column}, id) < (:at, :ref)", f"{column} >= :since"]
    values: dict[str, str | int] = {"since": what.since}
    if what.agent is not None:
        conditions.append("agent GLOB :agent")
        values["agent"] = what.agent
    if what.rule is not None:
        # A version names each file that counted: the account's rules, and a repository's.
        conditions.append(
            "(rule_name = :rule OR instr('+' || rule_version || '+', '+' || :rule || '+'))"
        )
        values["rule"] = what.rule
    if what.outcome is not None:
        conditions.append(_BY_OUTCOME.get(what.outcome, _DECIDED))
        values["outcome"] = what.outcome
    if what.persons is not None:
        conditions.append(
            "EXISTS (SELECT 1 FROM vote WHERE vote.ask = ask.id"
            " AND person IN (SELECT value FROM json_each(:persons)))"
        )
        values["persons"] = msgspec.json.encode(sorted(what.persons)).decode()
    if what.machine is not None:
        conditions.append(
            "(home = :machine"
            " OR EXISTS (SELECT 1 FROM vote WHERE vote.ask = ask.id AND node = :machine))"
        )
        values["machine"] = what.machine
    sql = (
        f"SELECT {column}, id FROM ask WHERE {' AND '.join(conditions)}"  # noqa: S608 -- ours
        f" ORDER BY {column} DESC, id DESC LIMIT :limit"
    )
    return sql, values


SAID: Final = (
    f"SELECT hash, author, facts FROM entry WHERE type < 16 AND type != {EntryType.CERTIFICATE:d}",  # noqa: S608 -- ours
    f"SELECT hash, author, facts FROM testimony WHERE type != {EntryType.CERTIFICATE:d}"  # noqa: ISC004, S608 -- ours
    " AND NOT EXISTS (SELECT 1 FROM entry WHERE entry.hash = testimony.hash)",
    "SELECT hash, author, facts FROM entry JOIN redaction USING (hash)",
)
"""Where everything lies that is said about the fleet, and what owners had erased."""


def _statements(connection: sqlite3.Connection, what: Wanted) -> Iterator[Key]:
    for sql in SAID:
        for entry_hash, author, facts in connection.execute(sql):
            try:
                said = _common.decode(facts)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                said = _Common()
            at = max(FIRST, min(said.at, LAST))
            if what.since <= at < what.until and fits(what, author, said):
                yield Key(at, entry_hash.hex(), ask=False)


def fits(what: Wanted, author: bytes, said: _Common) -> bool:
    """Whether something said about the fleet is about who and what is wanted."""
    if what.persons is not None and not {said.by, said.person} & what.persons:
        return False
    return what.machine is None or what.machine in _machines(author, said)


def _machines(author: bytes, said: _Common) -> set[str]:
    """The machine that signed, and the one it is about."""
    found = {author}
    with contextlib.suppress(msgspec.ValidationError):
        if said.node is not None:
            found.add(msgspec.convert(said.node, bytes))
        if said.node_key is not None:
            found.add(sha256(msgspec.convert(said.node_key, bytes)))
    return {node_name(one) for one in found}
