"""Work that is carried to its end, also where whoever asked for it is gone.

A link breaks and a page is closed at any moment. What was committed by then is durable, so
what has to follow it must follow: links to a removed machine end, proofs are passed on.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

_running: set[asyncio.Task[Any]] = set()
_log = logging.getLogger("askmesh")


async def whole(work: Coroutine[Any, Any, Result]) -> Result:
    """Return what comes of the work; cancelling the caller does not cancel it."""
    return await asyncio.shield(follow(work))


def follow(work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
    """Begin work that nobody has to wait for; it is carried to its end."""
    task = asyncio.ensure_future(work)
    _running.add(task)
    task.add_done_callback(_done)
    return task


def _done(task: asyncio.Task[Any]) -> None:
    _running.discard(task)
    if not task.cancelled() and task.exception() is not None:
        # Whoever is still there is told; the log is for where nobody is.
        _log.debug("work that somebody asked for failed", exc_info=task.exception())
