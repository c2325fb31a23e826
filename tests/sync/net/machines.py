"""Keys, certificates and addresses of a few machines, for tests of links."""

import asyncio
from collections.abc import Callable

from sync.net.ledger import Address, Member
from sync.net.mesh import Settings
from sync.net.tls import Keyring
from tests.sync.log.entries import key

HERE = "127.0.0.1"
QUICK = Settings(
    version="0.1.0",
    machine="test",
    boot="boot",
    bind=HERE,
    port=0,
    mdns=False,
    backoff_s=(0.05, 0.2),
    tick_s=0.05,
    network_poll_s=60.0,
)


def keyring(number: int) -> Keyring:
    """The TLS side of one of the fixed keys."""
    return Keyring(key(number))


def member(number: int, *, removed: bool = False) -> Member:
    """That machine as others know it."""
    ring = keyring(number)
    return Member(node=ring.node, certificate=ring.certificate, name=f"m{number}", removed=removed)


def at(port: int, host: str = HERE) -> Address:
    """An address that someone gave."""
    return Address(host=host, port=port, source="given")


async def until(condition: Callable[[], object], what: str, seconds: float = 10.0) -> None:
    """Return once `condition` is true; fails after `seconds`, saying `what`."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not condition():
        assert loop.time() < end, f"did not happen in {seconds} s: {what}"
        await asyncio.sleep(0.005)
