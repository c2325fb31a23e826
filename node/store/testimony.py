"""Statements beyond the end of their author's log: every node keeps and tells the same ones.

From its fork on, and beyond the cut of a removal, a log is no chain that all nodes hold, so
what was stated there travels by itself. Of each author only the lowest by `rank` stay:
whoever has its key could fill the disk.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence

from sync.decide.statements import rank
from sync.limits import BEYOND_FORK
from sync.log.entry import Entry, decode, sha256, verify
from sync.log.kinds import EntryType, Log
from sync.wire.testimony import Said

STATEMENTS_TO = 16
"""Types below say who belongs to the fleet, and its rules."""
_KEPT = f"type > {EntryType.GENESIS.value} AND type < {STATEMENTS_TO}"
_RANK = f"type != {EntryType.REMOVED.value}, seq, hash"
"""As `sync.decide.statements.rank`."""
_COLUMNS = "hash, fleet, author, seq, type, header, signature, facts, text"
_COLLECT = (
    f"INSERT OR IGNORE INTO testimony SELECT {_COLUMNS} FROM entry"  # noqa: S608 -- constants
    f" WHERE fleet = ? AND author = ? AND log = {Log.DECISIONS.value} AND seq >= ? AND {_KEPT}"
)
_PRUNE = (
    "DELETE FROM testimony WHERE fleet = ?1 AND author = ?2 AND hash NOT IN (SELECT hash"  # noqa: S608 -- constants
    f" FROM testimony WHERE fleet = ?1 AND author = ?2 ORDER BY {_RANK} LIMIT ?3)"
)
_LAST = (
    f"SELECT type, seq, hash FROM testimony WHERE fleet = ? AND author = ? ORDER BY {_RANK}"  # noqa: S608 -- constants
    " LIMIT 1 OFFSET ?"
)


def begins(connection: sqlite3.Connection, fleet: bytes) -> dict[bytes, int]:
    """Return, by author, the first number of its decisions log that is testimony.

    It is disputed, or lies beyond a cut: there it counts no more, but others may name it.
    """
    found = {
        bytes(author): int(seq)
        for author, seq in connection.execute(
            "SELECT author, min(seq) FROM fork WHERE fleet = ? AND log = ? GROUP BY author",
            (fleet, Log.DECISIONS.value),
        )
    }
    # The tables are of the fleet that this node belongs to.
    for key, last in connection.execute(
        "SELECT public_key, (SELECT seq FROM cut WHERE node = id AND log = ?) FROM node"
        " WHERE removed IS NOT NULL AND ? = (SELECT value FROM local WHERE name = 'fleet')",
        (Log.DECISIONS.value, fleet),
    ):
        author, seq = sha256(key), (last or 0) + 1
        found[author] = min(seq, found.get(author, seq))
    return found


def collect(connection: sqlite3.Connection, fleet: bytes) -> dict[bytes, int]:
    """Keep what is stored here beyond the ends of logs as testimony; return where it begins.

    Idempotent.
    """
    start = begins(connection, fleet)
    for author, seq in start.items():
        connection.execute(_COLLECT, (fleet, author, seq))
        _prune(connection, fleet, author)
    return start


def keep(
    connection: sqlite3.Connection,
    fleet: bytes,
    entries: Sequence[Entry],
    key_of: Callable[[bytes], bytes | None],
) -> Iterator[Entry]:
    """Keep what other nodes told, and yield what is new; passes over what does not belong here.

    Raises `BadEntry` at the first that its author did not sign: a sound peer has checked it.
    """
    start = begins(connection, fleet)
    for entry in entries:
        header = entry.header
        if (
            (header.fleet, header.log) != (fleet, Log.DECISIONS.value)
            or not EntryType.GENESIS < header.type < STATEMENTS_TO
            or header.seq < start.get(header.author, header.seq + 1)
            or not _is_wanted(connection, entry)
        ):
            continue
        key = key_of(header.author)
        if key is None:
            continue
        verify(entry, key)
        _insert(connection, entry)
        _prune(connection, fleet, header.author)
        yield entry


def _is_wanted(connection: sqlite3.Connection, entry: Entry) -> bool:
    """Whether it is new, and among the lowest. Looked at before its signature is."""
    header, entry_hash = entry.header, entry.hash
    if connection.execute("SELECT 1 FROM testimony WHERE hash = ?", (entry_hash,)).fetchone():
        return False
    last = connection.execute(_LAST, (header.fleet, header.author, BEYOND_FORK - 1)).fetchone()
    return last is None or rank(header.type, header.seq, entry_hash) < rank(*last)


def _insert(connection: sqlite3.Connection, entry: Entry) -> None:
    header = entry.header
    connection.execute(
        "INSERT INTO testimony VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            entry.hash,
            header.fleet,
            header.author,
            header.seq,
            header.type,
            entry.raw,
            entry.signature,
            entry.facts,
            entry.text,
        ),
    )


def _prune(connection: sqlite3.Connection, fleet: bytes, author: bytes) -> None:
    (count,) = connection.execute(
        "SELECT count(*) FROM testimony WHERE fleet = ? AND author = ?", (fleet, author)
    ).fetchone()
    if count > BEYOND_FORK:
        connection.execute(_PRUNE, (fleet, author, BEYOND_FORK))


def is_full(connection: sqlite3.Connection, fleet: bytes) -> bool:
    """Whether more may have been stated beyond the end of some log than is kept."""
    return (
        connection.execute(
            "SELECT 1 FROM testimony WHERE fleet = ? GROUP BY author HAVING count(*) >= ?",
            (fleet, BEYOND_FORK),
        ).fetchone()
        is not None
    )


def said(connection: sqlite3.Connection, fleet: bytes) -> dict[bytes, frozenset[Said]]:
    """Return what is kept of each author whose decisions log forked, or ended by a removal."""
    found: dict[bytes, set[Said]] = {author: set() for author in begins(connection, fleet)}
    for author, kind, seq, entry_hash in connection.execute(
        "SELECT author, type, seq, hash FROM testimony WHERE fleet = ?", (fleet,)
    ):
        if author in found:
            found[author].add(rank(kind, seq, entry_hash))
    return {author: frozenset(kept) for author, kept in found.items()}


def read(
    connection: sqlite3.Connection, fleet: bytes, hashes: Iterable[bytes], *, size: int
) -> list[Entry]:
    """Return these of them, as far as they are here: about `size` bytes, but one."""
    found: list[Entry] = []
    used = 0
    for one in hashes:
        row = connection.execute(
            "SELECT header, signature, facts, text FROM testimony WHERE hash = ? AND fleet = ?",
            (one, fleet),
        ).fetchone()
        if row is None:
            continue
        used += sum(len(part or b"") for part in row)
        if found and used > size:
            break
        found.append(decode(*row))
    return found
