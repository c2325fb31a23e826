"""Routes of the snapshot, of single asks, and of answers."""

import asyncio

import msgspec
from aiohttp import web

from sync.errors import Invalid
from web.desk import Ballot, Desk
from web.limits import WAIT_MAX_S
from web.replies import VIEWER, Body, body, reply


class ReadBody(Body, kw_only=True, frozen=True):
    """Whether a note or a result counts as read."""

    read: bool


class AskRoutes:
    """Handlers; each is described in docs/http.md."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def state(self, request: web.Request) -> web.StreamResponse:
        """The snapshot."""
        return reply(await self._desk.state(request[VIEWER]))

    async def ask(self, request: web.Request) -> web.StreamResponse:
        """One ask with its exact call."""
        return reply(await self._desk.ask(request[VIEWER], request.match_info["id"]))

    async def vote(self, request: web.Request) -> web.StreamResponse:
        """Answer."""
        ballot = await body(request, Ballot)
        if not 0 <= ballot.wait_s <= WAIT_MAX_S:
            raise Invalid(f"wait_s must be between 0 and {WAIT_MAX_S:g}.")
        # The vote is carried through even if the browser goes away in between.
        receipt = await asyncio.shield(
            self._desk.vote(request[VIEWER], request.match_info["id"], ballot)
        )
        return reply(receipt, status=202)

    async def take_back(self, request: web.Request) -> web.StreamResponse:
        """Take one's own answer back."""
        await body(request, Body)
        receipt = await asyncio.shield(
            self._desk.take_back(request[VIEWER], request.match_info["id"])
        )
        return reply(receipt)

    async def read(self, request: web.Request) -> web.StreamResponse:
        """Mark a note or a result."""
        wanted = await body(request, ReadBody)
        view = await self._desk.mark_read(
            request[VIEWER], request.match_info["id"], read=wanted.read
        )
        return reply({"ask": msgspec.to_builtins(view)})
