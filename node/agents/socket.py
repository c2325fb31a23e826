"""The node's Unix socket: HTTP for agents, and nothing that answers or grants.

Every route here is of the agent class (DESIGN §3); persons' routes exist only on the page.
"""

import asyncio
import contextlib
import json
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, cast

from aiohttp import web

from node.agents.door import McpDoor
from node.agents.peer import peer_of
from node.agents.routes import AgentRoutes, Hook, reply_error
from node.bridge.paths import make_socket_folder
from node.desk.protocols import Agents
from node.limits import REQUEST_BYTES, SOCKET_CONNECTIONS
from sync.errors import AskmeshError, Invalid, NotAllowed, NotFound, TooLarge

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

IDLE_S: Final = 75.0
"""A connection that asks for nothing is closed after this."""

STOP_S: Final = 2.0
"""Short requests may finish; those that wait for a person are let go at once."""

BACKLOG: Final = 256


class AgentSocket:
    """The listener. `open` serves, `close` lets every waiter go and removes the socket."""

    def __init__(self, home: str, agents: Agents, hook: Hook, *, version: str) -> None:
        self._home = home
        self._door = McpDoor(agents, version=version)
        self._waits: set[asyncio.Task[object]] = set()
        self._runner = web.AppRunner(
            self._application(AgentRoutes(agents, hook, self.waiting)),
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=IDLE_S,
            shutdown_timeout=STOP_S,
        )
        self._server: asyncio.Server | None = None
        self._bound: tuple[Path, int] | None = None

    async def open(self) -> str:
        """Serve; the socket's path. The caller holds the lock of the data directory."""
        await self._runner.setup()
        path = make_socket_folder(self._home)
        listening, inode = bound_socket(Path(path))
        self._bound = (Path(path), inode)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(
            self._protocol, sock=listening, backlog=BACKLOG
        )
        self._door.warm_later()
        return path

    async def close(self) -> None:
        """Stop serving; a second call does nothing."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        self._door.close()
        for task in list(self._waits):
            task.cancel()
        await self._runner.cleanup()
        if self._bound is not None:
            remove_socket(*self._bound, home=Path(self._home))

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Around what may take long: it is cancelled at once when the node stops."""
        task = asyncio.current_task()
        if task is not None:
            self._waits.add(task)
        try:
            yield
        finally:
            self._waits.discard(task)

    def _protocol(self) -> asyncio.Protocol:
        server = self._runner.server
        if server is None or len(server.connections) >= SOCKET_CONNECTIONS:
            return Refusal()
        return server()

    def _application(self, routes: AgentRoutes) -> web.Application:
        application = web.Application(
            client_max_size=REQUEST_BYTES, middlewares=[errors_as_json, same_user_only]
        )
        application.add_routes(routes.table())
        application.router.add_get("/agent/mcp", self._mcp)
        return application

    async def _mcp(self, request: web.Request) -> web.StreamResponse:
        return await self._door.take(request, peer_of(request))


class Refusal(asyncio.Protocol):
    """Answers one connection too many with a sentence, and closes it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say it before anything is read."""
        sentence = f"{SOCKET_CONNECTIONS} connections are open; nothing was recorded."
        body = json.dumps({"error": {"code": "limit", "message": sentence, "hint": ""}})
        cast("asyncio.Transport", transport).write(
            b"HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\n"
            + f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        transport.close()


def bound_socket(path: Path) -> tuple[socket.socket, int]:
    """A socket bound to the path for this user alone, in the place of a dead node's; its inode."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listening.bind(str(path))
    except OSError:
        listening.close()
        raise
    finally:
        os.umask(before)
    return listening, path.stat().st_ino


def remove_socket(path: Path, inode: int, *, home: Path) -> None:
    """Remove the socket unless a successor's stands there, and the short folder made for it."""
    with contextlib.suppress(OSError):
        if path.stat().st_ino == inode:
            path.unlink()
            if path.parent != home.absolute():
                path.parent.rmdir()


@web.middleware
async def same_user_only(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Serve this user and root, whatever the mode of the socket has become."""
    if peer_of(request).uid not in (os.getuid(), 0):
        raise NotAllowed("This node serves another user.")
    if request.headers.get("Content-Encoding"):
        raise Invalid("The body must not be compressed.")
    return await handler(request)


@web.middleware
async def errors_as_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every error in one shape, with the status of its class."""
    try:
        return await handler(request)
    except AskmeshError as error:
        return reply_error(error)
    except web.HTTPNotFound:
        return reply_error(NotFound(f"There is no route {request.path} for agents."))
    except web.HTTPMethodNotAllowed as error:
        sentence = f"{request.path} takes {', '.join(sorted(error.allowed_methods))}."
        return reply_error(Invalid(sentence), status=error.status)
    except web.HTTPRequestEntityTooLarge:
        return reply_error(TooLarge(f"The request is larger than {REQUEST_BYTES} bytes."))
    except (ConnectionError, asyncio.CancelledError):
        raise
    except Exception:
        log.exception("%s failed", request.path)
        return reply_error(
            AskmeshError(
                "askmesh failed inside, so it is not known whether this was recorded.",
                hint="The node's log says more.",
            )
        )
