"""One way in and one way out: strict JSON records in, objects and one error shape out."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import web

from sync.errors import AskmeshError, TooLarge
from sync.misfit import misfit
from web.desk import AskClosed, Viewer
from web.errors import TooSlow
from web.limits import ARRIVE_S
from web.messages import ErrorReply, Refused
from web.routes import Route

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
RecordType = TypeVar("RecordType", bound=msgspec.Struct)
Result = TypeVar("Result")

VIEWER: Final = web.RequestKey("viewer", Viewer)
"""Whose request it is: there on every route of a person, and missing on a `FIRST` one while
nobody ever signed in."""

ROUTE: Final = web.RequestKey("route", Route)

_encode = msgspec.json.Encoder().encode
_begun: set[asyncio.Task[Any]] = set()


async def body(request: web.Request, record: type[RecordType]) -> RecordType:
    """Read the body as the record of the route.

    Raises `Invalid` that says what does not fit, `TooLarge`, `TooSlow`.
    """
    route = request[ROUTE]
    if route.takes is not record:
        raise TypeError(f"{route.name} does not take {record.__name__}")
    raw = await _read(request, route.body_bytes)
    try:
        return msgspec.json.decode(raw or b"{}", type=record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise misfit(error, record) from None


async def _read(request: web.Request, limit: int) -> bytes:
    too_large = TooLarge(f"This is larger than {limit} bytes; nothing was recorded.")
    if (request.content_length or 0) > limit:
        raise too_large
    content = bytearray()
    try:
        async with asyncio.timeout(ARRIVE_S):
            while part := await request.content.readany():
                content += part
                if len(content) > limit:
                    raise too_large
    except TimeoutError:
        raise TooSlow from None
    return bytes(content)


def reply(record: msgspec.Struct, *, status: int = 200) -> web.Response:
    """Reply a record as a JSON object."""
    return web.Response(body=_encode(record), status=status, content_type="application/json")


def refuse(error: AskmeshError) -> web.Response:
    """Reply an error in the one shape."""
    return reply(ErrorReply(error=refused(error)), status=error.status)


def refused(error: AskmeshError) -> Refused:
    """Return what is said of an error; with the final, where one decided otherwise."""
    closed = error if isinstance(error, AskClosed) else None
    return Refused(
        code=error.code,
        message=error.sentence,
        hint=error.hint,
        final=closed.final if closed else None,
        ask=closed.ask if closed else None,
        problems=getattr(error, "problems", None),
    )


async def carried_through(change: Coroutine[Any, Any, Result]) -> Result:
    """Await a change that goes on to its end even when the browser goes away meanwhile.

    A vote is recorded in one step and ruled on in the next.
    """
    task = asyncio.create_task(change)
    _begun.add(task)
    task.add_done_callback(_end)
    return await asyncio.shield(task)


def _end(task: asyncio.Task[Any]) -> None:
    _begun.discard(task)
    if not task.cancelled():
        # Looked at, so that nothing is logged about a refusal that nobody waits for.
        task.exception()
