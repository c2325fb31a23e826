"""One member as its links see it: dialled until there is one, and how it stands meanwhile."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Final

import msgspec
from msgspec import UNSET

from sync.errors import StoreError
from sync.limits import BACKOFF_FIRST_S, BACKOFF_MAX_S, SIGHTING_S
from sync.net.contract import Ended
from sync.net.dialling import Backoff, Chance, in_order, round_of
from sync.net.faults import most_telling
from sync.net.ledger import Address, Ledger, Member
from sync.net.link import Link
from sync.net.reach import Dialled, reach
from sync.net.tls import Keyring

STEADY_S: Final = 10.0
"""A link that lived this long ends the backoff; one that fails sooner may fail for ever."""

_log = logging.getLogger("askmesh.link")


class LinkState(Enum):
    """How the link to one member stands."""

    CONNECTED = "connected"
    DIALLING = "dialling"
    WAITING = "waiting"
    """Between two tries, or not dialled from here (a fleet larger than a full mesh)."""


class LinkStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the link to one member stands, for persons."""

    state: LinkState
    address: str | None = None
    """`host:port` of the other end, now or at the last link."""
    round_trip_ms: float | None = None
    behind_us: int = 0
    """Entries it has told of that are not here yet."""
    behind_them: int = 0
    """Entries here that it has not acknowledged."""
    version: str | None = None
    skew_ms: int | None = None
    """How far its clock is ahead of ours."""
    trouble: str | None = None
    """Why there is no link, or what hinders this one; a sentence."""
    since: int | None = None
    """Judging clock: since when the state is as it is."""
    last_heard: int | None = None
    """Judging clock: when it last said anything on a link."""


class Keeper:
    """Keeps a link to one member. `run` runs a dialled link to its end."""

    def __init__(
        self,
        member: Member,
        ledger: Ledger,
        keyring: Keyring,
        *,
        run: Callable[[Member, Dialled], Awaitable[None]],
        changed: Callable[[bytes], None],
        chance: Chance,
        backoff: tuple[float, float] = (BACKOFF_FIRST_S, BACKOFF_MAX_S),
    ) -> None:
        self.member = member
        self.live: Link | None = None
        """The link that is open and kept."""
        self._ledger = ledger
        self._keyring = keyring
        self._run = run
        self._changed = changed
        self._backoff = Backoff(chance, first=backoff[0], most=backoff[1])
        self._sighted: tuple[Address, ...] = ()
        self._sighted_at = -BACKOFF_MAX_S
        self._wanted = False
        self._vain = False
        self._wake = asyncio.Event()
        self._free = asyncio.Event()
        self._free.set()
        self._task: asyncio.Task[None] | None = None
        self._connected_at = 0.0
        self._status: LinkStatus | None = None

    # --- from the mesh ------------------------------------------------------------------

    def want(self, *, wanted: bool) -> None:
        """Begin or end to dial. A link that is there stays."""
        if wanted and not self._wanted:
            self._vain = False
        self._wanted = wanted
        if wanted and self._task is None:
            self._task = asyncio.create_task(self._keep())
            self._task.add_done_callback(_report)
        self._wake.set()

    async def stop(self) -> None:
        """End to dial."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def wake(self) -> None:
        """Something has changed: dial at once, and as often as at first."""
        self._backoff.reset()
        self._vain = False
        self._wake.set()

    @property
    def away(self) -> bool:
        """Whether it was dialled in vain since it was wanted, or since something changed."""
        return self._vain and self.live is None

    def sighted(self, addresses: Sequence[Address]) -> None:
        """It may be there now (at these addresses); the same again says nothing new."""
        now = asyncio.get_running_loop().time()
        fresh = tuple(addresses)
        news = not fresh or fresh != self._sighted
        if fresh:
            self._sighted = fresh
        if news and self.live is None and now - self._sighted_at >= SIGHTING_S:
            self._sighted_at = now
            self.wake()

    def connected(self, link: Link) -> None:
        """A link is open and kept."""
        self.live = link
        self._free.clear()
        self._connected_at = asyncio.get_running_loop().time()
        self._show(LinkState.CONNECTED, trouble=None)

    def lost(self, link: Link, ended: Ended) -> None:
        """A link has ended: the kept one, or one that never opened."""
        if self.live is not None and self.live is not link:
            return
        if self.live is link:
            self._status = self.status()
            self.live = None
            if asyncio.get_running_loop().time() - self._connected_at >= STEADY_S:
                self._backoff.reset()
        self._free.set()
        self._show(LinkState.WAITING, trouble=ended.reason)

    def failed(self, trouble: str) -> None:
        """An attempt, from either side, did not become a link."""
        if self.live is None:
            self._show(LinkState.WAITING, trouble=trouble)

    def status(self) -> LinkStatus | None:
        """How the link stands; None: there never was an attempt."""
        if self.live is None or self._status is None:
            return self._status
        figures = self.live.figures()
        return msgspec.structs.replace(
            self._status,
            address=self.live.where,
            round_trip_ms=figures.round_trip_ms,
            behind_us=figures.behind_us,
            behind_them=figures.behind_them,
            version=figures.version,
            skew_ms=figures.skew_ms,
            trouble=figures.trouble,
            last_heard=figures.last_heard,
        )

    # --- dialling -----------------------------------------------------------------------

    async def _keep(self) -> None:
        try:
            while True:
                await self._free.wait()
                if not self._wanted:
                    break
                self._wake.clear()
                await self._try()
                if self.live is None:
                    self._vain = True
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(self._backoff.next()):
                            await self._wake.wait()
        finally:
            if self._task is asyncio.current_task():
                self._task = None

    async def _try(self) -> None:
        try:
            known = await self._ledger.addresses(self.member.node)
        except StoreError as error:
            self.failed(error.sentence)
            return
        addresses = round_of(in_order(known, self._sighted), self._backoff.tries)
        if self.live is not None:
            return
        self._show(LinkState.DIALLING)
        dialled, failures = await reach(self._keyring, self.member, addresses)
        if dialled is not None:
            await self._run(self.member, dialled)
        else:
            told = most_telling(failures)
            self.failed("" if told is None else told.sentence)

    def _show(self, state: LinkState, *, trouble: str | msgspec.UnsetType | None = UNSET) -> None:
        """Set what persons see; tell of it where it differs for them."""
        before = self._status
        if before is None:
            before = LinkStatus(state=LinkState.WAITING, since=self._ledger.now())
        turned = (state is LinkState.CONNECTED) != (before.state is LinkState.CONNECTED)
        said = before.trouble if trouble is UNSET else trouble
        self._status = msgspec.structs.replace(
            before,
            state=state,
            trouble=said,
            since=self._ledger.now() if turned else before.since,
            round_trip_ms=None if turned else before.round_trip_ms,
        )
        if turned or said != before.trouble:
            self._changed(self.member.node)


def _report(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("a keeper ended", exc_info=task.exception())
