"""One way in and one way out: strict JSON records in, objects and one error shape out."""

from typing import Any, TypeVar

import msgspec
from aiohttp import web

from sync.errors import AskmeshError, Invalid
from web.desk import AskClosed, Viewer

RecordType = TypeVar("RecordType", bound=msgspec.Struct)
VIEWER: web.RequestKey[Viewer] = web.RequestKey("viewer", Viewer)

_encode = msgspec.json.Encoder().encode


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what is sent to the page's routes."""


async def body(request: web.Request, record: type[RecordType]) -> RecordType:
    """Read the body as a record. Raises `Invalid` that says what does not fit."""
    raw = await request.read()
    try:
        return msgspec.json.decode(raw or b"{}", type=record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Invalid(f"The request does not fit: {error}.") from None


def reply(value: msgspec.Struct | dict[str, Any], *, status: int = 200) -> web.Response:
    """Reply an object."""
    return web.Response(body=_encode(value), status=status, content_type="application/json")


def refuse(
    status: int, code: str, message: str, hint: str = "", **more: Any  # noqa: ANN401
) -> web.Response:
    """Reply an error in the one shape."""
    error = {"code": code, "message": message, "hint": hint, **more}
    return reply({"error": error}, status=status)


def refuse_error(error: AskmeshError) -> web.Response:
    """Reply an error of the core, with the final where one decided otherwise."""
    more: dict[str, Any] = {}
    if isinstance(error, AskClosed):
        more = {"final": error.final, "ask": error.ask}
    problems = getattr(error, "as_json", None)
    if callable(problems):
        more["problems"] = problems()
    return refuse(error.status, error.code, error.sentence, error.hint, **more)
