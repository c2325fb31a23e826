"""Raw connections to the socket, as a hostile or broken client makes them."""

import asyncio
import json
from pathlib import Path
from typing import Any, Final

UPGRADE: Final = (
    b"GET /agent/mcp HTTP/1.1\r\nHost: askmesh\r\n"
    b"Connection: Upgrade\r\nUpgrade: askmesh-mcp\r\n\r\n"
)
HELLO: Final = {"askmesh": 1, "process": "mcp-1-1", "project": "p", "cwd": "/"}
INITIALIZE: Final = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "codex-mcp-client", "version": "0"},
}


class Wire:
    """One connection, written and read by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def to(cls, home: Path) -> "Wire":
        """Connect."""
        return cls(*await asyncio.open_unix_connection(str(home / "node.sock"), limit=2**25))

    @classmethod
    async def upgraded(cls, home: Path, hello: object = None) -> "Wire":
        """Connect and switch to lines, the first of which is the hello."""
        wire = await cls.to(home)
        await wire.raw(UPGRADE)
        assert (await wire.line()).startswith(b"HTTP/1.1 101 ")
        while await wire.line() != b"\r\n":
            pass
        if hello is not None:
            await wire.say(hello)
        return wire

    async def raw(self, data: bytes) -> None:
        """Send bytes."""
        self.writer.write(data)
        await self.writer.drain()

    async def say(self, message: object) -> None:
        """Send a line."""
        await self.raw(json.dumps(message).encode() + b"\n")

    async def ask(self, number: int, method: str, **params: object) -> None:
        """Send a request."""
        await self.say({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    async def line(self) -> bytes:
        """The next line; empty at the end."""
        async with asyncio.timeout(20):
            return await self.reader.readline()

    async def heard(self) -> dict[str, Any]:
        """The next line as a message."""
        message: dict[str, Any] = json.loads(await self.line())
        return message

    async def initialize(self) -> None:
        """The handshake of the older era."""
        await self.ask(0, "initialize", **INITIALIZE)
        assert (await self.heard())["result"]["protocolVersion"] == "2025-06-18"
        await self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def post(self, path: str, body: bytes, head: bytes = b"") -> tuple[int, dict[str, Any]]:
        """One request over HTTP; status and reply."""
        await self.begin(path, body, head)
        return await self.reply()

    async def begin(self, path: str, body: bytes, head: bytes = b"") -> None:
        """One request over HTTP, whose reply is not waited for."""
        first = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n".encode()
        await self.raw(first + head + b"\r\n" + body)

    async def reply(self) -> tuple[int, dict[str, Any]]:
        """The next reply over HTTP."""
        status = int((await self.line()).split()[1])
        length = 0
        while (line := await self.line()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        async with asyncio.timeout(20):
            return status, json.loads(await self.reader.readexactly(length))

    async def close(self) -> None:
        """End the connection."""
        self.writer.close()
        await self.writer.wait_closed()

    async def ended(self) -> bool:
        """Whether the node ends the connection; waits for it."""
        async with asyncio.timeout(20):
            try:
                return await self.reader.read() == b""
            except ConnectionError:
                return True
