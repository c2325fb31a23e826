"""Every link of one node: who is dialled, who is let in, and how each link stands.

One keeper for each member dials until there is a link; links that come in count just the
same. Nothing here decides about entries: links run `sync.wire.session.Session` over the
`Ledger`.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from sync.errors import AskmeshError
from sync.limits import REDRAW_S, SURPLUS_S
from sync.log.entry import Entry, NodeKey
from sync.net import interfaces
from sync.net.choosing import Choosing, lacking
from sync.net.clocks import Clocks, system
from sync.net.dialling import chance_of
from sync.net.discovery import Announced, Discovery, Offered
from sync.net.keeper import Keeper, LinkState, LinkStatus
from sync.net.ledger import Address, Ledger, Member
from sync.net.links import Links
from sync.net.listener import ENDED_EARLY, Listener
from sync.net.sessions import Sessions
from sync.net.settings import Callbacks, Settings
from sync.net.tls import Keyring, Trust
from sync.net.watch import Watch
from sync.wire.comparing import Sight

__all__ = ["Callbacks", "LinkState", "LinkStatus", "Mesh", "Settings"]

ENDED_HERE: Final = 4085
REFUSALS_LOGGED_S: Final = 600.0
"""One line for each address in this time: a removed machine goes on trying."""
REFUSALS_KEPT: Final = 64

_log = logging.getLogger("askmesh.link")


class Mesh:
    """The links of one node."""

    def __init__(
        self,
        ledger: Ledger,
        key: NodeKey,
        settings: Settings,
        callbacks: Callbacks,
        *,
        random: Callable[[int], bytes],
        clocks: Clocks = system,
    ) -> None:
        self._ledger = ledger
        self._settings = settings
        self._callbacks = callbacks
        self._chance = chance_of(random)
        self._keyring = Keyring(key)
        self._trust = Trust(self._keyring)
        self._keepers: dict[bytes, Keeper] = {}
        self._sessions = Sessions(ledger, settings, random=random, port=lambda: self.port)
        self._links = Links(ledger, self._keepers, callbacks, self._sessions.new)
        self._listener = Listener(
            self._trust, self._links.taken, self._refused, bind=settings.bind, port=settings.port
        )
        self._discovery = self._new_discovery(random)
        self._watch = self._new_watch(clocks)
        self._fleet = b""
        self._choosing = Choosing(self._chance)
        self._drawn_at = 0.0
        self._redrawn = False
        self._wanted: set[bytes] = set()
        self._pairing: tuple[bytes, int] | None = None
        self._asked_to_listen = False
        self._stale = asyncio.Event()
        self._following: asyncio.Task[None] | None = None
        self._refusals: dict[str, float] = {}

    def _new_discovery(self, random: Callable[[int], bytes]) -> Discovery:
        return Discovery(
            self._keyring.node,
            self.sighted,
            random=random,
            bind=self._settings.bind,
            only=self._settings.interfaces,
            every=self._settings.announce_s,
        )

    def _new_watch(self, clocks: Clocks) -> Watch:
        return Watch(
            clocks,
            tick=self._tick,
            woke=self._woke,
            moved=self._moved,
            tick_s=self._settings.tick_s,
            poll_s=self._settings.network_poll_s,
        )

    # --- from the node ------------------------------------------------------------------

    async def start(self) -> None:
        """Read the members; listen, dial and announce where there are any.

        Raises nothing for the network's faults.
        """
        self._drawn_at = asyncio.get_running_loop().time()
        await self._read_members()
        self._following = asyncio.create_task(self._follow_members())
        self._following.add_done_callback(_report)
        self._watch.start()

    async def stop(self) -> None:
        """Say goodbye on every link and close everything, within about two seconds."""
        await self._watch.stop()
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        for keeper in self._keepers.values():
            keeper.want(wanted=False)
        await asyncio.gather(self._links.stop(), self._discovery.stop())
        await asyncio.gather(*(keeper.stop() for keeper in self._keepers.values()))
        await self._listener.close()

    async def listen(self) -> int:
        """Open the listener, if it is not open yet, and return its port (pairing tells it).

        Raises `OSError` when no port can be had.
        """
        self._asked_to_listen = True
        port = await self._listener.open()
        self._announce()
        return port

    def members_changed(self) -> None:
        """Read members, fleet and addresses again; close at once what may not stay."""
        self._stale.set()

    @property
    def is_full(self) -> bool:
        """Whether each links to each, as in any small fleet."""
        return self._choosing.is_mesh

    def homes_changed(self) -> None:
        """Other machines may be homes of open asks now."""
        self._choose()

    def push(self, entries: Sequence[Entry], source: bytes | None = None) -> None:
        """Send entries that were just committed; `source`: the node they came from."""
        self._sessions.stored(entries)
        for link in self._links.kept():
            news = lacking(
                self._ledger.node,
                link.member.node,
                entries,
                source=source,
                links_of=self._callbacks.links_of,
            )
            if news:
                link.push(news)

    def presence(self, raw: bytes, signature: bytes, *, without: bytes | None = None) -> None:
        """Send signed presence on every link but the one to `without`."""
        for link in self._links.kept():
            if link.member.node != without:
                link.presence(raw, signature)

    def presence_to(self, node: bytes, raw: bytes, signature: bytes) -> None:
        """Send signed presence on the link to one node, where there is one."""
        for link in self._links.kept():
            if link.member.node == node:
                link.presence(raw, signature)

    def send_letter(self, to: bytes, raw: bytes, signature: bytes, *, relay: bool = True) -> bool:
        """Send a signed letter to a node, or (`relay`) to all linked ones to pass on.

        False: it went out on no link.
        """
        links = self._links.kept()
        chosen = [link for link in links if link.member.node == to] or (links if relay else [])
        for link in chosen:
            link.letter(raw, signature)
        return bool(chosen)

    def pairing(self, sid: bytes | None, port: int = 0) -> None:
        """Announce that a pairing listener waits at `port` (None: no more)."""
        self._pairing = None if sid is None else (sid, port)
        if sid is None:
            self._asked_to_listen = False
            self._stale.set()
        self._announce()

    async def offers(self, seconds: float = 2.0) -> list[Offered]:
        """Return the machines near by that show a pairing code (none without mDNS)."""
        return await self._discovery.offers(seconds) if self._settings.mdns else []

    def sighted(self, node: bytes, addresses: Sequence[Address] = ()) -> None:
        """A hint that a node is (at these addresses): dial it now."""
        keeper = self._keepers.get(node)
        if keeper is not None:
            keeper.sighted(addresses)

    # --- for persons --------------------------------------------------------------------

    def status(self, node: bytes) -> LinkStatus | None:
        """How the link to a node stands; None: there never was an attempt."""
        keeper = self._keepers.get(node)
        return None if keeper is None else keeper.status()

    def linked(self) -> list[bytes]:
        """The nodes with a live link now."""
        return [link.member.node for link in self._links.kept()]

    def knows_us(self) -> Sight:
        """How far the linked ones together have the logs of this node."""
        told = {link.knows_us for link in self._links.kept()}
        order = (Sight.AHEAD, Sight.SAME, Sight.UNTOLD)
        return next((sight for sight in order if sight in told), Sight.UNTOLD)

    @property
    def port(self) -> int | None:
        """Where links are taken; None: they are not."""
        return self._listener.port

    @property
    def mdns(self) -> str:
        """`on`, `off`, or the sentence why it does not work."""
        return self._discovery.state

    def addresses(self) -> list[str]:
        """Our own addresses that others can use (no port)."""
        only = self._settings.interfaces
        return interfaces.told(interfaces.read(), bind=self._settings.bind, only=only)

    # --- what changes -------------------------------------------------------------------

    async def _follow_members(self) -> None:
        while True:
            await self._stale.wait()
            self._stale.clear()
            await self._read_members()
            for keeper in self._keepers.values():
                keeper.wake()

    async def _read_members(self) -> None:
        try:
            members = await self._ledger.members()
            if self._ledger.fleet != self._fleet:
                self._end_fleet()
            await self._sessions.load()
        except AskmeshError as error:
            _log.warning("the members cannot be read: %s", error.sentence)
            return
        self._trust.set(members)
        self._keep({one.node: one for one in members if not one.removed})
        self._choose()
        await self._listen(needed=bool(members) or self._asked_to_listen)
        self._announce()
        self._callbacks.changed(None)

    def _end_fleet(self) -> None:
        """Joined or left: nothing of the former fleet fits any more."""
        self._fleet = self._ledger.fleet
        self._links.forget()
        self._sessions.forget()
        self._keep({})

    def _keep(self, members: dict[bytes, Member]) -> None:
        """Have a keeper for each of these, and no link to anyone else."""
        for node in [node for node in self._keepers if node not in members]:
            self._keepers.pop(node).want(wanted=False)
        for link in self._links:
            if link.member.node not in members:
                self._links.dismiss(link)
        for node, member in members.items():
            if node in self._keepers:
                self._keepers[node].member = member
                continue
            self._keepers[node] = Keeper(
                member,
                self._ledger,
                self._keyring,
                run=self._links.dialled,
                changed=self._callbacks.changed,
                chance=self._chance,
                backoff=self._settings.backoff_s,
            )
        self._choosing.keep(members)

    def _choose(self) -> None:
        self._wanted = self._choosing.wanted(self._callbacks.homes())
        for node, keeper in self._keepers.items():
            keeper.want(wanted=node in self._wanted)

    async def _listen(self, *, needed: bool) -> None:
        try:
            if needed:
                await self._listener.open()
            else:
                await self._listener.close()
        except OSError as error:
            _log.warning("no links can be taken: %s", error.strerror or error)

    def _announce(self) -> None:
        port = self._listener.port
        if not self._settings.mdns:
            return
        if port is None or not (self._keepers or self._pairing):
            self._discovery.announce(None)
            return
        sid, pairing_port = self._pairing or (None, 0)
        self._discovery.announce(
            Announced(port=port, sid=sid, pairing_port=pairing_port, name=self._settings.machine)
        )
        self._discovery.start()

    def _refused(self, host: str, why: str) -> None:
        """Say in the log who was not let in, once in a while for each address.

        Whoever looks from this very machine whether the port is open wanted no link: `askmesh
        doctor` does.
        """
        if why == ENDED_EARLY and host in {"127.0.0.1", "::1", self._settings.bind}:
            return
        now = asyncio.get_running_loop().time()
        if now - self._refusals.get(host, -REFUSALS_LOGGED_S) < REFUSALS_LOGGED_S:
            return
        self._refusals[host] = now
        if len(self._refusals) > REFUSALS_KEPT:
            self._refusals.pop(next(iter(self._refusals)))
        _log.warning("a link from %s was not let in: %s", host, why)

    # --- time and network -----------------------------------------------------------------

    def _tick(self) -> None:
        for link in self._links:
            link.tick()
        now = asyncio.get_running_loop().time()
        self._choose_anew(now)

    def _choose_anew(self, now: float) -> None:
        """In a large fleet: other random links now and then, and others for who is away."""
        if now - self._drawn_at >= REDRAW_S:
            self._drawn_at = now
            self._redrawn = True
            self._choosing.redraw()
            self._choose()
        away = {node for node, keeper in self._keepers.items() if keeper.away}
        if self._choosing.pass_over(away, now):
            self._choose()
        redrawn = self._redrawn and now - self._drawn_at >= SURPLUS_S
        self._redrawn = self._redrawn and not redrawn
        self._links.spare(self._wanted, redrawn=redrawn)

    def _woke(self) -> None:
        for link in self._links:
            link.drop(ENDED_HERE, "This machine slept.")
        self._redial()

    def _moved(self, gone: set[str]) -> None:
        for link in self._links:
            if link.local in gone:
                link.drop(ENDED_HERE, "The address of this machine changed.")
        self._redial()

    def _redial(self) -> None:
        for keeper in self._keepers.values():
            keeper.wake()
        self._discovery.network_changed()
        self._callbacks.changed(None)


def _report(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("the members are not followed any more", exc_info=task.exception())
