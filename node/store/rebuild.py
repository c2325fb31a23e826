"""Derive the tables again from the log, and say where the live ones differ."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from node.store import derive, erasing, introduced, membership_tables
from node.store.connection import open_reader
from node.store.migrations import migrate
from node.store.projection import DERIVED, project
from sync.errors import AskmeshError, BadEntry
from sync.log.chain import EMPTY, Head, extend
from sync.log.entry import Entry, decode, sha256, unpack, verify
from sync.log.facts import GenesisFacts, MemberFacts, read
from sync.log.kinds import EntryType

NOT_IN_THE_LOG = ("local", "fleet_left", "ask_alias", "held", "fork", "testimony")
"""What the derived tables rest on besides the log."""
KEYS_IN: dict[EntryType, type[GenesisFacts] | type[MemberFacts]] = {
    EntryType.GENESIS: GenesisFacts,
    EntryType.MEMBER: MemberFacts,
}
"""The statements that name a node's key."""
TOLD_EVERY = 1_000
"""Entries between two words on how far it is."""
SHOWN = 5
"""Differing rows named for each table; more would bury the rest."""


def compare(home: Path) -> list[str]:
    """Return what differs between the live tables and the log ([]: nothing).

    Reads one snapshot of the live store through a read-only connection; each entry's
    hashes, signature and place in its chain are checked on the way.
    """
    live = open_reader(home)
    try:
        live.execute("BEGIN")
        return differences(live)
    finally:
        live.close()


def differences(
    live: sqlite3.Connection,
    *,
    checked: bool = True,
    told: Callable[[int], None] = lambda _count: None,
) -> list[str]:
    """As `compare`, over a connection that is open (`checked`: the entries as well).

    `told` hears now and then how many entries were applied.
    """
    # A file of its own that nobody else sees: tables of a large store need not fit into memory.
    fresh = sqlite3.connect("", isolation_level=None)
    try:
        migrate(fresh, now=0)
        for table in NOT_IN_THE_LOG:
            _copy(live, fresh, table, "")
        # The fleets are settled from all their statements at once.
        _copy(live, fresh, "entry", "WHERE type < 16")
        findings = _Replay(live, fresh, checked=checked).findings(told)
        for table in (*DERIVED, "about"):
            findings += _differences(live, fresh, table)
    finally:
        fresh.close()
    return findings


def keys_of(connection: sqlite3.Connection) -> dict[bytes, bytes]:
    """Return every key that a statement names, by node id.

    All of them at once: an author may come before who let it in.
    """
    keys: dict[bytes, bytes] = {}
    for kind, reads in KEYS_IN.items():
        for (facts,) in connection.execute(
            "SELECT facts FROM entry WHERE type = ?1 AND type < 16"
            " UNION ALL SELECT facts FROM testimony WHERE type = ?1",
            (kind.value,),
        ):
            with contextlib.suppress(BadEntry):
                key = read(reads, facts).node_key
                keys[sha256(key)] = key
    return keys | {one.node: one.public_key for one in introduced.listed(connection)}


def _copy(live: sqlite3.Connection, fresh: sqlite3.Connection, table: str, where: str) -> None:
    rows = live.execute(f"SELECT * FROM {table} {where}")  # noqa: S608 -- names of ours
    marks = ", ".join("?" * len(rows.description))
    fresh.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608 -- ours


class _Replay:
    """The log, checked entry by entry and applied to a fresh store."""

    def __init__(
        self, live: sqlite3.Connection, fresh: sqlite3.Connection, *, checked: bool
    ) -> None:
        self._live = live
        self._fresh = fresh
        self._checked = checked
        self._heads: dict[tuple[bytes, bytes, int], Head] = {}
        self._keys: dict[bytes, bytes] = {}
        self._fleet = derive.fleet_of(fresh)

    def findings(self, told: Callable[[int], None]) -> list[str]:
        """Apply the whole log; return what is wrong with it."""
        fresh = self._fresh
        membership_tables.apply(fresh, self._fleet)
        self._keys = keys_of(fresh)
        ends = derive.ends_of_all(fresh, self._fleet)
        held = derive.held(fresh)
        found: list[str] = []
        for count, row in enumerate(
            self._live.execute(
                "SELECT n, hash, fleet, author, log, seq, type, header, signature, facts, text"
                " FROM entry ORDER BY n"
            )
        ):
            n = row[0]
            try:
                entry = self._entry(row, found)
                erasing.note(fresh, [entry], after=n - 1)
                if n not in held and ends.count(entry):
                    project(fresh, entry, entry.hash, n)
            except AskmeshError as error:
                if self._checked:
                    found.append(f"entry {n}: {error.sentence}")
            if count % TOLD_EVERY == 0:
                told(count)
        derive.close_left(fresh)
        fresh.executemany(
            "INSERT INTO head VALUES (?, ?, ?, ?)",
            [
                (author, log, head.seq, head.hash)
                for (fleet, author, log), head in self._heads.items()
                if fleet == self._fleet
            ],
        )
        return found

    def _entry(self, row: Sequence[Any], found: list[str]) -> Entry:
        """Return a stored entry; adds what is wrong with it. Raises `AskmeshError`."""
        n, stored, *copied, header, signature, facts, text = row
        if not self._checked:
            entry = Entry(
                header=unpack(header), raw=header, signature=signature, facts=facts, text=text
            )
            place = (entry.header.fleet, entry.header.author, entry.header.log)
            self._heads[place] = Head(seq=entry.header.seq, hash=stored)
            return entry
        entry = decode(header, signature, facts, text)
        found += [f"entry {n}: {wrong}" for wrong in self._wrong(entry, stored, copied)]
        return entry

    def _wrong(self, entry: Entry, stored: bytes, copied: Sequence[object]) -> list[str]:
        """Return what is wrong with an entry and its place. Raises `BadEntry`."""
        header, wrong = entry.header, list[str]()
        said = [header.fleet, header.author, header.log, header.seq, header.type]
        if list(copied) != said:
            wrong.append("its columns are not what its header says")
        if header.author in self._keys:
            verify(entry, self._keys[header.author])
        else:
            wrong.append("its author is not a known node")
        if entry.hash != stored:
            wrong.append("it is stored under a hash that is not its own")
        place = (header.fleet, header.author, header.log)
        self._heads[place] = extend(self._heads.get(place, EMPTY), entry)
        return wrong


def _differences(live: sqlite3.Connection, fresh: sqlite3.Connection, table: str) -> list[str]:
    here, derived = _prints(live, table), _prints(fresh, table)
    found = [
        f"{table}: not in the log: {_shown(row)}" for row in _rows(live, table, here - derived)
    ]
    found += [
        f"{table}: only in the log: {_shown(row)}" for row in _rows(fresh, table, derived - here)
    ]
    count = len(here ^ derived)
    if count > SHOWN:
        found[SHOWN:] = [f"{table}: and {count - SHOWN} more rows"]
    return found


def _prints(connection: sqlite3.Connection, table: str) -> set[bytes]:
    """One mark for each row: the rows of a large store would not fit into memory."""
    sql = f"SELECT * FROM {table}"  # noqa: S608 -- names from DERIVED only
    return {_print(row) for row in connection.execute(sql)}


def _print(row: tuple[object, ...]) -> bytes:
    return sha256(repr(row).encode("utf-8", "surrogatepass"))


def _rows(
    connection: sqlite3.Connection, table: str, marks: set[bytes]
) -> Iterator[tuple[object, ...]]:
    """Some of the rows with these marks, enough to be named."""
    sql = f"SELECT * FROM {table}"  # noqa: S608 -- names from DERIVED only
    if marks:
        yield from islice(
            (row for row in connection.execute(sql) if _print(row) in marks), SHOWN + 1
        )


def _shown(row: tuple[object, ...]) -> str:
    return ", ".join(
        item.hex()[:12] if isinstance(item, bytes) else str(item)[:40] for item in row[:4]
    )
