"""The agent routes of messages: what comes in over HTTP, and the desk's call for it."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

from node.agents.posts import Post
from node.desk.message_records import Sending
from node.desk.protocols import Agents
from node.desk.requests import Request
from node.limits import INBOX_SHOWN, INBOX_WAIT_MAX_S


class InboxArguments(Request, frozen=True, kw_only=True):
    """Of `inbox`."""

    sent: bool = False
    thread: str | None = None
    wait_s: float = 0.0


class AckArguments(Request, frozen=True, kw_only=True):
    """Of `ack`."""

    ids: list[str]


class HandArguments(Request, frozen=True, kw_only=True):
    """Of `hand`."""

    most: int = INBOX_SHOWN


class MessageRoutes:
    """The routes, bound to the desk."""

    def __init__(self, agents: Agents, waiting: Callable[[], AbstractContextManager[None]]) -> None:
        self._agents = agents
        self._waiting = waiting

    def posts(self) -> dict[str, Callable[[Post], Awaitable[object]]]:
        """The handlers by the names of their routes."""
        return {"send": self._send, "inbox": self._inbox, "hand": self._hand, "ack": self._ack}

    async def _send(self, post: Post) -> object:
        return await self._agents.send(post.who, post.read(Sending), request=post.request)

    async def _inbox(self, post: Post) -> object:
        arguments = post.read(InboxArguments)
        with self._waiting():
            return await self._agents.inbox(
                post.who,
                sent=arguments.sent,
                thread=arguments.thread,
                wait_s=min(max(arguments.wait_s, 0.0), INBOX_WAIT_MAX_S),
                progress=None,
            )

    async def _hand(self, post: Post) -> object:
        most = min(max(post.read(HandArguments).most, 1), INBOX_SHOWN)
        return await self._agents.hand(post.who, most=most)

    async def _ack(self, post: Post) -> object:
        return await self._agents.ack(post.who, post.read(AckArguments).ids)
