"""Readers: one snapshot each, never a write, never in the writer's way."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from node.store.connection import open_reader
from node.store.reader import READERS, Reader
from sync.errors import StoreError, StoreReadOnly
from tests.node.store.stores import found, marks, writing


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    found(tmp_path).connection.close()
    opened = Reader(tmp_path)
    yield opened
    opened.close()


WRITES = [
    "INSERT INTO local VALUES ('x', x'00')",
    "UPDATE entry SET text = NULL",
    "DELETE FROM entry",
    "CREATE TABLE x (y)",
    "DROP TABLE vote",
    "PRAGMA user_version = 5",
]


@pytest.mark.parametrize("sql", WRITES)
async def test_a_reader_cannot_write(reader: Reader, sql: str) -> None:
    with pytest.raises(StoreReadOnly):
        await reader.run(lambda connection: connection.execute(sql))


@pytest.mark.parametrize("sql", WRITES)
async def test_not_even_when_it_lifts_its_own_guard(reader: Reader, sql: str) -> None:
    def lifted(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA query_only=OFF")
        connection.execute(sql)

    with pytest.raises(StoreReadOnly):
        await reader.run(lifted)


async def test_a_reader_sees_one_snapshot(tmp_path: Path) -> None:
    async with writing(tmp_path) as kept:
        reader = Reader(tmp_path)
        looked_once, go_on = threading.Event(), threading.Event()

        def twice(connection: sqlite3.Connection) -> list[int]:
            sql = "SELECT count(*) FROM mark"
            first = connection.execute(sql).fetchone()[0]
            looked_once.set()
            assert go_on.wait(20)
            return [first, connection.execute(sql).fetchone()[0]]

        reading = asyncio.ensure_future(reader.run(twice))
        await asyncio.to_thread(looked_once.wait, 20)
        # The writer is not held up by a reader that is in the middle of its snapshot.
        await asyncio.wait_for(kept.writer.run("one", marks("a-1")), 20)
        go_on.set()
        assert await reading == [0, 0]
        assert await reader.run(counted) == 1
        reader.close()


def counted(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM mark").fetchone()[0])


async def test_after_a_failed_reading_the_next_one_works(reader: Reader) -> None:
    def broken(_connection: sqlite3.Connection) -> None:
        raise ZeroDivisionError

    for _ in range(2 * READERS):
        with pytest.raises(ZeroDivisionError):
            await reader.run(broken)
        with pytest.raises(StoreError, match="no such table"):
            await reader.run(lambda connection: connection.execute("SELECT * FROM nowhere"))
    assert await reader.run(counted) == 0


async def test_no_snapshot_stays_open(tmp_path: Path) -> None:
    """One would pin the write-ahead log: it grows for ever then."""
    async with writing(tmp_path) as kept:
        reader = Reader(tmp_path)

        def half_read(connection: sqlite3.Connection) -> None:
            cursor = connection.execute(
                "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number)"
                " SELECT n, (SELECT count(*) FROM entry) FROM number"
            )
            assert cursor.fetchone()[0] == 1

        for number in range(2 * READERS):
            await reader.run(half_read)
            await kept.writer.run("one", marks(f"a-{number}"))
        busy = kept.opened.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert busy == (0, 0, 0)
        reader.close()


async def test_what_is_committed_is_seen_at_once(tmp_path: Path) -> None:
    async with writing(tmp_path) as kept:
        reader = Reader(tmp_path)
        for number in range(20):
            await kept.writer.run("one", marks(f"a-{number}"))
            assert await reader.run(counted) == number + 1
        reader.close()


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        open_reader(tmp_path)
    assert list(tmp_path.iterdir()) == []


async def test_a_missing_store_is_told_in_words(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    with pytest.raises(StoreError, match="nothing was recorded"):
        await reader.run(counted)
    reader.close()


def settings(connection: sqlite3.Connection, names: dict[str, Any]) -> dict[str, Any]:
    return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names}


def test_how_the_connections_are_set(tmp_path: Path) -> None:
    opened = found(tmp_path)
    reader = open_reader(tmp_path)
    both = {"journal_mode": "wal", "trusted_schema": 0, "busy_timeout": 5_000}
    writes = {"synchronous": 2, "query_only": 0, "foreign_keys": 1, "secure_delete": 1, **both}
    reads = {"query_only": 1, "wal_autocheckpoint": 0, **both}
    assert settings(opened.connection, writes) == writes
    assert settings(reader, reads) == reads
    reader.close()
    opened.connection.close()
