"""Words that go for good: where those on an ask lie, and what is left of them nowhere.

The words of entries lie in `entry.text` alone. Erasing one keeps its header, signature and
facts, so every chain and every proof still verify.
"""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from node.store import packing
from sync.errors import BadEntry
from sync.limits import SALT_BYTES
from sync.log.entry import Entry
from sync.log.facts import RedactedFacts, RedactedText, read_text
from sync.log.kinds import EntryType
from sync.log.names import ask_name, message_name

WORDLESS_BYTES = SALT_BYTES + len(b"{}")
"""The text of an entry that says all in its facts."""
_STATEMENTS_TO = 16
"""Types below say who belongs to the fleet, and its rules: these texts are never erased."""
BOARD = "board "
"""Before the key of a board, where an ask has its id."""
_RAISING = frozenset({EntryType.ASK, EntryType.NOTE})


class _About(msgspec.Struct, frozen=True, kw_only=True):
    """What the facts of any entry say on which ask they are about."""

    ask: str | None = None
    board: str | None = None
    number: int | None = None


_read = msgspec.json.Decoder(_About).decode


def ask_of(entry_type: int, author: bytes, facts: bytes) -> str | None:
    """Return the ask that an entry is about; None for what is about none, or does not say.

    Of a message its own id, of a cell its board's key: their words are erased, and go by
    age, like those on an ask. So a board keeps all of them while any is young enough.
    """
    if entry_type < _STATEMENTS_TO:
        return None
    try:
        said = _read(facts)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if entry_type in _RAISING:
        return None if said.number is None else ask_name(author, said.number)
    if entry_type == EntryType.MESSAGE:
        return None if said.number is None else message_name(author, said.number)
    if entry_type == EntryType.BOARD:
        return None if said.board is None else f"{BOARD}{said.board}"
    return said.ask


def _about(entry: Entry) -> str | None:
    return ask_of(entry.header.type, entry.header.author, entry.facts)


def _has_words(entry: Entry) -> bool:
    """Whether there is something in it to erase. Why an owner erased something stays."""
    return (
        entry.text is not None
        and len(entry.text) > WORDLESS_BYTES
        and entry.header.type >= _STATEMENTS_TO
        and entry.header.type != EntryType.REDACTED
    )


def note(connection: sqlite3.Connection, run: Sequence[Entry], *, after: int) -> None:
    """Remember which of these entries, stored from `after` + 1 on, hold words on which ask."""
    connection.executemany(
        "INSERT INTO about VALUES (?, ?)",
        [
            (ask, n)
            for n, entry in enumerate(run, after + 1)
            if _has_words(entry) and (ask := _about(entry)) is not None
        ],
    )


def note_all(connection: sqlite3.Connection) -> None:
    """Find anew which stored entries hold words on which ask."""
    connection.execute("DELETE FROM about")
    found = connection.execute(
        "SELECT n, type, author, facts FROM entry WHERE length(text) > ? AND type >= ?"
        " AND type != ?",
        (WORDLESS_BYTES, _STATEMENTS_TO, EntryType.REDACTED.value),
    )
    connection.executemany(
        "INSERT INTO about VALUES (?, ?)",
        ((ask, n) for n, *said in found if (ask := ask_of(*said)) is not None),
    )


def without_erased(connection: sqlite3.Connection, run: Sequence[Entry]) -> Sequence[Entry]:
    """Return these entries without the words that an owner had erased."""
    if connection.execute("SELECT 1 FROM redaction LIMIT 1").fetchone() is None:
        return run
    return [
        replace(entry, text=None) if _has_words(entry) and _is_erased(connection, entry) else entry
        for entry in run
    ]


def _is_erased(connection: sqlite3.Connection, entry: Entry) -> bool:
    found = connection.execute(
        "SELECT 1 FROM redaction WHERE ask = ? UNION ALL SELECT 1 FROM redacted WHERE entry = ?",
        (_about(entry), entry.hash),
    ).fetchone()
    return found is not None


def redact(connection: sqlite3.Connection, facts: RedactedFacts, entry: bytes, author: str) -> None:
    """Erase what an owner, who may say so, has erased by the entry of this hash."""
    connection.execute(
        "INSERT INTO redaction VALUES (?, ?, ?, ?, ?)",
        (entry, facts.ask, facts.by, author, facts.at),
    )
    for one in facts.entries:
        connection.execute("INSERT OR IGNORE INTO redacted VALUES (?)", (one.hash,))
        _erase_entry(connection, one.hash)
    erase_ask(connection, facts.ask)


def erase_ask(connection: sqlite3.Connection, ask: str) -> None:
    """Erase every word on an ask that is in the store, under its earlier ids too.

    The caller sees to the pages behind (`Transaction.erases`); blobs are listed in `trace`.
    """
    seen: set[str] = set()
    todo = [ask]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            _erase_one(connection, one)
            todo += [
                old
                for (old,) in connection.execute("SELECT old FROM ask_alias WHERE new = ?", (one,))
            ]


def _erase_one(connection: sqlite3.Connection, ask: str) -> None:
    found = [
        n for (n,) in connection.execute("SELECT n FROM about WHERE ask = ? ORDER BY n", (ask,))
    ]
    connection.executemany("UPDATE entry SET text = NULL WHERE n = ?", [(n,) for n in found])
    connection.execute("DELETE FROM about WHERE ask = ?", (ask,))
    packing.pack_around(connection, found)
    connection.execute(
        "INSERT OR IGNORE INTO trace SELECT blob FROM ask WHERE id = ? AND blob IS NOT NULL",
        (ask,),
    )
    # Dropping one from among the others would move those, and so leave copies of them.
    connection.execute("UPDATE reply SET body = x'' WHERE ask = ?", (ask,))
    # Plain digests of what was said would let somebody try out guesses.
    connection.execute(
        "UPDATE call SET digest = zeroblob(length(digest)), diff = NULL WHERE ask = ?", (ask,)
    )
    connection.execute(
        "UPDATE hidden_call SET canonical = zeroblob(length(canonical)),"
        " secret = zeroblob(length(secret)) WHERE ask = ?",
        (ask,),
    )
    for table, column in (("gate_call", "digest"), ("tool_use", "digest"), ("ask_key", "content")):
        connection.execute(
            f"UPDATE {table} SET {column} = zeroblob(length({column}))"  # noqa: S608 -- ours
            " WHERE ask = ?",
            (ask,),
        )
    connection.execute("DELETE FROM ask_content WHERE ask = ?", (ask,))


def _erase_entry(connection: sqlite3.Connection, entry: bytes) -> None:
    """Erase the words of one entry, whatever it is about."""
    row = connection.execute(
        "SELECT n, type, author, facts FROM entry WHERE hash = ? AND type >= ? AND type != ?",
        (entry, _STATEMENTS_TO, EntryType.REDACTED.value),
    ).fetchone()
    if row is not None:
        n, *said = row
        connection.execute("UPDATE entry SET text = NULL WHERE n = ?", (n,))
        connection.execute("DELETE FROM about WHERE ask = ? AND n = ?", (ask_of(*said), n))
        packing.pack_around(connection, [n])


def drop_replies(connection: sqlite3.Connection, before: int) -> int:
    """Drop the stored replies that are older; return how many."""
    connection.execute("UPDATE reply SET body = zeroblob(length(body)) WHERE at < ?", (before,))
    return connection.execute("DELETE FROM reply WHERE at < ?", (before,)).rowcount


class Redacted(NamedTuple):
    """Who first had the words of an ask erased, when, and why."""

    person: str
    at: int
    reason: str | None


def redacted(connection: sqlite3.Connection, ask: str) -> Redacted | None:
    """Return who had the words of an ask erased; None: nobody."""
    row = connection.execute(
        "SELECT person, at, text FROM redaction JOIN entry USING (hash) WHERE ask = ?"
        " ORDER BY at, hash LIMIT 1",
        (ask,),
    ).fetchone()
    if row is None:
        return None
    person, at, text = row
    try:
        said = read_text(RedactedText, text)
    except BadEntry:
        said = None
    return Redacted(person, at, None if said is None else said.reason)
