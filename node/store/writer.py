"""The one writer: whole jobs on one thread, many jobs to a commit.

A job is a function of a `Transaction`; it runs in a savepoint of a group commit that
began IMMEDIATE. Its caller hears only after the COMMIT; a failed COMMIT fails every job of
the group. aiosqlite's public interface cannot run a whole job on its thread, hence this.
"""

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from node.clock import Clock
from node.store.connection import erase_traces, failure
from node.store.transaction import Identity, Transaction
from sync.errors import AskmeshError, StoreError, StoreFull, StoreReadOnly
from sync.log.entry import Entry

GROUP_JOBS = 256
"""Jobs in one commit: enough to share its fsync, few enough to answer soon."""
ANCHOR_EVERY_MS = 1_000
"""How often the clock's high-water mark is stored with other writes."""

Result = TypeVar("Result")
Item = TypeVar("Item")
Job = Callable[[Transaction], Result]
Change = tuple[int, str, str]
"""(number, topic, ref)."""
StopPoint = Callable[[str], None]
"""Told the name of each place where a kill must lose nothing; tests inject it."""

_log = logging.getLogger("askmesh.store")


class _Asked(NamedTuple):
    name: str
    job: Job[Any]
    future: asyncio.Future[Any]


class _Done(NamedTuple):
    asked: _Asked
    result: Any
    error: BaseException | None
    changes: Sequence[Change] = ()
    stored: Sequence[Entry] = ()
    erases: bool = False


def _nobody(_stored: Sequence[Entry]) -> None:
    """Tell nobody."""


class Writer:
    """Owns the writing connection and its thread. Made and used on one event loop."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        identity: Identity,
        clock: Clock,
        random: Callable[[int], bytes],
        published: Callable[[Sequence[Change]], None],
        stop_point: StopPoint,
        stored: Callable[[Sequence[Entry]], None] = _nobody,
    ) -> None:
        self._connection = connection
        self._identity = identity
        self._clock = clock
        self._random = random
        self._published = published
        self._stop_point = stop_point
        self._stored = stored
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._anchored = 0
        self._erase = False
        self._closed = False
        self.trouble: StoreError | None = None
        """Why nothing can be recorded; None since the last commit that went well."""
        self._known: str | None = None
        self._start()

    def _start(self) -> None:
        """Begin to serve on a thread; the simulation serves on its loop instead."""
        self._thread = threading.Thread(target=self._serve, name="writer")
        self._thread.start()

    async def run(self, name: str, job: Job[Result]) -> Result:
        """Run a job and return its result once it is durable.

        Cancelling the caller does not cancel the job: it is whole or not at all. Raises
        what the job raised, or a `StoreError`.
        """
        if self._closed:
            raise StoreError("The node is stopping, so nothing was recorded.")
        future: asyncio.Future[Result] = self._loop.create_future()
        self._queue.put(_Asked(name, job, future))
        return await asyncio.shield(future)

    async def close(self) -> None:
        """Finish what is queued, checkpoint and close. May be called twice."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await self._loop.run_in_executor(None, self._thread.join)

    def _serve(self) -> None:
        stopping = False
        while not stopping:
            group: list[_Asked] = []
            item = self._queue.get()
            while item is not None:
                group.append(item)
                if len(group) == GROUP_JOBS:
                    break
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
            stopping = item is None
            if group:
                done = self._commit(group)
                self._loop.call_soon_threadsafe(self._tell, done)
        # While readers are open, closing alone would leave the last commits outside of the
        # one file that people copy.
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()

    def _commit(self, group: list[_Asked]) -> list[_Done]:
        done: list[_Done] = []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            identity = self._identity
            for asked in group:
                one, identity = self._one(asked, identity)
                done.append(one)
            self._anchor()
            for asked in group:
                self._stop_point(f"{asked.name}:before-commit")
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 -- every caller is told, whatever it was
            if self._connection.in_transaction:
                # Where even this fails, the next BEGIN fails too, and says so.
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            told = failure(error)
            self.trouble = told if isinstance(told, StoreError) else None
            return [_Done(asked, None, told) for asked in group]
        self._identity.fleet, self._identity.key = identity.fleet, identity.key
        lacking = (item.error for item in done)
        self.trouble = next((e for e in lacking if isinstance(e, StoreFull | StoreReadOnly)), None)
        for asked in group:
            self._stop_point(f"{asked.name}:after-commit")
        self._erase = self._erase or any(item.erases for item in done)
        if self._erase:
            self._erase = not erase_traces(self._connection)
        return done

    def _one(self, asked: _Asked, identity: Identity) -> tuple[_Done, Identity]:
        """Run one job as `identity`; return what came of it, and who it leaves us as."""
        connection = self._connection
        transaction = Transaction(
            connection,
            identity=identity,
            now=self._clock.now(),
            wall=self._clock.times.wall_ms(),
            random=self._random,
        )
        connection.execute("SAVEPOINT job")
        try:
            result = asked.job(transaction)
        except Exception as error:
            if not connection.in_transaction:
                # SQLite gave the whole group up (a full disk does that).
                raise
            connection.execute("ROLLBACK TO job")
            connection.execute("RELEASE job")
            if isinstance(error, sqlite3.Error):
                error = failure(error)
            elif not isinstance(error, AskmeshError):
                _log.exception("job %s failed", asked.name)
            return _Done(asked, None, error), identity
        connection.execute("RELEASE job")
        made = _Done(
            asked,
            result,
            None,
            changes=transaction.changes,
            stored=transaction.stored,
            erases=transaction.erases,
        )
        return made, transaction.identity

    def _anchor(self) -> None:
        now = self._clock.now()
        if now - self._anchored >= ANCHOR_EVERY_MS:
            self._anchored = now
            self._connection.execute(
                "INSERT OR REPLACE INTO local VALUES ('clock', ?)",
                (msgspec.json.encode(self._clock.anchor()),),
            )

    def _tell(self, done: list[_Done]) -> None:
        known = self.trouble.sentence if self.trouble else None
        if known != self._known:
            # No number can be given to this: whoever waits for anything looks again.
            self._known = known
            self._published(())
        self._publish(self._published, [change for item in done for change in item.changes])
        self._publish(self._stored, [entry for item in done for entry in item.stored])
        for item in done:
            future = item.asked.future
            if future.cancelled():
                continue
            if item.error is not None:
                future.set_exception(item.error)
            else:
                future.set_result(item.result)

    def _publish(self, told: Callable[[Sequence[Item]], None], items: Sequence[Item]) -> None:
        if not items:
            return
        try:
            told(items)
        except Exception:  # noqa: BLE001 -- what is committed, its callers must hear of
            _log.exception("publishing what was committed failed")
