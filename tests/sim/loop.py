"""A loop on which time jumps to whatever is due next, and whole machines can stop dead.

No threads, no sockets, no wall clock: what ran in one run runs in the next one alike.
"""

import asyncio
import contextvars
import heapq
import itertools
from asyncio import base_events, events
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")
_serial = itertools.count()


class Stalled(Exception):
    """Nothing is due any more, and what was awaited has not come."""


class Life:
    """One run of one machine's program: what it began is never carried on after its end."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.asleep = False
        self.backlog: list[events.Handle] = []
        self.steps = 0
        self.dies_at: int | None = None
        """The step before which it dies: any await can be the last."""
        self.kill: Callable[[], None] = lambda: None
        self.tasks: list[asyncio.Task[Any]] = []
        """Kept for ever: a coroutine that is collected would run its `finally`."""
        self.context = contextvars.Context()
        self.context.run(LIFE.set, self)

    def copy(self) -> contextvars.Context:
        """Return a context of this life, for a task of its own."""
        return self.context.copy()


LIFE: contextvars.ContextVar[Life | None] = contextvars.ContextVar("life", default=None)


class Task(asyncio.Task[Any]):
    """Sets of tasks are ordered by their making, not by their addresses."""

    def __init__(self, *args: Any, **more: Any) -> None:  # noqa: ANN401 -- asyncio's own
        self._serial = next(_serial)
        super().__init__(*args, **more)

    def __hash__(self) -> int:
        return self._serial


class Future(asyncio.Future[Any]):
    """As `Task`."""

    def __init__(self, *, loop: asyncio.AbstractEventLoop) -> None:
        self._serial = next(_serial)
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._serial


class SimLoop(base_events.BaseEventLoop):
    """Runs everything of one simulated world."""

    def __init__(self) -> None:
        super().__init__()
        # BaseEventLoop's own, which its stubs do not tell of.
        self._ready: deque[Any]
        self._scheduled: list[Any]
        self._seconds = 1_000.0
        self.executor_delay: Callable[[], float] = lambda: 0.0
        """Until something that a thread would do is done."""

    def time(self) -> float:
        """Virtual seconds."""
        return self._seconds

    def jump(self, seconds: float) -> None:
        """Let time pass in which nothing ran at all (every machine slept)."""
        self._seconds += seconds

    def _run_once(self) -> None:
        while self._scheduled and self._scheduled[0]._cancelled:
            heapq.heappop(self._scheduled)._scheduled = False
        if not self._ready:
            if not self._scheduled:
                raise Stalled
            self._seconds = max(self._seconds, self._scheduled[0]._when)
        while self._scheduled and self._scheduled[0]._when <= self._seconds:
            handle = heapq.heappop(self._scheduled)
            handle._scheduled = False
            self._ready.append(handle)
        for _ in range(len(self._ready)):
            handle = self._ready.popleft()
            if not handle._cancelled and self._may_run(handle):
                handle._run()

    def _may_run(self, handle: Any) -> bool:  # noqa: ANN401 -- its context is not told
        life: Life | None = handle._context.get(LIFE)
        if life is None:
            return True
        if life.asleep and life.alive:
            life.backlog.append(handle)
            return False
        life.steps += 1
        if life.dies_at is not None and life.steps >= life.dies_at and life.alive:
            life.dies_at = None
            life.kill()
        return life.alive

    def wake(self, life: Life) -> None:
        """Carry on with what a sleeping machine left."""
        life.asleep = False
        self._ready.extend(life.backlog)
        life.backlog.clear()

    def create_future(self) -> asyncio.Future[Any]:
        """As asyncio's, with a place in the order of making."""
        return Future(loop=self)

    def create_task(  # type: ignore[override]
        self,
        coro: Coroutine[Any, Any, Result],
        *,
        name: object = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[Result]:
        """As asyncio's; remembered by the life it belongs to."""
        task = Task(coro, loop=self, name=name, context=context)
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        life = LIFE.get() if context is None else context.get(LIFE)
        if life is not None:
            life.tasks.append(task)
        return task

    def run_in_executor(
        self, executor: object, func: Callable[..., Any], *args: object
    ) -> asyncio.Future[Any]:
        """What a thread would do is done at one moment, a little later."""
        del executor
        future = self.create_future()
        self.call_later(self.executor_delay(), self._execute, future, func, args)
        return future

    @staticmethod
    def _execute(
        future: asyncio.Future[Any], func: Callable[..., Any], args: tuple[object, ...]
    ) -> None:
        if future.cancelled():
            return
        try:
            result = func(*args)
        except Exception as error:  # noqa: BLE001 -- as an executor does
            future.set_exception(error)
        else:
            future.set_result(result)

    def call_soon_threadsafe(  # type: ignore[override]
        self,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401 -- asyncio's own
        context: contextvars.Context | None = None,
    ) -> events.Handle:
        """There is one thread."""
        return self.call_soon(callback, *args, context=context)

    def _process_events(self, event_list: object) -> None:
        """There is no selector."""

    def _write_to_self(self) -> None:
        """(As above.)"""
