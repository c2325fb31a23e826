"""Where other nodes link to this one: TLS first, then one WebSocket at one path.

Connections are accepted by hand, so that what has not proved to be a member costs little:
few handshakes at once, the oldest makes room, each address is paced.
"""

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from aiohttp import web

from sync.limits import (
    FRAME_BYTES,
    GOODBYE_S,
    HANDSHAKE_S,
    HANDSHAKES_PENDING,
    LINKS,
)
from sync.net.dialling import Paces
from sync.net.ledger import Member
from sync.net.tls import Trust

PATH: Final = "/askmesh/v1"
BACKLOG: Final = 64
BURST: Final = 32
"""Connections one address may open at once: several nodes may run on one machine."""
PER_SECOND: Final = 8.0
"""Connections one address may open for long: honest nodes wait a second between tries."""
ADDRESSES_PACED: Final = 256
LINKS_EACH: Final = 3
"""Links of one member at a moment: two that collapse to one, and one that is closing."""
CLEAN_UP_S: Final = 0.2
"""What requests may still take when the listener closes: links have ended before."""
ACCEPT_PAUSE_S: Final = 0.5
"""After accepting failed (no descriptors left), so that it does not fail in a busy loop."""
MESSAGE_BYTES: Final = FRAME_BYTES + 1
"""aiohttp refuses what reaches its limit, not only what exceeds it."""

_log = logging.getLogger("askmesh.link")

Taken = Callable[[Member, web.WebSocketResponse, str], Awaitable[None]]
"""Runs a link: with whom, over what, from where (`host:port`)."""
Refused = Callable[[str, str], None]
"""Somebody was not let in: from which address, why (a sentence)."""


class Listener:
    """The peer port of one node."""

    def __init__(
        self, trust: Trust, taken: Taken, refused: Refused, *, bind: str | None, port: int
    ) -> None:
        self._trust = trust
        self._taken = taken
        self._refused = refused
        self._bind = bind
        self._wanted = port
        self.port: int | None = None
        self._sockets: list[socket.socket] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._pending: dict[asyncio.Task[None], None] = {}
        self._unasked: dict[asyncio.BaseTransport, asyncio.TimerHandle] = {}
        self._links: dict[bytes, int] = {}
        self._paces = Paces(burst=BURST, per_second=PER_SECOND, remembered=ADDRESSES_PACED)
        self._runner: web.AppRunner | None = None

    async def open(self) -> int:
        """Listen, and return the port; another one when it is taken.

        Raises `OSError` when no port of the address can be had.
        """
        if self.port is not None:
            return self.port
        try:
            self._sockets = listening(self._bind, self._wanted)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            self._sockets = listening(self._bind, 0)
            _log.warning(
                "port %d %s: links are taken at port %d",
                self._wanted,
                "is taken" if error.errno == errno.EADDRINUSE else "is not for this user to take",
                self._sockets[0].getsockname()[1],
            )
        self.port = int(self._sockets[0].getsockname()[1])
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._asked)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=CLEAN_UP_S)
        await self._runner.setup()
        self._tasks = [asyncio.create_task(self._accept(one)) for one in self._sockets]
        return self.port

    async def close(self) -> None:
        """Take no more links; those that run are ended by their owner."""
        for task in [*self._tasks, *self._pending]:
            task.cancel()
        await asyncio.gather(*self._tasks, *self._pending, return_exceptions=True)
        for one in self._sockets:
            one.close()
        for transport, timer in list(self._unasked.items()):
            timer.cancel()
            _abort(transport)
        self._unasked.clear()
        if self._runner is not None:
            await self._runner.cleanup()
        self._sockets, self._tasks, self._runner, self.port = [], [], None, None

    @property
    def pending(self) -> int:
        """How many handshakes are under way."""
        return len(self._pending)

    # --- before it is known who that is ---------------------------------------------------

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await accepted(listening)
            except OSError as error:
                _log.warning("no link can be taken: %s", error)
                await asyncio.sleep(ACCEPT_PAUSE_S)
                continue
            if not self._paces.admits(address[0], loop.time()):
                connection.close()
                continue
            if len(self._pending) >= HANDSHAKES_PENDING:
                # The oldest has had the most time; an honest one needs milliseconds.
                oldest = next(iter(self._pending))
                del self._pending[oldest]
                oldest.cancel()
            task = loop.create_task(self._handshake(connection, address[0]))
            self._pending[task] = None
            task.add_done_callback(partial(self._done, connection))
            # Accepting does not give way by itself while more are waiting.
            await asyncio.sleep(0)

    def _done(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._pending.pop(task, None)
        if task.cancelled():
            connection.close()
        elif task.exception() is not None:
            connection.close()
            _log.error("a handshake failed", exc_info=task.exception())

    async def _handshake(self, connection: socket.socket, host: str) -> None:
        loop = asyncio.get_running_loop()
        server = None if self._runner is None else self._runner.server
        if server is None:
            connection.close()
            return
        try:
            transport = await secured(server, connection, self._trust.context, HANDSHAKE_S)
        except (OSError, TimeoutError) as error:
            self._refused(host, why_refused(error))
            return
        self._unasked[transport] = loop.call_later(HANDSHAKE_S, self._silent, transport)

    def _silent(self, transport: asyncio.BaseTransport) -> None:
        if self._unasked.pop(transport, None) is not None:
            _abort(transport)

    # --- the one request --------------------------------------------------------------------

    async def _asked(self, request: web.Request) -> web.StreamResponse:
        transport = request.transport
        if transport is None:
            return _no(400)
        timer = self._unasked.pop(transport, None)
        if timer is not None:
            timer.cancel()
        member = self._trust.who(transport.get_extra_info("ssl_object"))
        if member is None:
            return _no(403)
        if request.method != "GET" or request.rel_url.raw_path != PATH:
            return _no(404)
        if sum(self._links.values()) >= LINKS or self._links.get(member.node, 0) >= LINKS_EACH:
            return _no(503)
        socket_ = web.WebSocketResponse(
            compress=False, max_msg_size=MESSAGE_BYTES, timeout=GOODBYE_S, decode_text=False
        )
        if not socket_.can_prepare(request):
            return _no(426)
        self._links[member.node] = self._links.get(member.node, 0) + 1
        try:
            await socket_.prepare(request)
            await self._taken(member, socket_, where(transport))
        except ConnectionError:
            # Gone before it heard our answer: what was not begun cannot be closed.
            return _no(400)
        finally:
            self._links[member.node] -= 1
            if not self._links[member.node]:
                del self._links[member.node]
        return socket_


def where(transport: asyncio.BaseTransport) -> str:
    """Return the other end of a connection as `host:port`."""
    name = transport.get_extra_info("peername")
    if not isinstance(name, tuple) or len(name) < 2:
        return ""
    return written(str(name[0]), int(name[1]))


def written(host: str, port: int) -> str:
    """Return an address as it is typed."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


ENDED_EARLY = "It ended before it had shown who it is."
"""Of somebody who may have looked only whether the port is open."""


def why_refused(error: BaseException) -> str:
    """Return why a handshake failed, for the log of this side."""
    reason = (getattr(error, "reason", None) or "") if isinstance(error, ssl.SSLError) else ""
    if "CERTIFICATE_VERIFY_FAILED" in reason or "VERIFY_FAILED" in str(error):
        return "It is not a machine of this fleet."
    if "PEER_DID_NOT_RETURN_A_CERTIFICATE" in reason:
        return "It shows no certificate, so it is no node of askmesh."
    if "UNSUPPORTED_PROTOCOL" in reason or "VERSION" in reason:
        return "It does not speak TLS 1.3."
    if isinstance(error, ssl.SSLError):
        return "It does not speak TLS as askmesh does."
    return ENDED_EARLY


def _no(status: int) -> web.Response:
    response = web.Response(status=status)
    response.force_close()
    return response


def _abort(transport: asyncio.BaseTransport) -> None:
    if isinstance(transport, asyncio.WriteTransport):
        with contextlib.suppress(OSError):
            transport.abort()
    else:
        transport.close()


async def accepted(listening: socket.socket) -> tuple[socket.socket, tuple[str, int]]:
    """Return the next connection. Raises `OSError`.

    Unlike `loop.sock_accept` it loses none to a cancellation that comes right then: nothing
    waits between accepting and returning.
    """
    loop = asyncio.get_running_loop()
    while True:
        try:
            connection, address = listening.accept()
        except BlockingIOError:
            pass
        else:
            connection.settimeout(0)
            return connection, address
        ready: asyncio.Future[None] = loop.create_future()
        descriptor = listening.fileno()
        loop.add_reader(descriptor, _set, ready)
        try:
            await ready
        finally:
            loop.remove_reader(descriptor)


async def secured(
    server: web.Server, connection: socket.socket, context: ssl.SSLContext, seconds: float
) -> asyncio.Transport:
    """Shake hands as the server, and return the transport that `server` is told of.

    Cancelling it ends the connection at once. Raises `OSError` and `TimeoutError`.
    """
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    handler = server()
    try:
        transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
            lambda: handler,
            connection,
            ssl=context,
            ssl_handshake_timeout=seconds,
            ssl_shutdown_timeout=GOODBYE_S,
        )
    except asyncio.CancelledError:
        # Cancelled as the handshake ends, asyncio waits for the other side's goodbye.
        if handler.transport is not None:
            handler.transport.abort()
        raise
    return transport


def _set(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def listening(bind: str | None, port: int) -> list[socket.socket]:
    """Open the sockets: one address, or both families on the same port.

    Raises `OSError`.
    """
    if bind is not None:
        return [_bound(bind, port)]
    first = _bound("0.0.0.0", port)  # noqa: S104 -- peers come from the network
    sockets = [first]
    with contextlib.suppress(OSError):
        # A machine without IPv6 takes links all the same.
        sockets.append(_bound("::", int(first.getsockname()[1])))
    return sockets


def _bound(host: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, proto, _, address = found[0]
    opened = socket.socket(family, kind, proto)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind(address)
        opened.listen(BACKLOG)
        opened.setblocking(False)  # noqa: FBT003 -- socket's own form
    except BaseException:
        opened.close()
        raise
    return opened
