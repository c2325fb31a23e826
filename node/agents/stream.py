"""The raw stream that `Upgrade: askmesh-mcp` turns an HTTP connection into: lines both ways.

aiohttp keeps its own protocol on the connection and hands the bytes on, as it does for
WebSockets. So it still sees the connection's end (which cancels the handler) and still
closes the connection when the listener stops.
"""

import asyncio
import json
from typing import Any, Final, cast

from aiohttp import web
from aiohttp.http import WebSocketReader

from node.limits import HELLO_BYTES, HELLO_WAIT_S, MCP_LINE_BYTES

PROTOCOL: Final = "askmesh-mcp"

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
OVERLOADED: Final = -32000


class LineTooLong(Exception):
    """The line is longer than a message may be."""


class Stream:
    """One upgraded connection. Ends when the peer closes or half-closes it."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._reader = asyncio.StreamReader(limit=MCP_LINE_BYTES)
        self._response = web.StreamResponse(
            status=101, headers={"Connection": "Upgrade", "Upgrade": PROTOCOL}
        )
        self._response.force_close()
        self.silent = False
        """True: the node is stopping, and must not answer what the next one will be asked."""

    async def open(self) -> web.StreamResponse:
        """Switch protocols."""
        transport = self._request.transport
        if transport is None:
            raise ConnectionResetError
        self._reader.set_transport(transport)
        self._request.protocol.set_parser(cast("WebSocketReader", self))
        await self._response.prepare(self._request)
        return self._response

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Bytes from the peer, as aiohttp hands them on."""
        self._reader.feed_data(data)
        return False, b""

    def feed_eof(self) -> None:
        """The peer is gone."""
        self._reader.feed_eof()

    async def line(self) -> bytes | None:
        """The next whole line; None at the end, where a torn last line is dropped."""
        try:
            line = await self._reader.readline()
        except ValueError as error:
            raise LineTooLong from error
        return line if line.endswith(b"\n") else None

    async def hello(self) -> dict[str, Any]:
        """The first line, an object. Raises `ValueError` with a sentence."""
        try:
            async with asyncio.timeout(HELLO_WAIT_S):
                line = await self.line()
        except TimeoutError:
            raise ValueError(f"No hello line came within {HELLO_WAIT_S:.0f} s.") from None
        except LineTooLong:
            line = b""
        if line is None:
            raise ConnectionResetError
        try:
            hello = json.loads(line) if len(line) <= HELLO_BYTES else None
        except (ValueError, RecursionError):
            hello = None
        if not isinstance(hello, dict) or hello.get("askmesh") != 1:
            raise ValueError("The first line must be the bridge's hello.")
        return hello

    async def send(self, line: bytes) -> None:
        """Send one line; waits while the peer does not read. Silent when it is gone."""
        if not self.silent:
            await self._response.write(line)

    async def send_error(self, code: int, message: str, request: str | int | None = None) -> None:
        """Send an error that the MCP server never sees."""
        error = {"code": code, "message": message}
        await self.send(
            json.dumps({"jsonrpc": "2.0", "id": request, "error": error}).encode() + b"\n"
        )
