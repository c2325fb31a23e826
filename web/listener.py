"""The page's listener: loopback only, bounded, and in no hurry to log."""

import asyncio
import contextlib
import errno
import logging
import socket
from typing import Final, cast

import msgspec
from aiohttp import web

from sync.errors import AskmeshError, Invalid, TooMany
from web.errors import PortTaken
from web.faults import WithoutContent, report
from web.guard import REPLY_HEADERS
from web.limits import ARRIVE_S, CONNECTIONS, HEADER_BYTES, IDLE_S, LINGER_S, STOP_S
from web.messages import ErrorReply, Refused
from web.replies import Handler, refuse

ADDRESSES: Final = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
BACKLOG: Final = 128

_NO_IPV6: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT})


class PageListener:
    """Serves one application. `open` binds and serves, `close` ends streams and stops."""

    def __init__(
        self, application: web.Application, port: int, *, arrive_s: float = ARRIVE_S
    ) -> None:
        self._port = port
        self._arrive_s = arrive_s
        self._unheard: dict[object, asyncio.TimerHandle] = {}
        application.middlewares.insert(0, self._hear)
        self._runner = web.AppRunner(
            application, handler_cancellation=True, shutdown_timeout=STOP_S
        )
        self._servers: list[asyncio.Server] = []

    async def open(self) -> None:
        """Serve on 127.0.0.1, and on ::1 where the machine has it. Raises `PortTaken`."""
        sockets = bound(self._port)
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        for listening in sockets:
            self._servers.append(
                await loop.create_server(self._protocol, sock=listening, backlog=BACKLOG)
            )

    async def close(self) -> None:
        """Stop serving; a second call does nothing."""
        for server in self._servers:
            server.close()
        self._servers.clear()
        await self._runner.cleanup()

    def _protocol(self) -> asyncio.Protocol:
        server = self._runner.server
        if server is None or len(server.connections) >= CONNECTIONS:
            return _Turned()
        loop = asyncio.get_running_loop()
        protocol = PageProtocol(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # None is how to have none
            auto_decompress=False,
            keepalive_timeout=IDLE_S,
            lingering_time=LINGER_S,
            logger=_logger(),
            max_field_size=HEADER_BYTES,
            max_line_size=HEADER_BYTES,
        )
        self._unheard[protocol] = loop.call_later(self._arrive_s, self._drop, protocol)
        return protocol

    @web.middleware
    async def _hear(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        timer = self._unheard.pop(request.protocol, None)
        if timer is not None:
            timer.cancel()
        return await handler(request)

    def _drop(self, protocol: web.RequestHandler) -> None:
        """Close a connection that has not said anything whole since it was made.

        The server itself only limits how long it waits for a later request.
        """
        del self._unheard[protocol]
        if protocol.transport is not None:
            protocol.transport.abort()


class PageProtocol(web.RequestHandler):
    """Reads requests; what cannot be read is refused in the one shape, and not quoted."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,  # noqa: ARG002 -- the server's own signature
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 -- quotes what was sent
    ) -> web.StreamResponse:
        """Reply to what no route has seen, and close the connection."""
        error: AskmeshError = Invalid("This is not a request that can be read.")
        # Who hung up is told nothing more, and nothing has failed here.
        if status >= 500 and not isinstance(exc, ConnectionError):
            report("the page's listener", exc or AskmeshError())
            error = AskmeshError("askmesh failed inside.", hint="The node's log says more.")
        response = refuse(error)
        response.headers.update(REPLY_HEADERS)
        response.headers["Cache-Control"] = "no-store"
        response.force_close()
        return response


def bound(port: int) -> list[socket.socket]:
    """Return a socket for each loopback address, or none at all. Raises `PortTaken`.

    Both must be ours: who else listens on one of them would be shown the passphrase of a
    person that opened `localhost`.
    """
    with contextlib.ExitStack() as opened:
        sockets = []
        for family, address in ADDRESSES:
            found = _bound(family, address, port)
            if found is not None:
                sockets.append(opened.enter_context(found))
        opened.pop_all()
        return sockets


def _bound(family: int, address: str, port: int) -> socket.socket | None:
    try:
        listening = socket.socket(family, socket.SOCK_STREAM)
    except OSError:
        if family == socket.AF_INET6:
            return None
        raise
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind((address, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if family == socket.AF_INET6 and error.errno in _NO_IPV6:
            return None
        taken = error.errno == errno.EADDRINUSE
        raise PortTaken(
            f"The page's port {port} is taken by another program on {address} ({error.strerror})."
            if taken
            else f"The page's port {port} cannot be taken on {address} ({error.strerror}).",
            hint="Choose another port: askmesh up --web-port 7728",
        ) from None
    return listening


def _logger() -> logging.Logger:
    logger = logging.getLogger("askmesh.web.http")
    if not logger.filters:
        logger.addFilter(WithoutContent())
    return logger


class _Turned(asyncio.Protocol):
    """Answers one connection too many with a sentence, and closes it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say it before anything is read."""
        error = TooMany(f"{CONNECTIONS} connections are open already.")
        refused = Refused(code=error.code, message=error.sentence, hint="Close some pages.")
        body = msgspec.json.encode(ErrorReply(error=refused))
        head = (
            "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        cast("asyncio.Transport", transport).write(head.encode() + body)
        transport.close()
