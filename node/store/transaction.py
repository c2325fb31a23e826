"""One job's view of the store: reading, appending to our own log, numbering changes."""

import sqlite3
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from node.store import membership_tables
from node.store.projection import project
from sync import limits
from sync.errors import StoreError
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry, NodeKey, seal
from sync.log.facts import NoText, Part, Statement, pack_facts, pack_text
from sync.log.hlc import tick
from sync.log.kinds import EntryType, log_of
from sync.log.names import node_name

Value = bytes | str | int | None
"""What a statement takes."""

_NO_TEXT = NoText()


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What a node signs with and for."""

    key: NodeKey
    fleet: bytes

    @property
    def name(self) -> str:
        """The node's id as text."""
        return node_name(self.key.node_id)


class Transaction:
    """One whole job; it commits with its group or leaves no trace."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        identity: Identity,
        now: int,
        wall: int,
        random: Callable[[int], bytes],
    ) -> None:
        self.connection = connection
        self.identity = identity
        self.now = now
        self.wall = wall
        self.random = random
        self.changes: list[tuple[int, str, str]] = []
        self.erases = False
        """Set by a job that removed a secret: its old pages go from the disk as well."""

    def row(self, sql: str, *values: Value) -> Any:  # noqa: ANN401 -- columns have no static type
        """Return the first row, or None."""
        return self.connection.execute(sql, values).fetchone()

    def rows(self, sql: str, *values: Value) -> list[Any]:
        """Return all rows."""
        return self.connection.execute(sql, values).fetchall()

    def run(self, sql: str, *values: Value) -> int:
        """Run a statement; return how many rows it changed."""
        return self.connection.execute(sql, values).rowcount

    def value(self, name: str) -> bytes | None:
        """Return one of this node's own values."""
        row = self.row("SELECT value FROM local WHERE name = ?", name)
        return None if row is None else bytes(row[0])

    def keep(self, name: str, value: bytes | None) -> None:
        """Set (None: remove) one of this node's own values."""
        if value is None:
            self.run("DELETE FROM local WHERE name = ?", name)
        else:
            self.run("INSERT OR REPLACE INTO local VALUES (?, ?)", name, value)

    def append(
        self,
        entry_type: EntryType,
        facts: Part,
        text: Part = _NO_TEXT,
        *,
        salt: bytes | None = None,
    ) -> Entry:
        """Sign the next entry of our own log, store it and apply it to the tables."""
        identity = self.identity
        author = identity.key.node_id
        log = log_of(entry_type)
        if isinstance(facts, Statement):
            facts = replace(facts, heads=membership_tables.heads(self.connection))
        row = self.row("SELECT seq, hash FROM head WHERE author = ? AND log = ?", author, log)
        head = EMPTY if row is None else Head(seq=row[0], hash=row[1])
        last = int.from_bytes(self.value("hlc") or b"", "big")
        hlc = tick(last, self.wall)
        entry = seal(
            identity.key,
            fleet=identity.fleet,
            seq=head.seq + 1,
            prev=head.hash,
            hlc=hlc,
            entry_type=entry_type,
            facts=pack_facts(facts),
            text=pack_text(salt or self.random(limits.SALT_BYTES), text),
        )
        self.keep("hlc", hlc.to_bytes(8, "big"))
        store(self.connection, entry, own=True)
        return entry

    def change(self, topic: str, ref: str) -> None:
        """Number a change that pages and waiters hear of after the commit."""
        cursor = self.connection.execute(
            "INSERT INTO event (topic, ref) VALUES (?, ?)", (topic, ref)
        )
        number = cursor.lastrowid
        if number is None:
            raise StoreError
        self.changes.append((number, topic, ref))


def store(connection: sqlite3.Connection, entry: Entry, *, own: bool = False) -> None:
    """Store one entry that was verified (or just signed: `own`) and apply it to the tables."""
    header = entry.header
    entry_hash = entry.hash
    cursor = connection.execute(
        "INSERT INTO entry (fleet, author, log, seq, type, hash, header, signature, facts, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            header.fleet,
            header.author,
            header.log,
            header.seq,
            header.type,
            entry_hash,
            entry.raw,
            entry.signature,
            entry.facts,
            entry.text,
        ),
    )
    project(connection, entry, entry_hash, cursor.lastrowid or 0, own=own)
