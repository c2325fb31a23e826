"""Whether announcements get through on an interface: one is made there, and heard there.

Under a type of its own, so that no machine near by takes it for one. It shows that this
system lets multicast out and in; what switches and access points do with it, only another
machine can tell.
"""

import asyncio
import socket
from collections.abc import Iterable
from typing import Final

from zeroconf import Error, IPVersion, ServiceStateChange, Zeroconf
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from sync.net.interfaces import Interface

TYPE: Final = "_askmesh-trial._tcp.local."
WITHIN_S: Final = 3.0
"""An announcement is made three times within half a second; a slow machine needs longer."""
CLOSE_S: Final = 1.0


async def unheard(places: Iterable[Interface], name: str) -> dict[Interface, str]:
    """Return the interfaces on which an announcement under `name` was not heard, and why."""
    chosen = list(dict.fromkeys(places))
    said = await asyncio.gather(*(_trial(one, f"{name}-{n}") for n, one in enumerate(chosen)))
    return {one: why for one, why in zip(chosen, said, strict=True) if why is not None}


async def _trial(place: Interface, name: str) -> str | None:
    """Announce on one engine, listen on another; return why it was not heard."""
    engines: list[AsyncZeroconf] = []
    try:
        async with asyncio.timeout(WITHIN_S):
            for _ in range(2):
                engines.append(_engine(place))
                await engines[-1].zeroconf.async_wait_for_start()
            tells, listens = engines
            await _heard(tells, listens, place, f"{name}.{TYPE}")
    except TimeoutError:
        return "an announcement made there was not heard there"
    except (OSError, Error, RuntimeError, ValueError) as error:
        return (isinstance(error, OSError) and error.strerror) or type(error).__name__
    finally:
        await asyncio.gather(*(_close(engine) for engine in engines), return_exceptions=True)
    return None


def _engine(place: Interface) -> AsyncZeroconf:
    six = ":" in place.host
    # An address that has gone would leave the engine half made, with its socket open.
    with socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM) as trial:
        trial.bind((place.host, 0, 0, place.index) if six else (place.host, 0))
    version = IPVersion.V6Only if six else IPVersion.V4Only
    return AsyncZeroconf(interfaces=[place.host], ip_version=version)


async def _heard(tells: AsyncZeroconf, listens: AsyncZeroconf, place: Interface, name: str) -> None:
    found = asyncio.Event()

    def changed(
        zeroconf: Zeroconf,  # noqa: ARG001 -- zeroconf calls by these names
        service_type: str,  # noqa: ARG001
        name: str,
        state_change: ServiceStateChange,
    ) -> None:
        if state_change is ServiceStateChange.Added and name.lower() == wanted:
            found.set()

    wanted = name.lower()
    browser = AsyncServiceBrowser(listens.zeroconf, TYPE, handlers=[changed])
    try:
        info = AsyncServiceInfo(TYPE, name, parsed_addresses=[place.host], port=9)
        await tells.async_register_service(info, cooperating_responders=True)
        await found.wait()
    finally:
        await browser.async_cancel()


async def _close(engine: AsyncZeroconf) -> None:
    async with asyncio.timeout(CLOSE_S):
        await engine.async_close()
