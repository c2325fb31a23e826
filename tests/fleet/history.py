"""What a node's log says, read from its store and from nothing that is derived."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from node.store.connection import open_reader
from node.store.rebuild import compare
from sync.log.entry import sha256
from sync.log.kinds import EntryType

Found = TypeVar("Found")
GRANTING = (
    EntryType.PERSON,
    EntryType.RULES,
    EntryType.SPEAKS_FOR,
    EntryType.VOTE,
    EntryType.GENESIS,
    EntryType.MEMBER,
    EntryType.REMOVED,
    EntryType.STANDING,
    EntryType.OPERATOR,
)
"""What only a person may bring into the log."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry, as far as these tests look at it."""

    n: int
    hash: bytes
    facts: dict[str, Any]


def reading(home: Path, question: Callable[[sqlite3.Connection], Found]) -> Found:
    """Ask a store a question of its own, through a connection that cannot write."""
    with closing(open_reader(home)) as store:
        return question(store)


def rows(home: Path, sql: str, *values: object) -> list[Any]:
    """What a query finds, through a connection that cannot write."""
    with closing(open_reader(home)) as store:
        return store.execute(sql, values).fetchall()


def entries(home: Path, kind: EntryType, ask: str | None = None) -> list[Entry]:
    """The entries of a type, oldest first; with `ask`, those about it."""
    found = [
        Entry(n=n, hash=hash_, facts=json.loads(facts))
        for n, hash_, facts in rows(
            home, "SELECT n, hash, facts FROM entry WHERE type = ? ORDER BY n", int(kind)
        )
    ]
    return [entry for entry in found if ask is None or entry.facts["ask"] == ask]


def check_life(home: Path, ask: str, *, approval: bool) -> None:
    """What must hold of every ask at every moment, whatever crashed before."""
    finals = entries(home, EntryType.FINAL, ask)
    handed = [
        entry
        for entry in entries(home, EntryType.HANDOVER, ask)
        if entry.facts["status"] == "handed"
    ]
    votes = entries(home, EntryType.VOTE, ask)
    ruled = [entry.facts["vote"] for entry in entries(home, EntryType.RULING, ask)]
    assert len(finals) <= 1
    assert len(ruled) == len(set(ruled)) == len(votes)
    assert len(entries(home, EntryType.RESOLVED, ask)) <= 1
    if approval:
        assert len(handed) <= 1
    for entry in handed:
        assert finals[0].n < entry.n
    tokens = [entry.facts["token"] for entry in handed]
    assert tokens == sorted(set(tokens))
    assert compare(home) == []


def granted(home: Path) -> dict[str, Any]:
    """All that answering or granting would change: equal before and after means nothing did."""
    return {
        "entries": {kind.name: len(entries(home, kind)) for kind in GRANTING},
        "sessions": sorted(rows(home, "SELECT id, secret, person FROM person_session")),
        "passphrases": sorted(rows(home, "SELECT * FROM passphrase")),
        "machines": sorted(rows(home, "SELECT id, removed FROM node")),
        "given": sorted(rows(home, "SELECT node, host, port FROM address WHERE source = 'given'")),
        "left": rows(home, "SELECT * FROM fleet_left"),
        "rules": rows(home, "SELECT version FROM rules ORDER BY place"),
        "decided": sorted(
            rows(home, "SELECT id, outcome FROM ask WHERE outcome IN ('allowed', 'answered')")
        ),
    }


def flip(home: Path, n: int, column: str, position: int, bit: int) -> None:
    """Change one bit of a stored entry, as a failing disk would."""
    with closing(sqlite3.connect(home / "store.db")) as store, store:
        (value,) = store.execute(f"SELECT {column} FROM entry WHERE n = ?", (n,)).fetchone()  # noqa: S608 -- the test's own words
        changed = bytearray(value)
        changed[position % len(changed)] ^= 1 << bit
        store.execute(f"UPDATE entry SET {column} = ? WHERE n = ?", (bytes(changed), n))  # noqa: S608 -- (as above)


def digest(text: str) -> bytes:
    """SHA-256 of a text."""
    return sha256(text.encode())
