"""Routes of messages between agents: a person reads along and writes."""

from aiohttp import web

from sync.errors import Invalid
from web.asks import ask_id
from web.desk import Erasing
from web.limits import TALK_PROJECT_CHARACTERS
from web.replies import VIEWER, Handler, body, carried_through, reply
from web.talk_desk import TalkDesk
from web.talk_views import Writing, Written

_DIGITS = 18


class TalkRoutes:
    """What a person sees of messages, and says in them."""

    def __init__(self, desk: TalkDesk) -> None:
        self._desk = desk

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {
            "messages": self.messages,
            "talk": self.talk,
            "write_message": self.write,
            "redact_message": self.redact,
        }

    async def messages(self, request: web.Request) -> web.StreamResponse:
        """Reply the latest messages."""
        project, before = request.query.get("project"), request.query.get("before")
        if project is not None and len(project) > TALK_PROJECT_CHARACTERS:
            raise Invalid("`project` is longer than a project's id can be.")
        if before is not None and not (
            before.isascii() and before.isdigit() and len(before) <= _DIGITS
        ):
            raise Invalid("`before` must be the `n` of a message.")
        number = None if before is None else int(before)
        found = await self._desk.messages(request[VIEWER], project=project, before=number)
        return reply(found)

    async def talk(self, request: web.Request) -> web.StreamResponse:
        """Reply one talk."""
        return reply(await self._desk.talk(request[VIEWER], ask_id(request)))

    async def write(self, request: web.Request) -> web.StreamResponse:
        """Write to agents."""
        wanted = await body(request, Writing)
        message = await carried_through(self._desk.write_message(request[VIEWER], wanted))
        return reply(Written(message=message))

    async def redact(self, request: web.Request) -> web.StreamResponse:
        """Have words erased."""
        wanted = await body(request, Erasing)
        redacted = self._desk.redact_message(request[VIEWER], ask_id(request), wanted)
        return reply(Written(message=await carried_through(redacted)))
