"""The official MCP client, over the real bridge, in both protocol eras."""

import asyncio
import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from mcp import Client

from node.agents.door import McpDoor
from node.bridge.start import launcher
from node.limits import WAIT_CLAUDE_S, WAIT_UNKNOWN_HOST_S
from sync.errors import Conflict
from tests.fleet.official_client import ERAS, connected
from tests.node.agents.conftest import Node
from tests.node.agents.double import DeskDouble, full


def client(
    node: Node, mode: str, *, name: str = "own-bot", environment: dict[str, str] | None = None
) -> AbstractAsyncContextManager[Client]:
    """The official client, with a bridge process of its own."""
    return connected(node.home, mode, "--no-start", name=name, environment=environment)


@pytest.fixture(params=ERAS)
def mode(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


async def test_the_eras_in_use_are_spoken(node: Node, mode: str) -> None:
    async with client(node, mode) as session:
        assert session.protocol_version == ERAS[mode]
        tools = (await session.list_tools()).tools
    assert [tool.name for tool in tools][:2] == ["flag", "await_answer"]
    assert all(tool.output_schema and tool.description for tool in tools)


async def test_replies_are_structured_and_told_in_a_sentence(node: Node, mode: str) -> None:
    async with client(node, mode) as session:
        # The client itself checks the structure against the tool's schema.
        await session.list_tools()
        flagged = await session.call_tool("flag", {"kind": "question", "title": "Which port?"})
        assert flagged.structured_content is not None
        node.desk.answer(1)
        arguments = {"id": flagged.structured_content["full_id"]}
        answer = await session.call_tool("await_answer", arguments)
        pending = await session.call_tool("pending", {})
    assert answer.structured_content is not None
    assert answer.structured_content["choice"] == "8000"
    assert "answered by Ada: chose “8000”" in str(answer.content)
    assert pending.structured_content is not None
    assert pending.structured_content["rows"][0]["title"] == "Which port?"


async def test_misuse_is_an_error_that_the_agent_can_read(node: Node, mode: str) -> None:
    async with client(node, mode) as session:
        result = await session.call_tool("flag", {"kind": "question", "titel": "x"})
        unknown = await session.call_tool("answer", {})
    assert result.is_error
    assert "no argument `titel`; it takes" in str(result.content)
    assert unknown.is_error
    assert "no tool `answer`" in str(unknown.content)


async def test_an_agent_is_told_the_tool_that_helps(node: Node, mode: str) -> None:
    node.desk.failing = Conflict("It was not handed over.", hint="Wait first.", tool="await_answer")
    async with client(node, mode) as session:
        result = await session.call_tool("await_answer", {"id": full(1)})
    assert result.is_error
    told = "It was not handed over. Wait first. The tool for it is `await_answer`."
    assert [part.text for part in result.content if part.type == "text"] == [told]


async def test_progress_is_told_while_a_call_waits(node: Node, mode: str) -> None:
    told: list[float] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        assert (total, message) == (None, "waiting for a person")
        node.desk.happened()

    async with client(node, mode) as session:
        waiting = asyncio.create_task(
            session.call_tool("await_answer", {"id": full(1)}, progress_callback=tell)
        )
        await node.desk.until(lambda: len(told) == 3)
        node.desk.answer(1)
        await waiting
    assert told == sorted(set(told))


async def test_a_cancelled_call_releases_its_waiter(node: Node, mode: str) -> None:
    async with client(node, mode) as session:
        waiting = asyncio.create_task(session.call_tool("await_answer", {"id": full(1)}))
        await node.desk.until(lambda: node.desk.waits)
        waiting.cancel()
        await node.desk.until(lambda: node.desk.released == [full(1)])
        assert not (await session.call_tool("whoami", {})).is_error


async def test_a_client_that_ends_releases_its_waiter(node: Node, mode: str) -> None:
    async with client(node, mode) as session:
        waiting = asyncio.create_task(session.call_tool("await_answer", {"id": full(1)}))
        await node.desk.until(lambda: node.desk.waits)
        waiting.cancel()
    await node.desk.until(lambda: node.desk.released == [full(1)])


async def test_a_call_in_flight_outlives_the_stop_of_the_node(node: Node, mode: str) -> None:
    async with client(node, mode) as session:
        waiting = asyncio.create_task(session.call_tool("await_answer", {"id": full(1)}))
        await node.desk.until(lambda: node.desk.waits)
        await node.restart()
        await node.desk.until(lambda: len(node.desk.waits) == 2)
        node.desk.answer(1)
        answer = await waiting
        assert (await session.call_tool("whoami", {})).structured_content
    assert answer.structured_content is not None
    assert answer.structured_content["state"] == "answered"
    ids = {request for name, _, request, _ in node.desk.calls if name == "await_answer"}
    assert len(ids) == 1


@pytest.mark.parametrize(
    ("name", "limit"), [("claude-code", WAIT_CLAUDE_S), ("own-bot", WAIT_UNKNOWN_HOST_S)]
)
async def test_a_wait_lasts_as_long_as_the_host_allows(
    node: Node, mode: str, name: str, limit: float
) -> None:
    node.desk.answer(1)
    async with client(node, mode, name=name) as session:
        await session.call_tool("await_answer", {"id": full(1)})
        seen = await session.call_tool("whoami", {})
    assert node.desk.calls[0][3] == (full(1), limit)
    assert seen.structured_content is not None
    assert seen.structured_content["wait_limit_s"] == limit


async def test_the_session_is_the_one_the_host_names(node: Node, mode: str) -> None:
    environment = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "c-1"}
    async with client(node, mode, name="claude-code", environment=environment) as session:
        seen = await session.call_tool("whoami", {})
    assert seen.structured_content is not None
    assert (seen.structured_content["agent"], seen.structured_content["session"]) == (
        "claude",
        "c-1",
    )


async def test_the_node_loads_the_sdk_before_it_is_needed() -> None:
    door = McpDoor(DeskDouble(), version="0")
    loading = door.warm()
    assert door.warm() is loading
    assert type(await loading).__name__ == "McpServer"


def test_nothing_but_the_server_imports_the_sdk() -> None:
    """It takes 0.4 s, which the start of the node does not have."""
    program = "import sys, node.agents.socket; sys.exit('mcp' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(launcher()).parents[1])
