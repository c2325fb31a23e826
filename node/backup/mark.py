"""What tells a restored node that it is one, and what it has to make up for."""

import os
import sqlite3
from typing import Final

import msgspec

RESTORED: Final = "restored"
"""Name of the local value that stands until everything decided before the copy was voided;
while it does, nothing but asks is signed before this node has learnt its own last entry."""
RESTORED_FROM: Final = "restored_from"
"""Name of the local value behind the banner; it stands until a person has read it."""
STORE_ID_BYTES: Final = 16


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Of a restored node."""

    when: int
    """When the backup was made."""
    at: int
    """When it was restored, by the clock of the machine."""
    by: str
    """The owner who did."""


def mark(store: sqlite3.Connection, *, when: int, at: int, by: str) -> None:
    """Mark an unpacked store: it is a copy, and who was signed in is so no more.

    One transaction. Pages count changes per store, and this one's numbers have been told
    before, for other changes.
    """
    told = msgspec.json.encode(Mark(when=when, at=at, by=by))
    # Some builds of SQLite leave what is deleted readable in free pages.
    store.execute("PRAGMA secure_delete=ON")
    store.execute("BEGIN IMMEDIATE")
    for name in (RESTORED, RESTORED_FROM):
        store.execute("INSERT OR REPLACE INTO local VALUES (?, ?)", (name, told))
    store.execute(
        "INSERT OR REPLACE INTO local VALUES ('store_id', ?)",
        (os.urandom(STORE_ID_BYTES).hex().encode(),),
    )
    # A stored reply would tell an agent again what was handed over before.
    for table in ("person_session", "reply"):
        store.execute(f"DELETE FROM {table}")  # noqa: S608 -- names of ours
    store.execute("COMMIT")


def stands(store: sqlite3.Connection) -> bool:
    """Whether this node was restored and has not yet made up for it."""
    return store.execute("SELECT 1 FROM local WHERE name = ?", (RESTORED,)).fetchone() is not None


def banner(store: sqlite3.Connection) -> Mark | None:
    """Return what pages say of it; None once a person has read it."""
    row = store.execute("SELECT value FROM local WHERE name = ?", (RESTORED_FROM,)).fetchone()
    return None if row is None else msgspec.json.decode(row[0], type=Mark)
