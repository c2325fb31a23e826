"""Routes of the snapshot, of single asks, and of answers."""

import re
from typing import Final

from aiohttp import web

from sync.errors import Invalid, NotFound
from web.desk import Ballot, Desk, Erasing
from web.limits import ID_CHARACTERS, VOTE_WAIT_S
from web.messages import Done, Mark, Marked, Nothing
from web.replies import VIEWER, Handler, body, carried_through, reply

_ID: Final = re.compile(rf"[0-9A-Za-z-]{{1,{ID_CHARACTERS}}}")


class AskRoutes:
    """What a person reads and answers."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {
            "state": self.state,
            "ask": self.ask,
            "vote": self.vote,
            "take_back": self.take_back,
            "mark": self.mark,
            "put_away_restored": self.put_away_restored,
            "redact": self.redact,
        }

    async def state(self, request: web.Request) -> web.StreamResponse:
        """Reply the snapshot."""
        return reply(await self._desk.state(request[VIEWER]))

    async def ask(self, request: web.Request) -> web.StreamResponse:
        """Reply one ask with its exact call."""
        return reply(await self._desk.ask(request[VIEWER], ask_id(request)))

    async def vote(self, request: web.Request) -> web.StreamResponse:
        """Record an answer. It is carried through even when the browser goes away."""
        ballot = await body(request, Ballot)
        check_wait(ballot.wait_s)
        vote = self._desk.vote(request[VIEWER], ask_id(request), ballot)
        return reply(await carried_through(vote), status=202)

    async def take_back(self, request: web.Request) -> web.StreamResponse:
        """Take one's own answer back."""
        await body(request, Nothing)
        taken_back = self._desk.take_back(request[VIEWER], ask_id(request))
        return reply(await carried_through(taken_back), status=202)

    async def mark(self, request: web.Request) -> web.StreamResponse:
        """Mark a note or a result."""
        wanted = await body(request, Mark)
        marked = self._desk.mark_read(request[VIEWER], ask_id(request), read=wanted.read)
        return reply(Marked(ask=await carried_through(marked)))

    async def put_away_restored(self, request: web.Request) -> web.StreamResponse:
        """Put the notice of a restore away."""
        await body(request, Nothing)
        await carried_through(self._desk.put_away_restored(request[VIEWER]))
        return reply(Done())

    async def redact(self, request: web.Request) -> web.StreamResponse:
        """Have a text erased everywhere."""
        wanted = await body(request, Erasing)
        redacted = self._desk.redact(request[VIEWER], ask_id(request), wanted)
        return reply(Marked(ask=await carried_through(redacted)))


def check_wait(wait_s: float) -> None:
    """Raise `Invalid` for a wait that no reply may take."""
    if not 0 <= wait_s <= VOTE_WAIT_S:
        raise Invalid(f"wait_s lies between 0 and {VOTE_WAIT_S:g}.")


def ask_id(request: web.Request) -> str:
    """Return the ask named in the address. Raises `NotFound` for what is no id at all."""
    named = request.match_info["id"]
    if not _ID.fullmatch(named):
        raise NotFound("There is no such ask here.")
    return named
