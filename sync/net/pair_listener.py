"""Where a machine that shows a pairing code waits for the other one.

A port of its own, open only while a code is shown: one connection at a time, one-way TLS
(the other side's certificate is not known yet), one WebSocket. The first ANSWER that reads
spends the code: from then on nobody else is heard. The code itself is never logged.
"""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from aiohttp import web

from sync.limits import (
    GOODBYE_S,
    HANDSHAKE_S,
    PAIR_CONNECTIONS,
    PAIR_MESSAGE_BYTES,
    PAIR_MESSAGE_S,
    PAIR_WINDOW_S,
    PAIRING_S,
)
from sync.net.certificate import fits
from sync.net.listener import accepted, listening, secured
from sync.net.pair_exchange import Admit, End, Ended, Exchange, failed, paired
from sync.net.pair_key import stretch
from sync.net.pair_talk import PATH, Talk
from sync.net.tls import Keyring
from sync.wire.pairing import Minter
from sync.wire.pairing_code import Code
from sync.wire.pairing_failures import Why, at_minter
from sync.wire.pairing_steps import Admission, Candidate, Failure, Me
from sync.wire.pairing_words import NONCE_BYTES, SID_BYTES

CLEAN_UP_S: Final = 0.2
TURNED_AWAY_S: Final = 0.05
"""Between connections that are not heard, so that a flood of them costs little."""

_log = logging.getLogger("askmesh.pairing")


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """How long things last. Tests use smaller times."""

    code_s: float = PAIRING_S
    message_s: float = PAIR_MESSAGE_S
    handshake_s: float = HANDSHAKE_S
    window_s: float = PAIR_WINDOW_S


class PairListener:
    """One code, from when it is shown until it is spent, withdrawn or has run out."""

    def __init__(
        self,
        keyring: Keyring,
        me: Me,
        code: Code,
        *,
        admit: Admit,
        ended: Callable[[Ended], None],
        random: Callable[[int], bytes],
        bind: str | None = None,
        port: int = 0,
        times: Times | None = None,
    ) -> None:
        self.sid = random(SID_BYTES)
        """Names the code on the network (mDNS)."""
        self.port: int | None = None
        """Where it listens; None before and after."""
        self._tls = keyring.one_way_server()
        self._me = me
        self._code: Code | None = code
        self._admit = admit
        self._ended = ended
        self._random = random
        self._bind = bind
        self._wanted = port
        self._times = times or Times()
        self._key = b""
        self._runner: web.AppRunner | None = None
        self._task: asyncio.Task[None] | None = None
        self._sockets: list[socket.socket] = []
        self._turn = asyncio.Lock()
        self._turns: dict[asyncio.BaseTransport, _Turn] = {}
        self._taking: set[asyncio.Task[None]] = set()
        self._seen, self._quiet_until = deque[float](), 0.0
        self._exchange: Exchange | None = None
        self._spent = asyncio.Event()
        self._done = asyncio.Event()
        self._withdrawn = asyncio.Event()
        self._over = False
        self._result: Ended | None = None

    async def open(self) -> int:
        """Derive the key and listen; return the port. Once only. Raises `OSError`."""
        code, self._code = self._code, None
        if code is None:
            raise RuntimeError("a pairing listener is opened once")
        self._key = await stretch(code, self.sid)
        self._sockets = listening(self._bind, self._wanted)
        self.port = int(self._sockets[0].getsockname()[1])
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._asked)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=CLEAN_UP_S)
        await self._runner.setup()
        self._task = asyncio.create_task(self._run(self._runner))
        return self.port

    async def close(self) -> None:
        """Withdraw the code and tell `ended`; what has ended already stays as it ended."""
        self._withdrawn.set()
        if self._task is not None:
            await asyncio.shield(self._task)

    # --- the time of the code ---------------------------------------------------------------

    async def _run(self, runner: web.AppRunner) -> None:
        accepting = [asyncio.create_task(self._accept(one)) for one in self._sockets]
        spent, done, withdrawn = waiting = [
            asyncio.create_task(event.wait())
            for event in (self._spent, self._done, self._withdrawn)
        ]
        result = Ended(end=End.STOPPED, sentence="The code was withdrawn.")
        try:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait((spent, withdrawn), timeout=self._times.code_s, return_when=first)
            await self._shut(accepting)
            if self._spent.is_set():
                # What has begun ends by itself: each of its messages has its time.
                await asyncio.wait((done, withdrawn), return_when=first)
            elif not self._withdrawn.is_set():
                result = failed(Failure(why=Why.EXPIRED), End.EXPIRED)
        finally:
            self._over = True
            await self._shut(accepting)
            tasks = (*waiting, *self._taking)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if self._exchange is not None and self._exchange.deciding is not None:
                await asyncio.wait([self._exchange.deciding])
            await runner.cleanup()
            self._key = b""
            self._ended(self._result or self._cut_short() or result)

    async def _let_in(self, candidate: Candidate) -> Admission:
        """Ask the node, unless the time of the code is over: then nobody is let in."""
        if self._over:
            raise at_minter(Why.EXPIRED)
        return await self._admit(candidate)

    def _cut_short(self) -> Ended | None:
        """How it ended when the listener was closed while a machine was being let in."""
        candidate = self._exchange.admitted if self._exchange is not None else None
        return None if candidate is None else paired(candidate, confirmed=False)

    async def _shut(self, accepting: list[asyncio.Task[None]]) -> None:
        # Nobody may watch a descriptor that is closed: the next connection of this process is
        # given the same number, and could not be watched.
        for task in accepting:
            task.cancel()
        await asyncio.gather(*accepting, return_exceptions=True)
        for one in self._sockets:
            one.close()
        self._sockets, self.port = [], None

    # --- connections, one after the other ---------------------------------------------------

    async def _accept(self, listening_: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while not self._spent.is_set():
            try:
                connection, _ = await accepted(listening_)
            except OSError as error:
                if self._spent.is_set():
                    return
                _log.warning("no machine can be heard: %s", error)
                await asyncio.sleep(1.0)
                continue
            if self._too_many(loop.time()):
                connection.close()
                await asyncio.sleep(TURNED_AWAY_S)
                continue
            taking = loop.create_task(self._take(connection))
            self._taking.add(taking)
            taking.add_done_callback(partial(self._taken, connection))

    def _taken(self, connection: socket.socket, taking: "asyncio.Task[None]") -> None:
        self._taking.discard(taking)
        connection.close()
        if not taking.cancelled() and taking.exception() is not None:
            _log.error("a pairing failed", exc_info=taking.exception())

    def _too_many(self, now: float) -> bool:
        """Count a connection; whether it is turned away."""
        if now < self._quiet_until:
            return True
        while self._seen and self._seen[0] <= now - self._times.window_s:
            self._seen.popleft()
        self._seen.append(now)
        if len(self._seen) <= PAIR_CONNECTIONS:
            return False
        self._quiet_until = now + self._times.window_s
        self._seen.clear()
        _log.warning("too many connections for one code: nobody is heard for a while")
        return True

    async def _take(self, connection: socket.socket) -> None:
        server = None if self._runner is None else self._runner.server
        if server is None:
            return
        try:
            transport = await secured(server, connection, self._tls, self._times.handshake_s)
        except (OSError, TimeoutError):
            return
        # Secured at once, heard in turn: who dials takes a silent port for one that is off.
        turn = self._turns[transport] = _Turn()
        try:
            async with self._turn:
                turn.called.set()
                async with asyncio.timeout(self._times.handshake_s):
                    await turn.asked.wait()
                await turn.served.wait()
        except TimeoutError:
            pass
        finally:
            del self._turns[transport]
            transport.abort()

    async def _asked(self, request: web.Request) -> web.StreamResponse:
        turn = None if request.transport is None else self._turns.get(request.transport)
        if turn is None or turn.asked.is_set():
            return _no(503)
        turn.asked.set()
        try:
            await turn.called.wait()
            return _no(503) if self._spent.is_set() else await self._answered(request)
        finally:
            turn.served.set()

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        if request.method != "GET" or request.rel_url.raw_path != PATH:
            return _no(404)
        # aiohttp refuses what reaches its limit, not only what exceeds it.
        ws = web.WebSocketResponse(
            compress=False,
            max_msg_size=PAIR_MESSAGE_BYTES + 1,
            timeout=GOODBYE_S,
            decode_text=False,
        )
        if not ws.can_prepare(request):
            return _no(426)
        await ws.prepare(request)
        minter = Minter(
            self._me, sid=self.sid, key=self._key, nonce=self._random(NONCE_BYTES), fits=fits
        )
        exchange = self._exchange = Exchange(
            minter, Talk(ws, self._times.message_s), self._let_in, host=request.remote or ""
        )
        try:
            self._result = await exchange.run(self._spent.set)
            await ws.close()
        finally:
            if self._spent.is_set():
                self._done.set()
        return ws


class _Turn:
    """A connection that is served, or waits to be."""

    def __init__(self) -> None:
        self.called = asyncio.Event()
        self.asked = asyncio.Event()
        self.served = asyncio.Event()


def _no(status: int) -> web.Response:
    response = web.Response(status=status)
    response.force_close()
    return response
