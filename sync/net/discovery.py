"""Finding other machines near by (mDNS): a hint about where to dial, never a decision.

Nothing that is announced is secret, and nothing that is read is believed: whoever answers
must still show the pinned certificate, or know the pairing code. mDNS asks only at its
start and never notices that the network changed, so asking and telling are repeated.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from zeroconf import Error, IPVersion, ServiceStateChange, Zeroconf
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from sync.decide.name import made_plain
from sync.errors import Invalid
from sync.limits import ANNOUNCE_MAX_S, ANNOUNCE_MIN_S, SERVICES_KEPT
from sync.log.names import node_bytes, node_name
from sync.net import interfaces
from sync.net.dialling import chance_of
from sync.net.interfaces import Interface
from sync.net.ledger import Address

TYPE: Final = "_askmesh._tcp.local."
INSTANCE_CHARACTERS: Final = 16
"""Of the node id: 80 bits, so that no two machines take the same name."""
VERSION: Final = "1"
RESOLVE_MS: Final = 3_000
RESOLVING: Final = 8
"""Announcements looked into at once."""
STEP_S: Final = 5.0
"""No single step of zeroconf takes longer (registering is the slowest, some 2 s)."""
GOODBYE_S: Final = 0.8
SID_BYTES: Final = 8
NAME_BYTES: Final = 120
"""A TXT item has at most 255 bytes, key included."""
ADDRESSES_EACH: Final = 8
"""Of one announcement: the rest is ignored."""

_log = logging.getLogger("askmesh.mdns")


class Offered(msgspec.Struct, frozen=True, kw_only=True):
    """A machine near by that shows a pairing code right now."""

    name: str
    sid: bytes
    addresses: tuple[Address, ...]
    """Of its pairing listener, to be tried in this order."""


class Announced(msgspec.Struct, frozen=True, kw_only=True):
    """What this node tells its network."""

    port: int
    sid: bytes | None = None
    """While pairing: the id of the offer, the port of its listener and our name."""
    pairing_port: int = 0
    name: str = ""


class Discovery:
    """mDNS of one node. No fault of the network raises; `state` says what does not work."""

    def __init__(
        self,
        node: bytes,
        seen: Callable[[bytes, Sequence[Address]], None],
        *,
        random: Callable[[int], bytes],
        bind: str | None = None,
        only: Sequence[str] | None = None,
        every: tuple[float, float] = (ANNOUNCE_MIN_S, ANNOUNCE_MAX_S),
    ) -> None:
        self.state = "off"
        """`on`, `off`, or the sentence why it does not work."""
        self._node = node
        self._seen = seen
        self._chance = chance_of(random)
        self._bind = bind
        self._only = only
        self._every = every
        self._announced: Announced | None = None
        self._registered: AsyncServiceInfo | None = None
        self._offers: dict[str, Offered] = {}
        self._names: dict[str, None] = {}
        self._resolving: dict[str, asyncio.Task[None]] = {}
        self._gate = asyncio.Semaphore(RESOLVING)
        self._near: list[Interface] = []
        self._engine: AsyncZeroconf | None = None
        self._browser: AsyncServiceBrowser | None = None
        self._looking = 0
        self._again = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look for others; returns before anything is found."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Say goodbye and close."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self._shut()
        self.state = "off"

    def announce(self, announced: Announced | None) -> None:
        """Tell this from now on (None: nothing)."""
        if announced != self._announced:
            self._announced = announced
            self._again.set()

    def network_changed(self) -> None:
        """Look at the interfaces again, ask and tell at once."""
        self._again.set()

    async def offers(self, seconds: float = 2.0) -> list[Offered]:
        """Return who shows a pairing code; looks for so long."""
        self._looking += 1
        self.start()
        self._again.set()
        try:
            await asyncio.sleep(seconds)
            return sorted(self._offers.values(), key=lambda offer: (offer.name, offer.sid))
        finally:
            self._looking -= 1
            self._again.set()

    # --- asking and telling, again and again ------------------------------------------------

    async def _run(self) -> None:
        while True:
            self._again.clear()
            try:
                if self._announced is None and not self._looking:
                    # Alone: there is nobody to find, so nothing leaves this machine.
                    await self._shut()
                    self.state = "off"
                    await self._again.wait()
                    continue
                await self._refresh()
                self.state = "on"
            except (OSError, Error, TimeoutError, RuntimeError, ValueError) as error:
                self._fails(error)
                await self._shut()
            least, most = self._every
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(least + self._chance() * (most - least)):
                    await self._again.wait()

    def _fails(self, error: BaseException) -> None:
        why = (isinstance(error, OSError) and error.strerror) or type(error).__name__
        sentence = (
            f"Other machines cannot be found by themselves (mDNS): {why}."
            " Given addresses are used all the same."
        )
        if sentence != self.state:
            _log.warning("%s", sentence)
        self.state = sentence

    async def _refresh(self) -> None:
        self._near = interfaces.near(interfaces.read(), bind=self._bind, only=self._only)
        if not self._near:
            raise OSError(0, "there is no network")
        hosts = hosts_of(self._near)
        version = IPVersion.V6Only if ":" in hosts[0] else IPVersion.V4Only
        async with asyncio.timeout(STEP_S):
            if self._engine is None:
                self._engine = AsyncZeroconf(interfaces=hosts, ip_version=version)
                await self._engine.zeroconf.async_wait_for_start()
            else:
                await self._engine.async_update_interfaces(hosts, version)
        await self._tell(self._engine)
        await self._ask(self._engine)

    async def _tell(self, engine: AsyncZeroconf) -> None:
        info = None if self._announced is None else self._info(self._announced)
        async with asyncio.timeout(STEP_S):
            if info is None and self._registered is not None:
                await (await engine.async_unregister_service(self._registered))
            elif info is not None and self._registered is not None:
                await (await engine.async_update_service(info))
            elif info is not None:
                # Not probed for: the name is ours, and an answer could only come from a liar.
                await (await engine.async_register_service(info, cooperating_responders=True))
        self._registered = info

    async def _ask(self, engine: AsyncZeroconf) -> None:
        if self._browser is not None:
            await self._browser.async_cancel()
        self._browser = AsyncServiceBrowser(engine.zeroconf, TYPE, handlers=[self._changed])

    def _info(self, announced: Announced) -> AsyncServiceInfo:
        name = node_name(self._node)
        told = {"v": VERSION, "id": name, "port": str(announced.port)}
        if announced.sid is not None:
            told |= {"pair": announced.sid.hex(), "pp": str(announced.pairing_port)}
            told["name"] = _cut(announced.name)
        short = name[:INSTANCE_CHARACTERS]
        return AsyncServiceInfo(
            TYPE,
            f"{short}.{TYPE}",
            parsed_addresses=[one.host for one in self._near][:ADDRESSES_EACH],
            # A node that only pairs has no port yet; a port of 0 means "not here".
            port=announced.port,
            properties=told,
            server=f"{short}.local.",
        )

    async def _shut(self) -> None:
        engine, self._engine = self._engine, None
        browser, self._browser = self._browser, None
        for task in self._resolving.values():
            task.cancel()
        await asyncio.gather(*self._resolving.values(), return_exceptions=True)
        self._resolving.clear()
        self._names.clear()
        self._offers.clear()
        self._registered = None
        if engine is None:
            return
        try:
            async with asyncio.timeout(GOODBYE_S):
                if browser is not None:
                    await browser.async_cancel()
                await engine.async_unregister_all_services()
        except (OSError, Error, TimeoutError):
            _log.debug("no goodbye was said by mDNS")
        with contextlib.suppress(OSError, Error, TimeoutError):
            async with asyncio.timeout(GOODBYE_S):
                await engine.async_close()

    # --- what others tell -----------------------------------------------------------------

    def _changed(
        self,
        zeroconf: Zeroconf,
        service_type: str,  # noqa: ARG002 -- zeroconf calls by these names
        name: str,
        state_change: ServiceStateChange,
    ) -> None:
        if state_change is ServiceStateChange.Removed:
            self._names.pop(name, None)
            self._offers.pop(name, None)
            return
        if name.startswith(f"{node_name(self._node)[:INSTANCE_CHARACTERS]}."):
            return
        if name in self._resolving or (
            name not in self._names and len(self._names) >= SERVICES_KEPT
        ):
            return
        self._names[name] = None
        task = asyncio.ensure_future(self._look(zeroconf, name))
        self._resolving[name] = task
        task.add_done_callback(lambda _: self._resolving.pop(name, None))

    async def _look(self, zeroconf: Zeroconf, name: str) -> None:
        try:
            async with self._gate:
                info = AsyncServiceInfo(TYPE, name)
                found = await info.async_request(zeroconf, RESOLVE_MS)
            if found:
                self._heard(name, info)
        except (OSError, Error, ValueError):
            _log.debug("an announcement could not be read")

    def _heard(self, name: str, info: AsyncServiceInfo) -> None:
        told = {key: value for key, value in info.decoded_properties.items() if value is not None}
        try:
            node = node_bytes(told.get("id", ""))
        except Invalid:
            return
        if node == self._node:
            return
        hosts = [
            host
            for host in info.parsed_scoped_addresses(IPVersion.All)
            if interfaces.on_link(host, self._near)
        ][:ADDRESSES_EACH]
        offer = _offer(told, hosts)
        if offer is None:
            self._offers.pop(name, None)
        else:
            self._offers[name] = offer
        if info.port and hosts:
            self._seen(node, _addresses(hosts, info.port))


def _offer(told: dict[str, str], hosts: list[str]) -> Offered | None:
    """Return what an announcement says about pairing, None when it does not."""
    try:
        sid = bytes.fromhex(told.get("pair", ""))
        port = int(told.get("pp", "0"))
    except ValueError:
        return None
    if len(sid) != SID_BYTES or not 0 < port < 2**16 or not hosts:
        return None
    return Offered(
        name=made_plain(told.get("name", ""), told["id"][:8]),
        sid=sid,
        addresses=tuple(_addresses(hosts, port)),
    )


def _addresses(hosts: Sequence[str], port: int) -> list[Address]:
    return [Address(host=host, port=port, source="mdns") for host in hosts]


def _cut(name: str) -> str:
    """A name that fits a TXT item, cut between characters."""
    return name.encode()[:NAME_BYTES].decode(errors="ignore")


def hosts_of(near: Sequence[Interface]) -> list[str]:
    """Return the addresses to ask on: IPv4 where there is any, zeroconf's IPv6 is partial."""
    four = [one.host for one in near if ":" not in one.host]
    return sorted(set(four or [one.host for one in near]))
