"""The agent routes of boards: what comes in over HTTP, and the desk's call for it."""

from collections.abc import Awaitable, Callable

from node.agents.posts import Post
from node.desk.board_records import RowEdit
from node.desk.protocols import Agents
from node.desk.requests import Request


class UpsertArguments(Request, frozen=True, kw_only=True):
    """Of `board_upsert`."""

    title: str
    rows: list[RowEdit]


class AdvanceArguments(Request, frozen=True, kw_only=True):
    """Of `board_advance`."""

    title: str
    row: RowEdit


class GetArguments(Request, frozen=True, kw_only=True):
    """Of `board_get`."""

    title: str | None = None


class ArchiveArguments(Request, frozen=True, kw_only=True):
    """Of `board_archive`."""

    title: str
    archived: bool = True


class BoardRoutes:
    """The routes, bound to the desk."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents

    def posts(self) -> dict[str, Callable[[Post], Awaitable[object]]]:
        """The handlers by the names of their routes."""
        return {
            "board_upsert": self._upsert,
            "board_advance": self._advance,
            "board_get": self._get,
            "board_archive": self._archive,
        }

    async def _upsert(self, post: Post) -> object:
        wanted = post.read(UpsertArguments)
        return await self._agents.board_upsert(
            post.who, wanted.title, wanted.rows, request=post.request
        )

    async def _advance(self, post: Post) -> object:
        wanted = post.read(AdvanceArguments)
        return await self._agents.board_advance(
            post.who, wanted.title, wanted.row, request=post.request
        )

    async def _get(self, post: Post) -> object:
        return await self._agents.board_get(post.who, post.read(GetArguments).title)

    async def _archive(self, post: Post) -> object:
        wanted = post.read(ArchiveArguments)
        return await self._agents.board_archive(post.who, wanted.title, archived=wanted.archived)
