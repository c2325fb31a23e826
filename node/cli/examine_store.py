"""The examinations of the store's file, its schema and the SQLite that reads it."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from node.cli.finding import Finding
from node.store import derive, hold
from node.store.connection import STORE_FILE, WAL_LIMIT
from node.store.migrations import MIGRATIONS, applied

SQLITE: Final = (3, 37, 0)
"""The first with STRICT tables, which the schema uses."""
WAL_RESET_FIXED: Final = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
"""Where SQLite's WAL-reset bug is mended: in these branches from here on, and after them."""
WAL_MOST: Final = 2 * WAL_LIMIT
"""A write-ahead log this large is not being brought into the store."""
DAMAGED: Final = (
    "Stop the node and keep a copy of the folder before anything else. Then `askmesh verify`"
    " says what is hurt, and `askmesh restore` brings a backup back."
)


def sqlite(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> Iterator[Finding]:
    """Whether this SQLite can do what the store needs, and what is known of it."""
    said = ".".join(map(str, version))
    if version < SQLITE:
        yield Finding(
            about="sqlite",
            level="fault",
            what=f"{said} is too old; {'.'.join(map(str, SQLITE))} is needed.",
            remedy="Use a Python that comes with a newer SQLite.",
        )
    elif has_reset_bug(version):
        yield Finding(
            about="sqlite",
            level="note",
            what=f"{said} has the WAL-reset bug: two connections at once can damage a store."
            " askmesh keeps out of its way: one connection writes and checkpoints.",
            remedy="Let no other program open store.db; take SQLite 3.51.3 or later when you can.",
        )
    else:
        yield Finding(about="sqlite", what=f"{said}.")


def has_reset_bug(version: tuple[int, ...]) -> bool:
    """Whether this version can lose a commit that meets another connection's checkpoint."""
    branch = [fixed for fixed in WAL_RESET_FIXED if fixed[:2] == version[:2]]
    return version < (branch or WAL_RESET_FIXED[-1:])[0]


def store(home: str) -> Iterator[Finding]:
    """Whether the file is whole, of which schema, and how large with all that belongs to it."""
    path = Path(home, STORE_FILE)
    # Without a write-ahead log there is nothing but the file, and reading it as one leaves
    # no files of SQLite's own behind.
    way = "mode=ro" if _size(home, "-wal") is not None else "immutable=1"
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?{way}", uri=True, timeout=5)
        ) as connection:
            said = [row[0] for row in connection.execute("PRAGMA quick_check(5)")]
            journal = connection.execute("PRAGMA journal_mode").fetchone()[0]
            pages, free = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "freelist_count")
            )
            had = applied(connection)
            waits = [] if set(MIGRATIONS) - set(had) else list(_held_back(connection))
    except sqlite3.Error as error:
        yield Finding(about="store", level="fault", what=f"{path}: {error}.", remedy=DAMAGED)
        return
    if said == ["ok"]:
        size = path.stat().st_size // 1024
        what = f"{path.name} is sound ({size} KiB, {journal}, {free} of {pages} pages free)."
        yield Finding(about="store", what=what)
    for line in said if said != ["ok"] else []:
        yield Finding(about="store", level="fault", what=f"{path.name}: {line}.", remedy=DAMAGED)
    yield from _log(home)
    yield from _schema(had)
    yield from waits


def _held_back(connection: sqlite3.Connection) -> Iterator[Finding]:
    """Whether this machine may decide: it may not where its data looks copied or put back."""
    local = dict(connection.execute("SELECT name, value FROM local"))
    fleet, node = local.get(derive.FLEET, b""), local.get(derive.NODE, b"")
    why = hold.silenced(connection, fleet, node)
    if why is not None:
        remedy = "askmesh node rejoin" if why == hold.FORKED else "askmesh node go"
        yield Finding(about="history", level="fault", what=why, remedy=remedy)


def _size(home: str, suffix: str) -> int | None:
    try:
        return Path(home, STORE_FILE + suffix).stat().st_size
    except FileNotFoundError:
        return None


def _log(home: str) -> Iterator[Finding]:
    size = _size(home, "-wal")
    if size is None:
        return
    mebibytes = size / (1024 * 1024)
    if size > WAL_MOST:
        yield Finding(
            about="store",
            level="warning",
            what=f"The write-ahead log has {mebibytes:.0f} MiB: something has the store open and"
            " keeps it from being brought in.",
            remedy="End other programs that read store.db, or `askmesh down`, then `askmesh up`.",
        )
    else:
        yield Finding(about="store", what=f"Its write-ahead log has {mebibytes:.1f} MiB.")


def _schema(had: list[str]) -> Iterator[Finding]:
    unknown, missing = sorted(set(had) - set(MIGRATIONS)), sorted(set(MIGRATIONS) - set(had))
    if unknown:
        yield Finding(
            about="schema",
            level="fault",
            what=f"The store has had {unknown[0]}, which this askmesh does not know.",
            remedy="Install the newer askmesh that wrote it.",
        )
    elif missing:
        what = f"The next start brings it from {had[-1] if had else 'nothing'} to {missing[-1]}."
        yield Finding(about="schema", level="note", what=what)
    else:
        yield Finding(about="schema", what=f"{had[-1]}, which is this version's.")
