"""The real writer without its thread: jobs queue and groups commit on the simulated loop."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from typing import Any

from node.store.writer import GROUP_JOBS, Writer
from tests.sim.loop import LIFE


class Killed(BaseException):
    """The machine dies right here: nothing may catch this but the writer's own loop."""


class Queue:
    """What the writer puts jobs in; the loop is told of each."""

    def __init__(self, told: Callable[[], None]) -> None:
        self._told = told
        self.items: list[Any] = []

    def put(self, item: object) -> None:
        self.items.append(item)
        self._told()


class LoopWriter(Writer):
    """Serves on the loop. `delays` (set by the world) draws how long a commit takes."""

    delays: Callable[[], float] = staticmethod(lambda: 0.0)
    died: Callable[[], None] = staticmethod(lambda: None)
    committed: Callable[[str], None] = staticmethod(lambda _names: None)

    def _start(self) -> None:
        self._line = Queue(self._told)
        self._queue = self._line  # type: ignore[assignment]
        self._due = False
        self._ended: asyncio.Future[None] = self._loop.create_future()
        life = LIFE.get()
        assert life is not None
        self._life = life

    def _told(self) -> None:
        if not self._due:
            self._due = True
            self._loop.call_later(self.delays(), self._serve_once, context=self._life.copy())

    def _serve_once(self) -> None:
        self._due = False
        group = self._line.items[:GROUP_JOBS]
        del self._line.items[: len(group)]
        stopping = None in group
        group = [item for item in group if item is not None]
        if group:
            try:
                done = self._commit(group)
            except Killed:
                self.died()
                return
            self.committed(" ".join(item.name for item in group))
            self._loop.call_soon(self._tell, done)
        if stopping:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.close()
            self._ended.set_result(None)
        elif self._line.items:
            self._told()

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await asyncio.shield(self._ended)
