"""The official MCP client with a bridge process of its own."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation

from node.bridge.start import launcher

ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
"""The client's modes, and the protocol each comes to."""


@asynccontextmanager
async def connected(
    home: Path,
    mode: str,
    *words: str,
    name: str = "own-bot",
    environment: dict[str, str] | None = None,
) -> AsyncIterator[Client]:
    """A client that has shaken hands; `words` are for the bridge."""
    line = ["-I", "-S", launcher(), "mcp", "--home", str(home), *words]
    server = StdioServerParameters(command=sys.executable, args=line, env=environment, cwd="/")
    info = Implementation(name=name, version="0")
    client: Any = Client(stdio_client(server), mode=mode, client_info=info)
    async with client as found:
        yield found


async def reply(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured reply of a call that must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    structured: dict[str, Any] = result.structured_content
    return structured
