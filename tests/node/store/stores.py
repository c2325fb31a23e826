"""A store on an empty directory, with a clock and randomness that a test controls."""

import asyncio
import sqlite3
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from node.founding import Opened, open_store
from node.store.transaction import Transaction
from node.store.writer import Change, Job, Writer
from sync.log.entry import Entry, NodeKey
from sync.log.facts import (
    MarkFacts,
    MemberFacts,
    NoteFacts,
    NoteText,
    PersonFacts,
    SpeaksForFacts,
)
from sync.log.kinds import EntryType


class SetTimes:
    """Clocks that stand until a test moves them."""

    def __init__(self, wall: int = 1_800_000_000_000, boot: int = 60_000) -> None:
        self.wall = wall
        self.boot = boot
        self.boot_name = "boot-1"

    def wall_ms(self) -> int:
        return self.wall

    def boot_ms(self) -> int:
        return self.boot

    def boot_id(self) -> str:
        return self.boot_name

    def advance(self, milliseconds: int) -> None:
        self.wall += milliseconds
        self.boot += milliseconds


class Counted:
    """Randomness that is never the same twice and always the same again."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, size: int) -> bytes:
        self.count += 1
        return self.count.to_bytes(size, "big")


def found(home: Path, times: SetTimes | None = None, *, create: bool = True) -> Opened:
    """Open a store, founding a fleet where there is none."""
    home.mkdir(mode=0o700, exist_ok=True)
    return open_store(
        home, create=create, machine="box", times=times or SetTimes(), random=Counted()
    )


class Kept:
    """A writer, and everything it published."""

    def __init__(
        self,
        home: Path,
        opened: Opened,
        stop_point: Callable[[str], None],
        stored: Callable[[Sequence[Entry]], None] = lambda _entries: None,
    ) -> None:
        self.home = home
        self.opened = opened
        self.changes: list[Change] = []
        self.writer = Writer(
            opened.connection,
            identity=opened.identity,
            clock=opened.clock,
            random=Counted(),
            published=self.changes.extend,
            stop_point=stop_point,
            stored=stored,
        )


@asynccontextmanager
async def writing(
    home: Path,
    *,
    times: SetTimes | None = None,
    stop_point: Callable[[str], None] = lambda _name: None,
    stored: Callable[[Sequence[Entry]], None] = lambda _entries: None,
) -> AsyncIterator[Kept]:
    """A writer on a store below `home`, closed at the end."""
    kept = Kept(home, found(home, times), stop_point, stored)
    try:
        yield kept
    finally:
        await kept.writer.close()
        await asyncio.sleep(0)


def mark(transaction: Transaction, ask: str, *, person: str = "ann", read: bool = True) -> bytes:
    """Append a small entry and number a change; return its hash."""
    facts = MarkFacts(ask=ask, person=person, read=read, at=transaction.now)
    made = transaction.append(EntryType.MARK, facts)
    transaction.change("ask", ask)
    return made.hash


def marks(ask: str) -> Job[bytes]:
    """A job that appends one such entry."""
    return lambda transaction: mark(transaction, ask)


def note(transaction: Transaction, number: int, title: str = "Note") -> bytes:
    """Append a note, which becomes a row of `ask`, and words on it."""
    facts = NoteFacts(
        number=number,
        kind="note",
        agent="claude",
        session="s",
        project="p",
        created=transaction.now,
    )
    return transaction.append(EntryType.NOTE, facts, NoteText(title=title)).hash


def let_in(transaction: Transaction, *nodes: NodeKey, person: str = "ann") -> None:
    """State an owner, whom this node speaks for, and nodes that she lets in and are hers."""
    own, at = transaction.identity.key.node_id, transaction.now
    if transaction.row("SELECT 1 FROM person WHERE id = ?", person) is None:
        owner = PersonFacts(person=person, name=person.capitalize(), role="owner", at=at)
        transaction.append(EntryType.PERSON, owner)
        first = SpeaksForFacts(node=own, person=person, on=True, at=at)
        transaction.append(EntryType.SPEAKS_FOR, first)
    for node in nodes:
        facts = MemberFacts(
            node_key=node.public, certificate=b"der", machine="other", by=person, at=at
        )
        transaction.append(EntryType.MEMBER, facts)
        hers = SpeaksForFacts(node=node.node_id, person=person, on=True, by=person, at=at)
        transaction.append(EntryType.SPEAKS_FOR, hers)


def looked(home: Path, sql: str) -> list[tuple[object, ...]]:
    """What is durable in the store, seen through a connection of its own."""
    connection = sqlite3.connect(f"{(home / 'store.db').as_uri()}?mode=ro", uri=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def mode(path: Path) -> int:
    """The permission bits of a path."""
    return stat.S_IMODE(path.stat().st_mode)
