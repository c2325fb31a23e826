"""The tables node, cut, person, speaks_for, rules, standing: the fleet as its statements settle.

They are rewritten from `entry` whenever a statement arrives, in whatever order that was.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from node.store import testimony
from sync.decide.membership import Membership, PersonState, as_of, counted, settle
from sync.decide.statements import Ordered, Stated, order, stated
from sync.errors import BadEntry
from sync.log.chain import EMPTY
from sync.log.entry import sha256
from sync.log.facts import RulesText, read_text
from sync.log.kinds import EntryType, Log
from sync.log.names import node_name

TABLES = (
    "node", "cut", "person", "speaks_for", "naming", "statement_head", "rules", "operator",
    "standing",
)  # fmt: skip
"""What `apply` rewrites."""
AS_OF_KEPT = 64
"""Fleets of other times kept at hand: finals come in runs that name the same statements."""

ROUNDS = 8
"""A removal that shows ends another log, which may hide one more: never so many in earnest."""

# Hashes cover all that comes before a statement, so what they name never changes: only where
# more was stated beyond a fork than is kept.
_as_of: dict[tuple[bytes, bytes | None, frozenset[bytes], frozenset[bytes]], Membership] = {}


def apply(connection: sqlite3.Connection, fleet: bytes) -> set[bytes]:
    """Bring the tables to what the stored statements of `fleet` say. Idempotent.

    Call it after the entry was stored. Returns the authors of whom stored entries count
    no more, or count again: what was derived from those must be derived anew.
    """
    before = _members(connection)
    membership = _nodes_settled(connection, fleet)
    _replace(connection, "person", _persons(connection, membership, fleet))
    _replace(connection, "speaks_for", _speaks_for(membership))
    _replace(connection, "naming", _namings(membership))
    _replace(connection, "statement_head", [(head,) for head in membership.heads])
    _end_sessions(connection, membership)
    _rules(connection, membership)
    _replace(connection, "operator", _operators(membership))
    _replace(connection, "standing", _standing(membership))
    now = _members(connection)
    return {
        node
        for node in before.keys() | now.keys()
        for old, new in [(before.get(node, {}), now.get(node, {}))]
        if old != new and _has_beyond(connection, fleet, node, old, new)
    }


def _nodes_settled(connection: sqlite3.Connection, fleet: bytes) -> Membership:
    """Settle, and bring the tables of nodes to that; again where some log ends anew by it.

    Beyond its end only so much is looked at as every node keeps.
    """
    membership = Membership()
    for _ in range(ROUNDS):
        begins = testimony.collect(connection, fleet)
        membership = settled(connection, fleet)
        _replace(connection, "node", _nodes(membership))
        _replace(connection, "cut", _cuts(membership))
        now = testimony.begins(connection, fleet)
        if all(seq >= begins.get(author, seq + 1) for author, seq in now.items()):
            break
    return membership


def settled(connection: sqlite3.Connection, fleet: bytes) -> Membership:
    """Return what the stored statements of `fleet` settle to."""
    return settle(
        _stated(connection, fleet),
        founder=_founder(connection, fleet),
        forked=_forked(connection, fleet),
        full=testimony.is_full(connection, fleet),
    )


def counting(connection: sqlite3.Connection, fleet: bytes) -> frozenset[bytes]:
    """Return the hashes of the stored statements of `fleet` that count."""
    return counted(
        _stated(connection, fleet),
        founder=_founder(connection, fleet),
        forked=_forked(connection, fleet),
    )


def ordered(connection: sqlite3.Connection, fleet: bytes) -> Ordered:
    """Return the stored statements, each after all that its author knew."""
    return order(_stated(connection, fleet), _forked(connection, fleet))


def settled_as_of(
    connection: sqlite3.Connection, fleet: bytes, heads: Iterable[bytes]
) -> Membership | None:
    """Return the fleet as of these statements; None while one of them is not here."""
    named = frozenset(heads)
    forked = _forked(connection, fleet)
    full = testimony.is_full(connection, fleet)
    if not full and not all(_is_here(connection, head) for head in named):
        return None
    founder = _founder(connection, fleet)
    key = (fleet, founder, named, frozenset(forked))
    known = None if full else _as_of.get(key)
    if known is None:
        known = as_of(_stated(connection, fleet), named, founder=founder, forked=forked, full=full)
        if known is not None and not full:
            if len(_as_of) >= AS_OF_KEPT:
                _as_of.clear()
            _as_of[key] = known
    return known


def heads(connection: sqlite3.Connection) -> list[bytes]:
    """Return the newest statements that count: what a statement and a final name."""
    return [
        bytes(head)
        for (head,) in connection.execute("SELECT hash FROM statement_head ORDER BY hash")
    ]


def counts(connection: sqlite3.Connection, author: bytes, log: int, seq: int) -> bool:
    """Whether an entry of `author` counts: a node of our fleet, not beyond a cut."""
    row = connection.execute(
        "SELECT removed, (SELECT seq FROM cut WHERE node = id AND log = ?) FROM node WHERE id = ?",
        (log, node_name(author)),
    ).fetchone()
    return row is not None and (row[0] is None or seq <= (row[1] or 0))


def _is_here(connection: sqlite3.Connection, statement: bytes) -> bool:
    return any(
        connection.execute(f"SELECT 1 FROM {table} WHERE hash = ?", (statement,)).fetchone()  # noqa: S608 -- names of ours
        for table in ("entry", "testimony")
    )


def _stated(connection: sqlite3.Connection, fleet: bytes) -> list[Stated]:
    """All statements: beyond the end of a log those that every node comes to keep, no others."""
    begins = testimony.begins(connection, fleet)
    rows = connection.execute(
        "SELECT hash, author, seq, type, facts FROM entry"
        " WHERE type < 16 AND fleet = ? AND log = ?",
        (fleet, Log.DECISIONS.value),
    ).fetchall()
    kept = [
        row
        for row in rows
        if row[3] == EntryType.GENESIS or row[2] < begins.get(row[1], row[2] + 1)
    ]
    kept += connection.execute(
        "SELECT hash, author, seq, type, facts FROM testimony WHERE fleet = ?", (fleet,)
    )
    return [
        one
        for entry_hash, author, seq, kind, facts in kept
        if (
            one := stated(
                hash=entry_hash, author=author, seq=seq, type=kind, facts=facts, fleet=fleet
            )
        )
    ]


def _founder(connection: sqlite3.Connection, fleet: bytes) -> bytes | None:
    """The author of the genesis that came first.

    Only a member's log is ever stored, and a node takes the statements of a fleet first
    from who let it in: whoever states another genesis later comes after the true one.
    """
    row = connection.execute(
        "SELECT author FROM entry WHERE type = ? AND type < 16 AND fleet = ? ORDER BY n LIMIT 1",
        (EntryType.GENESIS.value, fleet),
    ).fetchone()
    return None if row is None else bytes(row[0])


def _forked(connection: sqlite3.Connection, fleet: bytes) -> dict[bytes, tuple[bytes, int]]:
    return {
        sha256(header + signature): (author, seq)
        for author, seq, at_header, at_signature, header, signature in connection.execute(
            "SELECT author, seq, at_header, at_signature, header, signature FROM fork"
            " WHERE fleet = ? AND log = ?",
            (fleet, Log.DECISIONS.value),
        )
        for header, signature in ((at_header, at_signature), (header, signature))
    }


def _members(connection: sqlite3.Connection) -> dict[bytes, dict[int, int] | None]:
    """Every node with where its logs end; None: they do not."""
    ends: dict[bytes, dict[int, int] | None] = {}
    for node, removed in connection.execute("SELECT public_key, removed FROM node"):
        ends[sha256(node)] = None if removed is None else {}
    for node, log, seq in connection.execute(
        "SELECT public_key, log, seq FROM cut JOIN node ON node.id = cut.node"
    ):
        ends.setdefault(sha256(node), {})
        cut = ends[sha256(node)]
        if cut is not None:
            cut[log] = seq
    return ends


def _has_beyond(
    connection: sqlite3.Connection,
    fleet: bytes,
    author: bytes,
    *ends: dict[int, int] | None,
) -> bool:
    """Whether something stored lies beyond one of these ends (statements are settled here)."""
    return any(
        connection.execute(
            "SELECT 1 FROM entry WHERE fleet = ? AND author = ? AND log = ? AND seq > ?"
            " AND type >= 16",
            (fleet, author, log.value, cut.get(log, EMPTY.seq)),
        ).fetchone()
        for cut in ends
        if cut is not None
        for log in Log
    )


def _replace(
    connection: sqlite3.Connection, table: str, rows: Sequence[tuple[object, ...]]
) -> None:
    """Make a table hold just these rows, touching only what differs."""
    have = set(connection.execute(f"SELECT * FROM {table}"))  # noqa: S608 -- names of ours
    want = set(rows)
    keys = _KEYS[table]
    for row in have - want:
        where = " AND ".join(f"{key} = ?" for key in keys)
        connection.execute(
            f"DELETE FROM {table} WHERE {where}",  # noqa: S608 -- names of ours
            row[: len(keys)],
        )
    if want - have:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(
            f"INSERT INTO {table} VALUES ({marks})",  # noqa: S608 -- names of ours
            list(want - have),
        )


_KEYS = {
    "node": ("id",),
    "cut": ("node", "log"),
    "person": ("id",),
    "speaks_for": ("node", "person"),
    "naming": ("node", "person"),
    "statement_head": ("hash",),
    "operator": ("key",),
    "standing": ("person", "source"),
}
"""The key of each table: its first columns."""


def _nodes(membership: Membership) -> list[tuple[object, ...]]:
    return [
        (
            node_name(node.id),
            node.public_key,
            node.name,
            node.certificate,
            node.recovery_key,
            node.joined,
            node.removed.at if node.removed else None,
            node.removed.by if node.removed else None,
            node_name(node.removed.on) if node.removed else None,
        )
        for node in membership.nodes.values()
    ]


def _cuts(membership: Membership) -> list[tuple[object, ...]]:
    return [
        (node_name(node.id), log, head.seq, head.hash)
        for node in membership.nodes.values()
        for log, head in node.cut.items()
    ]


def _persons(
    connection: sqlite3.Connection, membership: Membership, fleet: bytes
) -> list[tuple[object, ...]]:
    """The persons of our fleet; those of fleets that this node left as ended, for names."""
    known: dict[str, PersonState] = {}
    left = connection.execute(
        "SELECT fleet FROM entry WHERE type = ? AND type < 16 AND fleet != ? GROUP BY fleet"
        " ORDER BY min(n)",
        (EntryType.GENESIS.value, fleet),
    ).fetchall()
    for (other,) in left:
        known |= settled(connection, other).persons
    ended = known.keys() - membership.persons.keys()
    known |= membership.persons
    return [
        (
            one.id,
            one.name,
            one.role,
            int(one.ended or one.id in ended),
            one.heads[0],
            one.at,
            int(one.split),
        )
        for one in known.values()
    ]


def _speaks_for(membership: Membership) -> list[tuple[object, ...]]:
    return [
        (node_name(one.node), one.person, int(one.live), one.heads[0], int(one.split))
        for one in membership.speaks_for.values()
    ]


def _operators(membership: Membership) -> list[tuple[object, ...]]:
    return [
        (one.key, one.name, int(one.live), one.by, one.at, _hashes(one.heads))
        for one in membership.operators
    ]


def _standing(membership: Membership) -> list[tuple[object, ...]]:
    return [
        (
            one.person or "",
            one.source,
            one.level.value,
            one.remedy,
            one.reason,
            one.serial,
            one.by,
            one.at,
            int(one.counts),
            _hashes(one.heads),
        )
        for one in membership.said
    ]


def _hashes(heads: Iterable[bytes]) -> str:
    return json.dumps([head.hex() for head in heads])


def _namings(membership: Membership) -> list[tuple[object, ...]]:
    return [
        (node_name(one.node), one.person, one.named, one.by, one.at) for one in membership.waiting
    ]


def _end_sessions(connection: sqlite3.Connection, membership: Membership) -> None:
    """Who is ended has no session on any machine, also not once they are back."""
    ended = [(one.id,) for one in membership.persons.values() if one.ended]
    connection.executemany("DELETE FROM person_session WHERE person = ?", ended)


def _rules(connection: sqlite3.Connection, membership: Membership) -> None:
    """As `_replace`, but without reading the sources of all versions there ever were."""
    have = set(
        connection.execute("SELECT entry, place, in_force, name, version, person, at FROM rules")
    )
    want = {
        (one.hash, place, int(one.in_force), one.name, one.version, one.by, one.at)
        for place, one in enumerate(membership.rules, start=1)
    }
    connection.executemany("DELETE FROM rules WHERE entry = ?", [row[:1] for row in have - want])
    connection.executemany(
        "INSERT INTO rules (entry, place, in_force, name, version, person, at, source)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(*row, _source(connection, row[0])) for row in want - have],
    )


def _source(connection: sqlite3.Connection, entry_hash: bytes) -> str:
    (text,) = connection.execute(
        "SELECT text FROM entry WHERE hash = ?1 UNION ALL SELECT text FROM testimony"
        " WHERE hash = ?1",
        (entry_hash,),
    ).fetchone()
    try:
        words = read_text(RulesText, text)
    except BadEntry:
        return ""
    return "" if words is None else words.source
