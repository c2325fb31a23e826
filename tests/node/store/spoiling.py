"""Changing a store by hand, as a fault of the disk or somebody with an editor would."""

# ruff: noqa: S608 -- names of our own tables and columns

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def spoiling(home: Path) -> Iterator[sqlite3.Connection]:
    """A connection that may write anything."""
    store = sqlite3.connect(home / "store.db", isolation_level=None)
    try:
        yield store
    finally:
        store.close()


def columns(home: Path, table: str) -> list[str]:
    with spoiling(home) as store:
        return [row[1] for row in store.execute(f"PRAGMA table_info({table})")]


def changed(value: object) -> object:
    """Another value of the same type that no key holds yet; a text where there is none."""
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:]
    if isinstance(value, int):
        return value ^ 1 << 20
    return chr(ord(value[0]) ^ 1) + value[1:] if isinstance(value, str) and value else "x"


def edit(store: sqlite3.Connection, table: str, column: str) -> Callable[[], object]:
    """Change one cell; return what puts it back."""
    info = store.execute(f"PRAGMA table_info({table})").fetchall()
    names = [row[1] for row in info]
    keys = [row[1] for row in info if row[5]]
    filled = f"SELECT * FROM {table} ORDER BY {column} IS NULL OR {column} = '' LIMIT 1"
    row = dict(zip(names, store.execute(filled).fetchone(), strict=True))
    new = changed(row[column])
    where = " AND ".join(f"{key} = ?" for key in keys)
    sql = f"UPDATE {table} SET {column} = ? WHERE {where}"
    store.execute(sql, [new, *(row[key] for key in keys)])
    moved = {**row, column: new}
    return lambda: store.execute(sql, [row[column], *(moved[key] for key in keys)])
