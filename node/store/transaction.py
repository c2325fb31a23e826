"""One job's view of the store: reading, appending to our own log, numbering changes."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from node.store import derive, erasing, hold, membership_tables
from node.store.projection import project
from sync import limits
from sync.errors import OnHold, StoreError
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry, NodeKey, seal
from sync.log.facts import NoText, Part, Statement, pack_facts, pack_text
from sync.log.hlc import tick
from sync.log.kinds import STATEMENTS, EntryType, log_of
from sync.log.names import node_name

Value = bytes | str | int | None
"""What a statement takes."""

_NO_TEXT = NoText()


class Identity(msgspec.Struct, kw_only=True):
    """What a node signs with and for.

    All that serves a node shares one; the writer moves both on once a job that left the
    fleet, joined another one or took on a new key is durable.
    """

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
        self.identity = replace(identity)
        """A copy: this job may leave the fleet, and may still fail."""
        self.now = now
        self.wall = wall
        self.random = random
        self.changes: list[tuple[int, str, str]] = []
        self.stored: list[Entry] = []
        """Every entry this job stored, our own and received ones: told after the commit."""
        self._lifted = False
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

    @property
    def silenced(self) -> str | None:
        """Why nothing may be decided here now; None: all may."""
        if self._lifted:
            return None
        return hold.silenced(self.connection, self.identity.fleet, self.identity.key.node_id)

    def lift(self) -> None:
        """Let this job decide: a person has said so, or it begins anew."""
        self._lifted = True

    def append(
        self,
        entry_type: EntryType,
        facts: Part,
        text: Part = _NO_TEXT,
        *,
        salt: bytes | None = None,
    ) -> Entry:
        """Sign the next entry of our own log, store it and apply it to the tables.

        Raises `OnHold` for what decides something while nothing may be decided here.
        """
        why = None if entry_type in hold.NEVER_HELD else self.silenced
        if why is not None:
            raise OnHold(why)
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
        entry, changed = store(self.connection, entry, own=True)
        for ask in changed:
            self.change("ask", ask)
        self.stored.append(entry)
        self.erases |= entry_type is EntryType.REDACTED
        return entry

    def enter(self, fleet: bytes, key: NodeKey | None = None) -> None:
        """Belong to another fleet from here on, with `key` as somebody else.

        What the tables then say is not told here.
        """
        key = key or self.identity.key
        self.identity = replace(self.identity, fleet=fleet, key=key)
        self.keep(derive.FLEET, fleet)
        self.keep(derive.NODE, key.node_id)

    def change(self, topic: str, ref: str) -> None:
        """Number a change that pages and waiters hear of after the commit."""
        cursor = self.connection.execute(
            "INSERT INTO event (topic, ref) VALUES (?, ?)", (topic, ref)
        )
        number = cursor.lastrowid
        if number is None:
            raise StoreError
        self.changes.append((number, topic, ref))

    def change_all(self, topic: str, refs: Sequence[str]) -> None:
        """Number many changes at once, as `change` does one by one."""
        (last,) = self.row("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'event'")
        changes = [(n, topic, ref) for n, ref in enumerate(refs, last + 1)]
        self.connection.executemany("INSERT INTO event VALUES (?, ?, ?)", changes)
        self.changes += changes

    def tell(self, asks: Iterable[str]) -> None:
        """Number a change of every ask that is here; what an entry names may be anything."""
        self.change_all("ask", [ask for ask in asks if derive.is_here(self.connection, ask)])


def store(
    connection: sqlite3.Connection, entry: Entry, *, own: bool = False
) -> tuple[Entry, set[str]]:
    """Store the next entry of a log and apply it to the tables (`own`: we just signed it).

    Returns it as it was stored, and the asks that other entries changed, which count by it,
    or count no more.
    """
    entry_hash = entry.hash
    (last,) = connection.execute("SELECT coalesce(max(n), 0) FROM entry").fetchone()
    (entry,) = insert(connection, [entry], after=last)
    if entry.header.type in STATEMENTS:
        return entry, derive.settle(connection, entry.header.fleet)
    project(connection, entry, entry_hash, last + 1, own=own)
    return entry, set()


def insert(connection: sqlite3.Connection, run: Sequence[Entry], *, after: int) -> Sequence[Entry]:
    """Store a run of one log, numbered from `after` + 1 on, and move the log's head.

    Returns it as it was stored: words that an owner had erased do not come back.
    """
    run = erasing.without_erased(connection, run)
    connection.executemany(
        "INSERT INTO entry (n, fleet, author, log, seq, type, hash, header, signature, facts,"
        " text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                n,
                entry.header.fleet,
                entry.header.author,
                entry.header.log,
                entry.header.seq,
                entry.header.type,
                entry.hash,
                entry.raw,
                entry.signature,
                entry.facts,
                entry.text,
            )
            for n, entry in enumerate(run, after + 1)
        ],
    )
    last = run[-1]
    connection.execute(
        "INSERT INTO head VALUES (?, ?, ?, ?) ON CONFLICT (author, log)"
        " DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
        (last.header.author, last.header.log, last.header.seq, last.hash),
    )
    erasing.note(connection, run, after=after)
    return run
