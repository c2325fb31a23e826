"""What no event tells: that the machine slept, and that its addresses changed."""

import asyncio
import logging
from collections.abc import Callable

from sync.net import interfaces
from sync.net.clocks import Clocks, slept
from sync.net.interfaces import Interface

_log = logging.getLogger("askmesh.link")


class Watch:
    """Looks at the clocks and at the network, again and again."""

    def __init__(
        self,
        clocks: Clocks,
        *,
        tick: Callable[[], None],
        woke: Callable[[], None],
        moved: Callable[[set[str]], None],
        tick_s: float,
        poll_s: float,
        read: Callable[[], list[Interface]] = interfaces.read,
    ) -> None:
        self._clocks = clocks
        self._tick = tick
        self._woke = woke
        self._moved = moved
        self._tick_s = tick_s
        self._poll_s = poll_s
        self._read = read
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin."""
        for part in (self._watch_clocks(), self._watch_network()):
            task = asyncio.create_task(part)
            task.add_done_callback(_report)
            self._tasks.append(task)

    async def stop(self) -> None:
        """End."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def _watch_clocks(self) -> None:
        before = self._clocks()
        while True:
            await asyncio.sleep(self._tick_s)
            now = self._clocks()
            if slept(before, now):
                _log.info("this machine slept: all links are made anew")
                self._woke()
            else:
                self._tick()
            before = now

    async def _watch_network(self) -> None:
        before = self._read()
        while True:
            await asyncio.sleep(self._poll_s)
            now = self._read()
            if now != before:
                _log.info("the addresses of this machine changed")
                self._moved({one.host for one in before} - {one.host for one in now})
            before = now


def _report(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("a watch ended", exc_info=task.exception())
