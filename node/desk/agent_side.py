"""The whole agents' desk: the tools, and the listings of the command line."""

import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec

from node.desk.agents import AgentDesk
from node.desk.board_records import Board, Boards, RowEdit, Written
from node.desk.boards import BoardDesk
from node.desk.context import Context
from node.desk.mailbox import Mailbox
from node.desk.message_records import Acknowledged, Inbox, Sending, Sent
from node.desk.needless import report
from node.desk.protocols import Progress
from node.desk.reading import Reading
from node.desk.requests import Asker
from node.desk.sessions import SessionBook
from node.desk.views import as_object
from sync.errors import NotAllowed
from web.views import PrivacyLine


class AgentSide(AgentDesk):
    """Implements `node.desk.protocols.Agents`.

    The listings show every ask of this node: the socket lets in only this node's own
    user, who could read the store as well (docs/threats.md).
    """

    def __init__(
        self,
        context: Context,
        book: SessionBook,
        reading: Reading,
        facts: Callable[[], dict[str, Any]],
        *,
        privacy: Callable[[sqlite3.Connection], list[PrivacyLine]],
    ) -> None:
        super().__init__(context, book, reading.rules)
        self.mailbox = Mailbox(context, book)
        self.boards = BoardDesk(context)
        self._reading = reading
        self._facts = facts
        self._privacy = privacy

    async def send(self, who: Asker, wanted: Sending, *, request: str) -> Sent:
        """Record a message."""
        return await self.mailbox.send(who, wanted, request=request)

    async def inbox(
        self,
        who: Asker,
        *,
        sent: bool,
        thread: str | None,
        wait_s: float,
        progress: Progress | None,
    ) -> Inbox:
        """What waits for the caller."""
        return await self.mailbox.inbox(
            who, sent=sent, thread=thread, wait_s=wait_s, progress=progress
        )

    async def hand(self, who: Asker, *, most: int) -> Inbox:
        """Give the caller what waits."""
        return await self.mailbox.hand(who, most=most)

    async def ack(self, who: Asker, ids: Sequence[str]) -> Acknowledged:
        """Say that messages are over."""
        return await self.mailbox.ack(who, ids)

    async def board_upsert(
        self, who: Asker, title: str, rows: Sequence[RowEdit], *, request: str
    ) -> Written:
        """Set rows of a board."""
        return await self.boards.upsert(who, title, rows, request=request)

    async def board_advance(
        self, who: Asker, title: str, step: RowEdit, *, request: str
    ) -> Written:
        """Put a row's next step in place."""
        return await self.boards.advance(who, title, step, request=request)

    async def board_get(self, who: Asker, title: str | None) -> Boards:
        """Look at boards."""
        return await self.boards.get(who, title)

    async def board_archive(self, who: Asker, title: str, *, archived: bool) -> Board:
        """Put a board away."""
        return await self.boards.archive(who, title, archived=archived)

    async def listing(
        self,
        who: Asker,
        *,
        closed: bool,
        project: str | None,
    ) -> list[dict[str, Any]]:
        """Rows for `askmesh list`, newest first."""
        _same_user(who)
        return await self._reading.listing(closed=closed, project=project)

    async def show(self, who: Asker, ask_id: str) -> dict[str, Any]:
        """One ask for `askmesh show`."""
        _same_user(who)
        return as_object(await self._reading.ask(ask_id, None))

    async def report(self, who: Asker) -> list[dict[str, Any]]:
        """For `askmesh agent report`."""
        _same_user(who)
        return [as_object(one) for one in await self.context.reader.run(report)]

    async def node_status(self, who: Asker) -> dict[str, Any]:
        """For `askmesh status`."""
        _same_user(who)
        return await self._reading.node_status(self._facts(), self._privacy)

    async def watch(
        self,
        who: Asker,
        since: int | None,
    ) -> AsyncIterator[dict[str, Any] | None]:
        """For `askmesh watch`: changes from `since`, or from now on."""
        _same_user(who)
        start = await self._reading.last_number() if since is None else since
        async for change in self._reading.changes(start, None):
            yield None if change is None else msgspec.to_builtins(change)


def _same_user(who: Asker) -> None:
    """The kernel states who connected; a listing shows more than one project's rows."""
    if who.uid != os.getuid():
        raise NotAllowed("Only this node's own user may list everything on it.")
