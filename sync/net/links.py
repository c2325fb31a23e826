"""The links that run: each over its own WebSocket, one kept for each member."""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine, Iterator
from typing import Any

from aiohttp import web

from sync.errors import AskmeshError
from sync.limits import GOODBYE_S
from sync.log.entry import Entry
from sync.net.choosing import surplus
from sync.net.contract import Ended, Session
from sync.net.dialling import Side, second_stays
from sync.net.keeper import Keeper
from sync.net.ledger import Address, Ledger, Member
from sync.net.link import BROKEN, DUPLICATE, NOT_NEEDED, SPARED, STOPPING, Link
from sync.net.listener import written
from sync.net.reach import Dialled, Socket
from sync.net.settings import Callbacks


class Links:
    """Runs every link of a node; `keepers` says who is a member now."""

    def __init__(
        self,
        ledger: Ledger,
        keepers: dict[bytes, Keeper],
        callbacks: Callbacks,
        sessions: Callable[[Member], Session],
    ) -> None:
        self._ledger = ledger
        self._keepers = keepers
        self._callbacks = callbacks
        self._sessions = sessions
        self._running: dict[Link, None] = {}
        self._none = asyncio.Event()
        self._stopping = False
        self._errands: set[asyncio.Task[None]] = set()

    def __iter__(self) -> Iterator[Link]:
        return iter(list(self._running))

    def kept(self) -> list[Link]:
        """The one link to each member that has one."""
        return [keeper.live for keeper in self._keepers.values() if keeper.live is not None]

    def spare(self, wanted: Collection[bytes], *, redrawn: bool) -> None:
        """End links that we dialled and that are not wanted any more (`choosing.surplus`)."""
        ours = [link for link in self.kept() if link.dialler == self._ledger.node]
        ours.sort(key=lambda link: link.opened_at or 0.0)
        ended = surplus([link.member.node for link in ours], wanted, redrawn=redrawn)
        for link in ours:
            if link.member.node in ended:
                link.drop(SPARED, None)

    def forget(self) -> None:
        """This node belongs to another fleet: end every link."""
        for link in self:
            link.drop(NOT_NEEDED, None)

    async def stop(self) -> None:
        """Say goodbye on all of them, and return when they have ended; begin none any more."""
        self._stopping = True
        for link in self:
            link.goodbye()
        if self._running:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2 * GOODBYE_S):
                    await self._none.wait()
        for errand in self._errands:
            errand.cancel()
        await asyncio.gather(*self._errands, return_exceptions=True)

    async def taken(self, member: Member, socket: web.WebSocketResponse, where: str) -> None:
        """A member has dialled us: run the link, or say that it was removed."""
        local = socket.get_extra_info("sockname")
        await self._run(member, socket, dialler=member.node, where=where, local=local)

    async def dialled(self, member: Member, dialled: Dialled) -> None:
        """We have dialled a member."""
        try:
            await self._run(
                member,
                dialled.socket,
                dialler=self._ledger.node,
                where=written(dialled.address.host, dialled.address.port),
                local=dialled.socket.get_extra_info("sockname"),
                address=dialled.address,
            )
        finally:
            await dialled.close()

    async def _run(
        self,
        member: Member,
        socket: Socket,
        *,
        dialler: bytes,
        where: str,
        local: object,
        address: Address | None = None,
    ) -> None:
        if self._stopping:
            await socket.close(code=STOPPING)
            return
        link = Link(
            socket,
            self._sessions(member),
            self._ledger,
            self,
            member,
            dialler=dialler,
            where=where,
            address=address,
            local=str(local[0]) if isinstance(local, tuple) and local else "",
        )
        self._running[link] = None
        self._none.clear()
        keeper = self._keepers.get(member.node)
        if member.removed or keeper is None:
            self.dismiss(link)
        ended = Ended(code=BROKEN, reason=None)
        try:
            ended = await link.run()
        finally:
            del self._running[link]
            if keeper is not None:
                keeper.lost(link, ended)
            if not self._running:
                self._none.set()

    def dismiss(self, link: Link) -> None:
        """End a link to somebody who is no member: nothing more of it comes in."""
        link.mute()
        self._errand(self._farewell(link))

    async def _farewell(self, link: Link) -> None:
        proof: list[Entry] = []
        with contextlib.suppress(AskmeshError):
            proof = await self._ledger.farewell(link.member.node)
        link.dismiss(proof)

    # --- what a link tells (`sync.net.link.Owner`) ------------------------------------------

    def opened(self, link: Link) -> None:
        """A peer has said who it is: one link to each stays."""
        keeper = self._keepers.get(link.member.node)
        if keeper is None:
            link.drop(NOT_NEEDED, None)
            return
        first = keeper.live
        if first is not None and not second_stays(_side(first), _side(link)):
            link.drop(DUPLICATE, None)
            return
        keeper.connected(link)
        self._callbacks.opened(link.member.node)
        if first is not None:
            first.drop(DUPLICATE, None)
        self._errand(self._remember(link))

    def heard(self, link: Link, raw: bytes, signature: bytes) -> None:
        """Signed presence came."""
        self._callbacks.heard(raw, signature, link.member.node)

    def carried(self, link: Link, raw: bytes, signature: bytes) -> None:
        """A signed letter came."""
        self._callbacks.carried(raw, signature, link.member.node)

    def troubled(self, link: Link) -> None:
        """What hinders a link has changed."""
        self._callbacks.changed(link.member.node)

    async def _remember(self, link: Link) -> None:
        with contextlib.suppress(AskmeshError):
            await self._ledger.reached(link.member.node, link.address, link.figures().version or "")

    def _errand(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)


def _side(link: Link) -> Side:
    return Side(dialler=link.dialler, opened=link.opened_at or 0.0, run=link.run_of_peer)
