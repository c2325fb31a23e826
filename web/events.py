"""The stream of numbered changes, as server-sent events."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Final

import msgspec
from aiohttp import web

from sync.errors import Invalid, TooMany
from web.desk import Desk
from web.faults import report
from web.limits import BEAT_S, SEND_S, SINCE_DIGITS, STREAMS
from web.messages import Beat
from web.replies import VIEWER, Handler
from web.views import Change

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How streams are timed and bounded; tests take smaller numbers."""

    beat_s: float = BEAT_S
    send_s: float = SEND_S
    streams: int = STREAMS


class EventRoutes:
    """All open streams."""

    def __init__(self, desk: Desk, pace: Pace) -> None:
        self._desk = desk
        self._pace = pace
        self._open: set[asyncio.Task[None] | None] = set()

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {"events": self.events}

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Send changes above `since` until the session, the page or the node ends.

        Raises `Invalid`, `TooMany`.
        """
        since = _since(request)
        if len(self._open) >= self._pace.streams:
            sentence = f"{self._pace.streams} event streams are open already."
            raise TooMany(sentence, hint="Close some of the pages.")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        task = asyncio.current_task()
        self._open.add(task)
        try:
            await response.prepare(request)
            await self._serve(request, _Stream(response, self._pace.send_s), since)
        except (ConnectionError, TimeoutError):
            # Gone, or so slow that it must read the snapshot anyway.
            if request.transport is not None:
                request.transport.abort()
        except Exception as error:  # noqa: BLE001 -- the head is out: nothing can be replied
            report("events", error)
        finally:
            self._open.discard(task)
        return response

    async def close(self, _application: web.Application) -> None:
        """End every stream, so that the node can stop."""
        for task in self._open:
            if task is not None:
                task.cancel()

    def _beat(self, n: int) -> Beat:
        return Beat(n=n, now=self._desk.now(), trouble=self._desk.trouble())

    async def _serve(self, request: web.Request, stream: "_Stream", since: int) -> None:
        last = since
        # That the stream opened proves nothing to the page: only what is heard on it does.
        await stream.send("beat", self._beat(last))
        async with _ahead(self._desk.changes(request[VIEWER], since)) as changes:
            while True:
                change = await changes.next(self._pace.beat_s)
                if change is LATER:
                    await stream.send("beat", self._beat(last))
                elif isinstance(change, Change):
                    last = change.n
                    await stream.send("change", change, number=last)
                elif change is None:
                    await stream.send("reset", self._beat(last))
                    return
                else:
                    return


class _Mark:
    """What can come instead of a change."""


LATER: Final = _Mark()
ENDED: Final = _Mark()


class _Ahead:
    """Waits for the next change without giving the wait up when a beat is due."""

    def __init__(self, changes: AsyncIterator[Change | None]) -> None:
        self._changes = changes
        self._pending: asyncio.Task[Change | _Mark | None] | None = None

    async def next(self, seconds: float) -> Change | _Mark | None:
        """Return the next change, None for a reset, `LATER` or `ENDED`."""
        if self._pending is None:
            self._pending = asyncio.create_task(self._advance())
        await asyncio.wait({self._pending}, timeout=seconds)
        if not self._pending.done():
            return LATER
        found, self._pending = self._pending.result(), None
        return found

    async def close(self) -> None:
        """Let the desk's iterator go."""
        if self._pending is not None:
            self._pending.cancel()
            await asyncio.wait({self._pending})
            if not self._pending.cancelled():
                self._pending.exception()
        if isinstance(self._changes, AsyncGenerator):
            await self._changes.aclose()

    async def _advance(self) -> Change | _Mark | None:
        try:
            return await anext(self._changes)
        except StopAsyncIteration:
            return ENDED


@contextlib.asynccontextmanager
async def _ahead(changes: AsyncIterator[Change | None]) -> AsyncIterator[_Ahead]:
    ahead = _Ahead(changes)
    try:
        yield ahead
    finally:
        await ahead.close()


class _Stream:
    """Writes events; a reader that takes nothing for too long ends it by `TimeoutError`."""

    def __init__(self, response: web.StreamResponse, send_s: float) -> None:
        self._response = response
        self._send_s = send_s

    async def send(self, name: str, record: msgspec.Struct, *, number: int | None = None) -> None:
        """Send one event. JSON has no line breaks, so one `data` line holds it."""
        ident = "" if number is None else f"id: {number}\n"
        head = f"event: {name}\n{ident}data: ".encode()
        async with asyncio.timeout(self._send_s):
            await self._response.write(head + _encode(record) + b"\n\n")


def _since(request: web.Request) -> int:
    """Return the number the page has seen; what a browser's own retry says comes first."""
    text = request.headers.get("Last-Event-ID") or request.query.get("since", "")
    if not (text.isascii() and text.isdigit() and len(text) <= SINCE_DIGITS):
        raise Invalid(
            "`since` must be the number of a change.", hint="Read /api/state first; it has `n`."
        )
    return int(text)
