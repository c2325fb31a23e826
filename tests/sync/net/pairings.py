"""Two machines that pair over real TLS on loopback, and somebody who stands in between."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import aiohttp
from aiohttp import WSMsgType, web

from sync.errors import AskmeshError
from sync.net.listener import listening
from sync.net.pair_dial import _open_context, dial
from sync.net.pair_exchange import Ended
from sync.net.pair_listener import PairListener, Times
from sync.net.pair_talk import PATH
from sync.wire.pairing_code import Code
from sync.wire.pairing_steps import Admission, Candidate, Me, Welcomed
from tests.sync.net.machines import HERE, at, keyring, until
from tests.sync.wire.pairs import ADMISSION, CODE, me

QUICK = Times(message_s=2.0, handshake_s=2.0)


class Shows:
    """Machine 1 shows a code."""

    def __init__(self, *, times: Times = QUICK, code: Code = CODE) -> None:
        self.admitted: list[Candidate] = []
        self.ends: list[Ended] = []
        self.refuses: Exception | None = None
        self.hold: asyncio.Event | None = None
        self.deciding = asyncio.Event()
        self.listener = PairListener(
            keyring(1),
            me(1),
            code,
            admit=self.admit,
            ended=self.ends.append,
            random=os.urandom,
            bind=HERE,
            times=times,
        )

    async def admit(self, candidate: Candidate) -> Admission:
        self.deciding.set()
        if self.hold is not None:
            await self.hold.wait()
        if self.refuses is not None:
            raise self.refuses
        self.admitted.append(candidate)
        return ADMISSION

    async def ended(self) -> Ended:
        await until(lambda: self.ends, "the code's time ends")
        return self.ends[0]


@asynccontextmanager
async def shows(*, times: Times = QUICK, code: Code = CODE) -> AsyncIterator[tuple[Shows, int]]:
    """Machine 1 with its listener open, and the port."""
    shown = Shows(times=times, code=code)
    port = await shown.listener.open()
    try:
        yield shown, port
    finally:
        await shown.listener.close()
        assert len(shown.ends) == 1


class Types:
    """Machine 2, on which a code is typed."""

    def __init__(self, who: Me | None = None) -> None:
        self.me = who or me(2)
        self.stored: list[Welcomed] = []
        self.fails: AskmeshError | None = None

    async def joined(self, welcomed: Welcomed) -> None:
        if self.fails is not None:
            raise self.fails
        self.stored.append(welcomed)

    async def dial(
        self, *ports: int, code: Code = CODE, times: Times = QUICK, queue_s: float = 30.0
    ) -> Welcomed:
        return await dial(
            self.me,
            [at(port) for port in ports],
            code,
            joined=self.joined,
            random=os.urandom,
            times=times,
            queue_s=queue_s,
        )


Change = Callable[[int, bytes], Awaitable[bytes]]


async def as_it_is(_at: int, raw: bytes) -> bytes:
    """Carry unchanged."""
    return raw


class Relay:
    """Ends TLS on both sides, with the key of machine 9, and may change what it carries."""

    def __init__(self, target: int, change: Change) -> None:
        self._target = target
        self._change = change
        self.seen: list[bytes] = []

    async def carry(self, request: web.Request) -> web.StreamResponse:
        towards_b = web.WebSocketResponse(max_msg_size=2**21)
        await towards_b.prepare(request)
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(
                f"wss://{HERE}:{self._target}{PATH}", ssl=_open_context(), max_msg_size=2**21
            ) as towards_a,
        ):
            ways = [
                asyncio.create_task(self._way(towards_a, towards_b)),
                asyncio.create_task(self._way(towards_b, towards_a)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        await towards_b.close()
        return towards_b

    async def _way(
        self,
        source: "aiohttp.ClientWebSocketResponse[bool] | web.WebSocketResponse",
        target: "aiohttp.ClientWebSocketResponse[bool] | web.WebSocketResponse",
    ) -> None:
        with suppress(ConnectionError, aiohttp.ClientError):
            async for message in source:
                if message.type is WSMsgType.BINARY:
                    number = len(self.seen)
                    self.seen.append(message.data)
                    changed = await self._change(number, message.data)
                    await target.send_bytes(changed)


@asynccontextmanager
async def relay(
    target: int, change: Change = as_it_is, *, number: int = 9
) -> AsyncIterator[tuple[Relay, int]]:
    """A relay towards the listener at port `target`, and its own port.

    With the certificate of machine 1 (`number`) it carries as a cable does.
    """
    between = Relay(target, change)
    app = web.Application()
    app.router.add_get(PATH, between.carry)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    sockets = listening(HERE, 0)
    await web.SockSite(runner, sockets[0], ssl_context=keyring(number).one_way_server()).start()
    try:
        yield between, int(sockets[0].getsockname()[1])
    finally:
        await runner.cleanup()


@asynccontextmanager
async def stranger(port: int) -> AsyncIterator["aiohttp.ClientWebSocketResponse[bool]"]:
    """A WebSocket to the pairing listener without a machine behind it."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(
            f"wss://{HERE}:{port}{PATH}", ssl=_open_context(), max_msg_size=2**21
        ) as web_socket,
    ):
        yield web_socket
