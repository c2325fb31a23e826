"""Routes of what a person is called for."""

from aiohttp import web

from web.attention_desk import AttentionDesk
from web.attention_views import Muting, Quieting, Subscribing
from web.replies import VIEWER, Handler, body, carried_through, reply


class AttentionRoutes:
    """What a person sees and sets of what calls them."""

    def __init__(self, desk: AttentionDesk) -> None:
        self._desk = desk

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {
            "attention": self.attention,
            "subscribe": self.subscribe,
            "mute": self.mute,
            "set_quiet": self.set_quiet,
        }

    async def attention(self, request: web.Request) -> web.StreamResponse:
        """Reply how the person is called."""
        return reply(await self._desk.attention(request[VIEWER]))

    async def subscribe(self, request: web.Request) -> web.StreamResponse:
        """Subscribe or unsubscribe."""
        wanted = await body(request, Subscribing)
        return reply(await carried_through(self._desk.subscribe(request[VIEWER], wanted)))

    async def mute(self, request: web.Request) -> web.StreamResponse:
        """Mute, or end a mute."""
        wanted = await body(request, Muting)
        return reply(await carried_through(self._desk.mute(request[VIEWER], wanted.until)))

    async def set_quiet(self, request: web.Request) -> web.StreamResponse:
        """Set or end quiet hours."""
        wanted = await body(request, Quieting)
        return reply(await carried_through(self._desk.set_quiet(request[VIEWER], wanted.quiet)))
