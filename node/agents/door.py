"""The way into the MCP server: takes upgraded connections, loads the SDK when there is time."""

import asyncio
import importlib
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from node.agents import tools_ask, tools_board, tools_follow, tools_message, tools_self
from node.agents.asker import Hello, Peer
from node.agents.stream import INVALID_REQUEST, PROTOCOL, Stream
from node.agents.tools import Tools
from node.desk.protocols import Agents
from node.limits import MCP_LOAD_AFTER_S, MCP_STREAMS
from sync.errors import Invalid, TooMany

if TYPE_CHECKING:
    from node.agents.server import McpServer


class McpDoor:
    """Serves MCP to bridges. The SDK is imported once, in a thread, on `warm` or first use.

    Importing it takes more of a processor than all else that a node does to start, and would
    hold up what comes first: so it waits for the first bridge, or until the node has run a while.
    """

    def __init__(self, agents: Agents, *, version: str) -> None:
        self._agents = agents
        self._version = version
        self._loading: asyncio.Task[McpServer] | None = None
        self._later: asyncio.TimerHandle | None = None
        self._streams: dict[Stream, asyncio.Task[None] | None] = {}

    def warm_later(self) -> None:
        """Load the SDK once the node has run a while, so that a first bridge finds it there."""
        self._later = asyncio.get_running_loop().call_later(MCP_LOAD_AFTER_S, self.warm)

    def warm(self) -> "asyncio.Task[McpServer]":
        """Begin to load the SDK."""
        if self._loading is None:
            self._loading = asyncio.create_task(self._load())
        return self._loading

    async def _load(self) -> "McpServer":
        module = await asyncio.to_thread(importlib.import_module, "node.agents.server")
        tools = Tools(
            tools_ask.TOOLS,
            tools_follow.TOOLS,
            tools_self.TOOLS,
            tools_message.TOOLS,
            tools_board.TOOLS,
        )
        server: McpServer = module.McpServer(self._agents, tools, version=self._version)
        return server

    async def take(self, request: web.Request, peer: Peer) -> web.StreamResponse:
        """Serve one bridge until it goes. Raises `Invalid` and `TooMany` before the switch."""
        if request.headers.get("Upgrade", "").lower() != PROTOCOL:
            raise Invalid(f"This route needs `Upgrade: {PROTOCOL}`.")
        if len(self._streams) >= MCP_STREAMS:
            raise TooMany(f"{MCP_STREAMS} MCP connections are open; close one.")
        self.warm()
        stream = Stream(request)
        self._streams[stream] = asyncio.current_task()
        try:
            response = await stream.open()
            await self._serve(stream, peer)
        finally:
            del self._streams[stream]
        return response

    async def _serve(self, stream: Stream, peer: Peer) -> None:
        try:
            hello = msgspec.convert(await stream.hello(), Hello)
        except ConnectionResetError:
            return
        except ValueError as error:
            await stream.send_error(INVALID_REQUEST, str(error))
            return
        server = await asyncio.shield(self.warm())
        await server.serve(stream, hello, peer)

    def close(self) -> None:
        """Drop all connections without a word: their bridges ask the next node again."""
        if self._later is not None:
            self._later.cancel()
        for stream, task in self._streams.items():
            stream.silent = True
            if task is not None:
                task.cancel()
