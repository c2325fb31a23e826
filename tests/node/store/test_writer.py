"""The one writer: whole jobs, many to a commit, and nobody is told before it is durable."""

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from node.store.rebuild import compare
from node.store.transaction import Transaction
from node.store.writer import ANCHOR_EVERY_MS, GROUP_JOBS, Job
from sync.errors import AskmeshError, Invalid, StoreError, StoreFull, StoreReadOnly
from sync.log.entry import Entry
from tests.node.store.stores import Kept, SetTimes, looked, mark, marks, writing

COUNT_MARKS = "SELECT count(*) FROM mark"


class Gate:
    """Holds the writer's thread in a job, so that what is asked meanwhile is one group."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def __call__(self, transaction: Transaction) -> None:
        self.entered.set()
        assert self.open.wait(20)


async def group(kept: Kept, *jobs: Job[Any]) -> list[Any]:
    """Run jobs as one group; return results and errors in their order."""
    gate = Gate()
    held = asyncio.ensure_future(kept.writer.run("gate", gate))
    await asyncio.to_thread(gate.entered.wait, 20)
    asked = [
        asyncio.ensure_future(kept.writer.run(f"job{number}", job))
        for number, job in enumerate(jobs)
    ]
    await asyncio.sleep(0)
    gate.open.set()
    await held
    return await asyncio.gather(*asked, return_exceptions=True)


async def test_a_job_is_durable_when_its_caller_hears(tmp_path: Path) -> None:
    async with writing(tmp_path) as kept:
        made = await kept.writer.run("one", marks("a-1"))
        assert looked(tmp_path, "SELECT hash FROM entry ORDER BY n DESC LIMIT 1") == [(made,)]
        assert kept.changes == [(1, "ask", "a-1")]


async def test_jobs_asked_together_share_commits(tmp_path: Path) -> None:
    passed: list[str] = []
    async with writing(tmp_path, stop_point=passed.append) as kept:
        jobs = [marks(f"a-{n}") for n in range(5)]
        assert all(isinstance(found, bytes) for found in await group(kept, *jobs))
    before = [f"job{number}:before-commit" for number in range(5)]
    after = [f"job{number}:after-commit" for number in range(5)]
    assert passed[2:] == before + after


async def test_a_failing_job_leaves_no_trace_and_its_neighbours_commit(tmp_path: Path) -> None:
    def fails(transaction: Transaction) -> None:
        mark(transaction, "gone-1")
        transaction.keep("gone", b"x")
        raise Invalid("on purpose")

    def breaks(transaction: Transaction) -> None:
        mark(transaction, "gone-2")
        transaction.run("INSERT INTO mark VALUES (1)")

    def errs(transaction: Transaction) -> None:
        mark(transaction, "gone-3")
        raise ZeroDivisionError

    async with writing(tmp_path) as kept:
        first, no, second, wrong, bug, third = await group(
            kept,
            marks("a-1"),
            fails,
            marks("a-2"),
            breaks,
            errs,
            marks("a-3"),
        )
        assert all(isinstance(found, bytes) for found in (first, second, third))
        assert isinstance(no, Invalid)
        assert isinstance(wrong, StoreError)
        assert isinstance(bug, ZeroDivisionError)
        assert looked(tmp_path, "SELECT ask FROM mark ORDER BY ask") == [
            ("a-1",),
            ("a-2",),
            ("a-3",),
        ]
        assert looked(tmp_path, "SELECT 1 FROM local WHERE name = 'gone'") == []
        assert [ref for _, _, ref in kept.changes] == ["a-1", "a-2", "a-3"]
    assert compare(tmp_path) == []


async def test_numbers_have_no_gaps_where_jobs_failed(tmp_path: Path) -> None:
    def fails(transaction: Transaction) -> None:
        mark(transaction, "gone-1")
        raise Invalid

    async with writing(tmp_path) as kept:
        for number in range(6):
            await group(kept, fails, marks(f"a-{number}"))
            with pytest.raises(Invalid):
                await kept.writer.run("fails", fails)
    numbers = [n for (n,) in looked(tmp_path, "SELECT n FROM event ORDER BY n")]
    assert numbers == list(range(1, 7)) == [number for number, _, _ in kept.changes]
    log = looked(tmp_path, "SELECT seq FROM entry WHERE log = 1 ORDER BY n")
    assert [seq for (seq,) in log] == list(range(1, 7))


class Broken:
    """A connection whose COMMIT fails when it is told to."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.failing = False

    def __getattr__(self, name: str) -> object:
        return getattr(self.connection, name)

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:  # noqa: ANN401
        if self.failing and sql == "COMMIT":
            raise sqlite3.OperationalError("database or disk is full")
        return self.connection.execute(sql, *values)


async def test_a_failed_commit_fails_every_job_of_the_group(tmp_path: Path) -> None:
    async with writing(tmp_path) as kept:
        broken = Broken(kept.opened.connection)
        kept.writer._connection = broken  # type: ignore[assignment]
        await kept.writer.run("good", marks("a-1"))
        broken.failing = True
        jobs = [marks(f"b-{n}") for n in range(3)]
        gate = Gate()
        held = asyncio.ensure_future(kept.writer.run("gate", gate))
        await asyncio.to_thread(gate.entered.wait, 20)
        asked = [asyncio.ensure_future(kept.writer.run("job", job)) for job in jobs]
        await asyncio.sleep(0)
        gate.open.set()
        outcomes = await asyncio.gather(held, *asked, return_exceptions=True)
        assert [type(found) for found in outcomes] == [StoreFull] * 4
        broken.failing = False
        await kept.writer.run("good", marks("a-2"))
        assert [ref for _, _, ref in kept.changes] == ["a-1", "a-2"]
    assert looked(tmp_path, "SELECT ask FROM mark ORDER BY ask") == [("a-1",), ("a-2",)]
    assert compare(tmp_path) == []


async def test_a_cancelled_caller_does_not_cancel_the_job(tmp_path: Path) -> None:
    async with writing(tmp_path) as kept:
        gate = Gate()
        held = asyncio.ensure_future(kept.writer.run("gate", gate))
        await asyncio.to_thread(gate.entered.wait, 20)
        caller = asyncio.ensure_future(kept.writer.run("one", marks("a-1")))
        await asyncio.sleep(0)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        gate.open.set()
        await held
        await kept.writer.run("after", lambda _transaction: None)
        assert looked(tmp_path, "SELECT ask FROM mark") == [("a-1",)]
        assert kept.changes == [(1, "ask", "a-1")]


async def test_a_cancelled_caller_of_a_failing_job_is_no_noise(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(transaction: Transaction) -> None:
        raise Invalid

    async with writing(tmp_path) as kept:
        caller = asyncio.ensure_future(kept.writer.run("one", fails))
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        await kept.writer.run("after", lambda _transaction: None)
    assert caplog.records == []


async def test_callers_hear_even_when_publishing_fails(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_changes: object) -> None:
        raise ZeroDivisionError

    async with writing(tmp_path) as kept:
        kept.writer._published = broken
        made = await asyncio.wait_for(kept.writer.run("one", marks("a-1")), 20)
        assert isinstance(made, bytes)
    assert "ZeroDivisionError" in caplog.text


async def test_close_finishes_what_is_asked_and_may_be_called_twice(tmp_path: Path) -> None:
    async with writing(tmp_path) as kept:
        asked = [
            asyncio.ensure_future(kept.writer.run("job", marks(f"a-{n}")))
            for n in range(2 * GROUP_JOBS)
        ]
        await asyncio.sleep(0)
        await asyncio.gather(kept.writer.close(), kept.writer.close())
        await asyncio.gather(*asked)
        await kept.writer.close()
        with pytest.raises(StoreError, match="stopping"):
            await kept.writer.run("late", marks("late-1"))
    assert looked(tmp_path, COUNT_MARKS) == [(2 * GROUP_JOBS,)]


async def test_close_moves_all_into_the_one_file(tmp_path: Path) -> None:
    """Also while a reader is open: a copy of `store.db` alone then lacks nothing."""
    async with writing(tmp_path) as kept:
        reader = sqlite3.connect(f"{(tmp_path / 'store.db').as_uri()}?mode=ro", uri=True)
        reader.execute(COUNT_MARKS).fetchall()
        await kept.writer.run("one", marks("a-1"))
        await kept.writer.close()
        copy = tmp_path / "copy"
        copy.mkdir()
        (copy / "store.db").write_bytes((tmp_path / "store.db").read_bytes())
        reader.close()
    assert looked(copy, COUNT_MARKS) == [(1,)]


async def test_the_clock_is_stored_with_writes(tmp_path: Path) -> None:
    times = SetTimes()
    async with writing(tmp_path, times=times) as kept:
        before = looked(tmp_path, "SELECT value FROM local WHERE name = 'clock'")
        times.advance(ANCHOR_EVERY_MS)
        await kept.writer.run("one", marks("a-1"))
        after = looked(tmp_path, "SELECT value FROM local WHERE name = 'clock'")
        assert after != before


async def test_now_is_read_in_the_transaction(tmp_path: Path) -> None:
    times = SetTimes()
    async with writing(tmp_path, times=times) as kept:
        gate = Gate()
        held = asyncio.ensure_future(kept.writer.run("gate", gate))
        await asyncio.to_thread(gate.entered.wait, 20)
        asked = asyncio.ensure_future(kept.writer.run("now", lambda transaction: transaction.now))
        await asyncio.sleep(0)
        times.advance(5_000)
        gate.open.set()
        await held
        assert await asked == kept.opened.clock.now()


async def test_the_log_of_many_writers_is_one_chain(tmp_path: Path) -> None:
    async with writing(tmp_path) as kept:

        async def agent(name: int) -> None:
            for number in range(20):
                await kept.writer.run("job", marks(f"a{name}-{number}"))

        await asyncio.gather(*(agent(name) for name in range(10)))
    assert compare(tmp_path) == []
    assert looked(tmp_path, "SELECT seq FROM head WHERE log = 1") == [(200,)]
    assert [number for number, _, _ in kept.changes] == list(range(1, 201))


async def test_errors_of_the_store_are_told_in_words(tmp_path: Path) -> None:
    async with writing(tmp_path) as kept:
        with pytest.raises(AskmeshError, match="no such table"):
            await kept.writer.run("bad", lambda transaction: transaction.run("DELETE FROM x"))


async def test_a_store_that_may_not_be_written_stays_readable(tmp_path: Path) -> None:
    async with writing(tmp_path) as kept:
        await kept.writer.run("one", marks("a-1"))
        kept.opened.connection.execute("PRAGMA query_only=ON")
        with pytest.raises(StoreReadOnly, match="nothing was recorded"):
            await kept.writer.run("two", marks("b-1"))
        assert looked(tmp_path, "SELECT ask FROM mark") == [("a-1",)]
        kept.opened.connection.execute("PRAGMA query_only=OFF")
        await kept.writer.run("three", marks("c-1"))
    assert compare(tmp_path) == []


async def test_what_was_stored_is_told_after_the_commit_and_only_then(tmp_path: Path) -> None:
    told: list[tuple[bytes, bool]] = []

    def stored(entries: Sequence[Entry]) -> None:
        durable = {row[0] for row in looked(tmp_path, "SELECT hash FROM entry")}
        told.extend((entry.hash, entry.hash in durable) for entry in entries)

    def fails(transaction: Transaction) -> None:
        mark(transaction, "gone-1")
        raise Invalid("on purpose")

    async with writing(tmp_path, stored=stored) as kept:
        first, _, second = await group(kept, marks("a-1"), fails, marks("a-2"))
        assert told == [(first, True), (second, True)]


async def test_nothing_is_told_of_a_group_whose_commit_fails(tmp_path: Path) -> None:
    told: list[Entry] = []

    def refuses(name: str) -> None:
        if name == "no:before-commit":
            raise sqlite3.OperationalError("disk I/O error")

    async with writing(tmp_path, stored=told.extend, stop_point=refuses) as kept:
        with pytest.raises(StoreError):
            await kept.writer.run("no", marks("a-1"))
        await asyncio.sleep(0)
        assert told == []
        assert kept.changes == []
    assert looked(tmp_path, COUNT_MARKS) == [(0,)]


async def test_another_fleet_counts_from_the_commit_on(tmp_path: Path) -> None:
    """Later jobs of the group are in it already; a job that fails leaves all as it was."""
    other = b"another fleet..."

    def fleet(transaction: Transaction) -> bytes:
        return transaction.identity.fleet

    def fails(transaction: Transaction) -> None:
        transaction.enter(b"gone".ljust(16))
        raise Invalid("on purpose")

    async with writing(tmp_path) as kept:
        identity = kept.opened.identity
        first = identity.fleet
        found = await group(kept, fails, fleet, lambda transaction: transaction.enter(other), fleet)
        assert isinstance(found[0], Invalid)
        assert found[1:] == [first, None, other]
        assert identity.fleet == other
        assert await kept.writer.run("after", fleet) == other
    assert looked(tmp_path, "SELECT value FROM local WHERE name = 'fleet'") == [(other,)]


async def test_a_fleet_that_was_not_committed_was_never_entered(tmp_path: Path) -> None:
    def refuses(name: str) -> None:
        if name == "no:before-commit":
            raise sqlite3.OperationalError("disk I/O error")

    async with writing(tmp_path, stop_point=refuses) as kept:
        first = kept.opened.identity.fleet
        with pytest.raises(StoreError):
            await kept.writer.run("no", lambda transaction: transaction.enter(b"x" * 16))
        assert kept.opened.identity.fleet == first
        name = await kept.writer.run("fleet", lambda transaction: transaction.value("fleet"))
        assert name == first
