"""The versions of the rules there were: who put which into force, when, where, instead of what."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from node import limits
from node.gate.diff import unified
from node.gate.rules import version_of
from sync.errors import BadEntry, Conflict, NotFound
from sync.log.facts import RulesFacts, read
from sync.log.names import node_name
from web.rules_messages import OneVersion, RulesHistory
from web.rules_views import RulesSibling, RulesVersion

VERSIONS: Final = (
    "SELECT rules.entry, rules.name, source, coalesce(person.name, rules.person), rules.at,"
    " in_force, author, facts FROM rules JOIN entry ON entry.hash = rules.entry"
    " LEFT JOIN person ON person.id = rules.person"
)


FIRST_NAME: Final = "rules"
"""What stands at the top of a difference where there were no rules before."""


class Kept(NamedTuple):
    """One version as it is stored."""

    entry: bytes
    name: str
    source: str
    by: str
    at: int
    in_force: int
    author: bytes
    facts: bytes

    @property
    def version(self) -> str:
        """Of the text that is there: what its author said of it is not asked."""
        return version_of(self.source)

    @property
    def followed(self) -> list[bytes]:
        """The entries it took the place of."""
        try:
            facts = read(RulesFacts, self.facts)
        except BadEntry:
            return []
        return [*([facts.replaces] if facts.replaces else []), *facts.also]


class Text(NamedTuple):
    """A version by its name and its text."""

    name: str
    source: str


def history(connection: sqlite3.Connection) -> RulesHistory:
    """The latest versions, and whether there were more."""
    most = limits.RULES_HISTORY
    rows = connection.execute(f"{VERSIONS} ORDER BY place DESC LIMIT ?", (most + 1,))
    found = [Kept(*row) for row in rows]
    machines = _machines(connection)
    versions = [_version(connection, machines, kept) for kept in found[:most]]
    return RulesHistory(versions=versions, more=len(found) > most)


def one(connection: sqlite3.Connection, named: str) -> OneVersion:
    """The version that begins so, or its entry; of the same text the latest.

    Raises `NotFound`, and `Conflict` where different texts begin so.
    """
    found = [kept for kept in _every(connection) if _is(kept, named)]
    if not found:
        raise NotFound(
            f"There is no version {named:.64} of the rules here.",
            hint="`askmesh rules history` lists the versions there were.",
        )
    if len({kept.version for kept in found}) > 1:
        raise Conflict(
            f"Several versions of the rules begin with {named:.64}.",
            hint="Give more of its characters.",
        )
    kept = found[0]
    return OneVersion(
        version=_version(connection, _machines(connection), kept),
        source=kept.source,
        changes=changes(_before(connection, kept), kept.source),
    )


def siblings(connection: sqlite3.Connection) -> list[RulesSibling]:
    """All that are in force, latest first: more than one where people applied at once."""
    machines = _machines(connection)
    rows = connection.execute(f"{VERSIONS} WHERE in_force ORDER BY place DESC")
    return [
        RulesSibling(
            id=kept.entry.hex(),
            name=kept.name,
            version=kept.version,
            applied_at=kept.at,
            applied_by=kept.by,
            machine=_machine(machines, kept),
            source=kept.source,
        )
        for kept in map(Kept._make, rows)
    ]


def changes(before: Iterable[Text], after: str) -> str:
    """What is another in a text than in those before it, as unified diffs; empty: nothing.

    In bounded time, so that no text of a peer can keep a machine busy.
    """
    texts = list(before)
    if not texts:
        return unified("", after, FIRST_NAME, new=True) if after else ""
    different = (text for text in texts if text.source != after)
    return "".join(unified(text.source, after, text.name, new=False) for text in different)


def _every(connection: sqlite3.Connection) -> Iterator[Kept]:
    return map(Kept._make, connection.execute(f"{VERSIONS} ORDER BY place DESC"))


def _is(kept: Kept, named: str) -> bool:
    return kept.version.startswith(named) or kept.entry.hex().startswith(named)


def _before(connection: sqlite3.Connection, kept: Kept) -> list[Text]:
    found: list[Text] = []
    for entry in kept.followed:
        row = connection.execute("SELECT source FROM rules WHERE entry = ?", (entry,)).fetchone()
        if row is not None:
            found.append(Text(f"version {version_of(row[0])}", str(row[0])))
    return found


def _version(connection: sqlite3.Connection, machines: dict[str, str], kept: Kept) -> RulesVersion:
    before = _before(connection, kept)
    old = Counter(line for text in before[:1] for line in text.source.splitlines())
    new = Counter(kept.source.splitlines())
    return RulesVersion(
        id=kept.entry.hex(),
        version=kept.version,
        name=kept.name,
        applied_at=kept.at,
        applied_by=kept.by,
        machine=_machine(machines, kept),
        in_force=bool(kept.in_force),
        replaces=[version_of(text.source) for text in before],
        added=(new - old).total(),
        removed=(old - new).total(),
    )


def _machines(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT id, name FROM node"))


def _machine(machines: dict[str, str], kept: Kept) -> str:
    node = node_name(kept.author)
    return machines.get(node, node[:4])
