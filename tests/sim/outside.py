"""What stands around a mesh in the simulation: TLS, mDNS, the listener and the dialler.

Only these are stood in for. Who answers at a host proves by its key which node it is, as
the pinned certificates do; everything above (keepers, links, sessions, the ledger) is real.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest import mock

from sync.limits import CONNECT_S
from sync.log.entry import NodeKey
from sync.net.faults import Failure, Fault, failure
from sync.net.interfaces import Interface
from sync.net.ledger import Address, Member
from sync.net.mesh import Mesh
from sync.net.watch import Watch
from tests.sim import template
from tests.sim.loop import LIFE
from tests.sim.wire import Net, SimSocket

NET: list[Net] = []
"""The one network of this process's world."""


class Keyring:
    """Whose key this is; nothing is encrypted."""

    def __init__(self, key: NodeKey) -> None:
        self.node = key.node_id


class Trust:
    """Whom the door lets in."""

    def __init__(self, keyring: Keyring) -> None:
        self.keyring = keyring
        self.members: dict[bytes, Member] = {}

    def set(self, members: Iterable[Member]) -> None:
        """Let exactly these in."""
        self.members = {one.node: one for one in members}


class Door:
    """The listener of one machine."""

    def __init__(
        self,
        trust: Trust,
        taken: Callable[[Member, Any, str], Any],
        refused: object,
        *,
        bind: str | None,
        port: int,
    ) -> None:
        del refused, bind
        self._trust = trust
        self._taken = taken
        self._wanted = port
        self.port: int | None = None
        life = LIFE.get()
        assert life is not None
        self.life = life

    async def open(self) -> int:
        """Take links at this machine's host."""
        self.port = self._wanted
        NET[0].doors[self.life.name] = self
        return self.port

    async def close(self) -> None:
        """Take none."""
        self.port = None
        if NET[0].doors.get(self.life.name) is self:
            del NET[0].doors[self.life.name]

    @property
    def node(self) -> bytes:
        """Which node answers here."""
        return self._trust.keyring.node

    def knows(self, node: bytes) -> bool:
        """Whether its certificate would be let in."""
        return node in self._trust.members

    def let_in(self, node: bytes, socket: SimSocket, where: str) -> None:
        """Run the link of who has dialled."""
        loop = asyncio.get_running_loop()
        member = self._trust.members[node]
        task = loop.create_task(self._taken(member, socket, where), context=self.life.copy())
        self.life.tasks.append(task)


class Dialled:
    """As `sync.net.reach.Dialled`."""

    def __init__(self, socket: SimSocket, address: Address) -> None:
        self.socket = socket
        self.address = address

    async def close(self) -> None:
        """Close it."""
        await self.socket.close()


async def reach(
    keyring: Keyring, member: Member, addresses: Sequence[Address]
) -> tuple[Dialled | None, list[Failure]]:
    """Dial the addresses, one after the other."""
    failures = [] if addresses else [failure(Fault.NO_ADDRESS, name=member.name)]
    for address in addresses:
        fault, dialled = await _dial(keyring.node, member, address)
        if dialled is not None:
            return dialled, failures
        failures.append(failure(fault, where=address.host, name=member.name))
    return None, failures


async def _dial(node: bytes, member: Member, address: Address) -> tuple[Fault, Dialled | None]:
    net, life = NET[0], LIFE.get()
    assert life is not None
    here, there = life.name, address.host
    if net.is_shut(here, there) or net.is_shut(there, here):
        await asyncio.sleep(CONNECT_S)
        return Fault.TIME_OUT, None
    await asyncio.sleep(net.chance.uniform(*net.weather.delay_s))
    door: Door | None = net.doors.get(there)
    if door is None or not door.life.alive or door.life.asleep:
        return Fault.REFUSED, None
    if door.node != member.node:
        return Fault.OTHER_MACHINE, None
    if not door.knows(node):
        return Fault.NOT_KNOWN, None
    ours, theirs = net.connect(here, there, life, door.life)
    door.let_in(node, theirs, f"{here}:7717")
    return Fault.BROKEN, Dialled(ours, address)


class Discovery:
    """There is no mDNS."""

    def __init__(self, *_args: object, **_more: object) -> None:
        self.state = "off"

    def start(self) -> None: ...

    async def stop(self) -> None: ...

    def announce(self, announced: object) -> None: ...

    def network_changed(self) -> None: ...


def clocks() -> tuple[float, float]:
    """Both clocks of a machine that never sleeps unseen."""
    now = asyncio.get_running_loop().time()
    return now, now


def read() -> list[Interface]:
    """The one address of the machine that asks."""
    life = LIFE.get()
    return [] if life is None else [Interface(name="eth0", host=life.name, prefix=24)]


def told(found: Sequence[Interface], **_only: object) -> list[str]:
    """That one address; reading it as a number each time takes longer than all else here."""
    return [one.host for one in found]


@contextmanager
def installed(net: Net, writer: type) -> Iterator[None]:
    """Put these in the place of the real ones."""
    NET[:] = [net]
    with ExitStack() as stack:
        for target, stand_in in (
            ("sync.net.mesh.Keyring", Keyring),
            ("sync.net.mesh.Trust", Trust),
            ("sync.net.mesh.Listener", Door),
            ("sync.net.mesh.Discovery", Discovery),
            ("sync.net.keeper.reach", reach),
            ("sync.net.interfaces.read", read),
            ("sync.net.interfaces.told", told),
            ("node.fleet.network.Mesh", partial(Mesh, clocks=clocks)),
            ("sync.net.mesh.Watch", partial(Watch, read=read)),
            ("node.process.Writer", writer),
            ("node.birth.here", template.here),
        ):
            stack.enter_context(mock.patch(target, stand_in))
        yield
