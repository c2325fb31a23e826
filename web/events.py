"""The stream of numbered changes, as server-sent events."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
from aiohttp import web

from sync.errors import Invalid, TooMany
from web.desk import Desk, Viewer
from web.guard import PAGE_HEADERS
from web.limits import BEAT_S, STREAM_SEND_S, STREAMS
from web.replies import VIEWER
from web.views import Change

_encode = msgspec.json.Encoder().encode


class EventRoutes:
    """Handlers; each is described in docs/http.md."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._open: set[asyncio.Task[None]] = set()

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Changes above `since`; `reset` when the page must read the snapshot again."""
        since = _number(request.query.get("since", ""))
        viewer = request[VIEWER]
        if len(self._open) >= STREAMS:
            raise TooMany(f"{STREAMS} event streams are open already; close some pages.")
        stream = web.StreamResponse(
            headers={
                **PAGE_HEADERS,
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
            }
        )
        task = asyncio.current_task()
        if task is not None:
            self._open.add(task)
        try:
            await stream.prepare(request)
            with contextlib.suppress(ConnectionError, TimeoutError):
                await self._send(stream, viewer, since)
        finally:
            self._open.discard(task)
        return stream

    async def close(self, _app: web.Application) -> None:
        """End every stream, so that the node can stop."""
        for task in list(self._open):
            task.cancel()

    async def _send(self, stream: web.StreamResponse, viewer: Viewer, since: int) -> None:
        changes = aiter(self._desk.changes(viewer, since))
        pending: asyncio.Task[Change | None] | None = None
        last = since
        await _write(stream, _beat(last, self._desk.now()))
        try:
            while True:
                pending = pending or asyncio.ensure_future(_next(changes))
                done, _ = await asyncio.wait({pending}, timeout=BEAT_S)
                if not done:
                    await _write(stream, _beat(last, self._desk.now()))
                    continue
                change, pending = pending.result(), None
                if change is None:
                    await _write(stream, _event("reset", {"n": last}))
                    return
                last = change.n
                await _write(stream, _event("change", change, number=change.n))
        except StopAsyncIteration:
            return
        finally:
            if pending is not None:
                pending.cancel()
                with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
                    await pending


async def _next(changes: AsyncIterator[Change | None]) -> Change | None:
    try:
        return await anext(changes)
    except StopAsyncIteration:
        # A task cannot carry StopAsyncIteration out; the session has ended: re-read.
        return None


async def _write(stream: web.StreamResponse, data: bytes) -> None:
    await asyncio.wait_for(stream.write(data), STREAM_SEND_S)


def _beat(n: int, now: int) -> bytes:
    return _event("beat", {"n": n, "now": now})


def _event(name: str, data: object, *, number: int | None = None) -> bytes:
    ident = b"" if number is None else b"id: %d\n" % number
    return b"event: %s\n%sdata: %s\n\n" % (name.encode(), ident, _encode(data))


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:  # noqa: PLR2004 -- fits 64 bits
        raise Invalid("`since` must be the number of a change.", hint="Read /api/state first.")
    return int(text)
