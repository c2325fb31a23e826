"""Derive the tables again from the log, and say where the live ones differ."""

import sqlite3
from pathlib import Path

from node.store.connection import open_reader
from node.store.migrations import migrate
from node.store.projection import DERIVED, project
from sync.errors import AskmeshError
from sync.log.chain import EMPTY, Head, extend
from sync.log.entry import decode, sha256, verify
from sync.log.facts import GenesisFacts, read
from sync.log.kinds import STATEMENTS, EntryType

SHOWN = 5
"""Differing rows named for each table; more would bury the rest."""


def compare(home: Path) -> list[str]:
    """Return what differs between the live tables and the log ([]: nothing).

    Reads one snapshot of the live store through a read-only connection; each entry's
    hashes, signature and place in its chain are checked on the way.
    """
    live = open_reader(home)
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    try:
        live.execute("BEGIN")
        migrate(fresh, now=0)
        findings = _replay(live, fresh)
        for table in DERIVED:
            findings += _differences(live, fresh, table)
    finally:
        live.close()
        fresh.close()
    return findings


def _replay(live: sqlite3.Connection, fresh: sqlite3.Connection) -> list[str]:
    findings: list[str] = []
    heads: dict[tuple[bytes, int], Head] = {}
    keys: dict[bytes, bytes] = {}
    entries = live.execute(
        "SELECT n, hash, author, log, seq, type, header, signature, facts, text"
        " FROM entry ORDER BY n"
    )
    for n, stored, *copied, header, signature, facts, text in entries:
        try:
            entry = decode(header, signature, facts, text)
            author = entry.header.author
            if copied != [author, entry.header.log, entry.header.seq, entry.header.type]:
                findings.append(f"entry {n}: its columns are not what its header says")
            if entry.header.type == EntryType.GENESIS:
                key = read(GenesisFacts, facts).node_key
                keys[sha256(key)] = key
            if author in keys:
                verify(entry, keys[author])
            else:
                findings.append(f"entry {n}: its author is not a known node")
            if entry.hash != stored:
                findings.append(f"entry {n}: it is stored under a hash that is not its own")
            place = (author, entry.header.log)
            heads[place] = extend(heads.get(place, EMPTY), entry)
            if entry.header.type in STATEMENTS:
                # The fleet is settled from all of them at once.
                fresh.execute(
                    "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        n,
                        entry.header.fleet,
                        *(author, entry.header.log, entry.header.seq, entry.header.type),
                        *(entry.hash, header, signature, facts, text),
                    ),
                )
            project(fresh, entry, entry.hash, n)
        except AskmeshError as error:
            findings.append(f"entry {n}: {error.sentence}")
    return findings


def _differences(live: sqlite3.Connection, fresh: sqlite3.Connection, table: str) -> list[str]:
    sql = f"SELECT * FROM {table}"  # noqa: S608 -- names from DERIVED only
    here = set(live.execute(sql))
    derived = set(fresh.execute(sql))
    found = [f"{table}: not in the log: {_shown(row)}" for row in here - derived]
    found += [f"{table}: only in the log: {_shown(row)}" for row in derived - here]
    if len(found) > SHOWN:
        found[SHOWN:] = [f"{table}: and {len(found) - SHOWN} more rows"]
    return found


def _shown(row: tuple[object, ...]) -> str:
    return ", ".join(
        item.hex()[:12] if isinstance(item, bytes) else str(item)[:40] for item in row[:4]
    )
