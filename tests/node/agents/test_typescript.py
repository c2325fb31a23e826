"""The official TypeScript client, over the real bridge."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from node.bridge.start import launcher
from tests.machine import CLIENTS
from tests.node.agents.conftest import Node
from tests.node.agents.double import full

pytestmark = pytest.mark.npm


@asynccontextmanager
async def calling(node: Node, *calls: tuple[str, dict[str, Any]]) -> AsyncIterator["Lines"]:
    """The client, carrying out these calls one after the other."""
    order = {
        "command": sys.executable,
        "args": ["-I", "-S", launcher(), "mcp", "--home", str(node.home), "--no-start"],
        "env": {"PATH": os.environ["PATH"]},
        "calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
    }
    process = await asyncio.create_subprocess_exec(
        "node", "mcp_client.mjs", json.dumps(order), stdout=subprocess.PIPE, cwd=CLIENTS
    )
    assert process.stdout is not None
    yield Lines(process.stdout)
    async with asyncio.timeout(20):
        assert await process.wait() == 0


class Lines:
    """What the client says."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.reader = reader

    async def next(self) -> dict[str, Any]:
        """Its next line."""
        async with asyncio.timeout(20):
            line: dict[str, Any] = json.loads(await self.reader.readline())
        return line


async def test_tools_are_listed_and_called_and_their_replies_fit_the_schemas(node: Node) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("flag", {"kind": "question", "title": "Which port?", "options": ["8000"]}),
        ("pending", {}),
        ("status", {"text": "testing"}),
        ("whoami", {}),
    ]
    async with calling(node, *calls) as client:
        listed = await client.next()
        assert listed["server"]["name"] == "askmesh"
        assert listed["tools"][:2] == ["flag", "await_answer"]
        replies = [await client.next() for _ in calls]
    structured = [reply["result"]["structuredContent"] for reply in replies]
    assert structured[0]["id"] == "aaaa-1"
    assert structured[1]["rows"][0]["title"] == "Which port?"
    assert structured[2] == {"noted": True}
    assert structured[3]["agent"] == "typescript-bot"


async def test_misuse_is_a_result_that_the_agent_reads(node: Node) -> None:
    async with calling(node, ("flag", {"kind": "question"})) as client:
        await client.next()
        result = (await client.next())["result"]
    assert result["isError"]
    assert "`title`" in result["content"][0]["text"]


async def test_a_wait_with_progress_outlives_a_restart(node: Node) -> None:
    async with calling(node, ("await_answer", {"id": full(1)})) as client:
        await client.next()
        assert await client.next() == {"progress": 0}
        await node.desk.until(lambda: node.desk.waits)
        await node.restart()
        await node.desk.until(lambda: len(node.desk.waits) == 2)
        node.desk.answer(1)
        while "progress" in (line := await client.next()):
            pass
    assert line["result"]["structuredContent"]["choice"] == "8000"
