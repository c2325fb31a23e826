"""The MCP stream of the socket, against bridges that misbehave."""

import asyncio
from typing import Any

import pytest

from node.agents import door, stream
from node.limits import HELLO_BYTES, MCP_CALLS_AT_ONCE
from tests.node.agents.conftest import Node
from tests.node.agents.double import full
from tests.node.agents.wire import HELLO, UPGRADE, Wire

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def works(node: Node) -> None:
    """A sound bridge is served."""
    wire = await Wire.upgraded(node.home, HELLO)
    await wire.initialize()
    await wire.ask(1, "tools/call", name="whoami", arguments={})
    assert (await wire.heard())["result"]["structuredContent"]["agent"] == "codex"
    await wire.close()


@pytest.mark.parametrize(
    "hello",
    [b"garbage\n", b"[]\n", b"{}\n", b'{"askmesh":2}\n', b'{"askmesh":1,"project":5}\n',
     b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n', b"[" * 60_000 + b"\n",
     b"x" * HELLO_BYTES * 2 + b"\n", b"\n"],
)  # fmt: skip
async def test_a_bad_hello_is_answered_and_ends_the_connection(node: Node, hello: bytes) -> None:
    wire = await Wire.upgraded(node.home)
    await wire.raw(hello)
    assert (await wire.heard())["error"]["code"] == -32600
    assert await wire.ended()
    await wire.close()
    await works(node)


async def test_no_hello_is_not_waited_for_long(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HELLO_WAIT_S", 0.05)
    wire = await Wire.upgraded(node.home)
    assert "No hello line came" in (await wire.heard())["error"]["message"]
    assert await wire.ended()
    await wire.close()


async def test_a_second_hello_is_no_message_and_changes_nothing(node: Node) -> None:
    wire = await Wire.upgraded(node.home, HELLO)
    await wire.say(HELLO | {"agent": "someone-else"})
    assert (await wire.heard())["error"]["code"] == -32700
    await wire.initialize()
    await wire.ask(1, "tools/call", name="whoami", arguments={})
    assert (await wire.heard())["result"]["structuredContent"]["agent"] == "codex"
    await wire.close()


@pytest.mark.parametrize("early", [b"", b'{"askmesh":1}\n'])
async def test_a_bridge_that_goes_during_the_switch_leaves_nothing(
    node: Node, early: bytes
) -> None:
    for _ in range(20):
        wire = await Wire.to(node.home)
        await wire.raw(UPGRADE + early)
        await wire.close()
    await works(node)


async def test_a_half_closed_connection_counts_as_gone(node: Node) -> None:
    wire = await Wire.upgraded(node.home, HELLO)
    await wire.initialize()
    await wire.ask(1, "tools/call", name="await_answer", arguments={"id": full(1)})
    await node.desk.until(lambda: node.desk.waits)
    wire.writer.write_eof()
    await node.desk.until(lambda: node.desk.released == [full(1)])
    assert await wire.ended()
    await wire.close()


async def test_a_torn_last_line_is_dropped(node: Node) -> None:
    wire = await Wire.upgraded(node.home, HELLO)
    await wire.initialize()
    await wire.raw(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status"')
    await wire.close()
    await works(node)
    assert [name for name, *_ in node.desk.calls] == ["whoami"]


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"[]",
        b"[" * 100_000,
        b"\xff\xfe",
        b"1",
        b"null",
    ],
)
async def test_garbage_between_messages_is_answered(node: Node, line: bytes) -> None:
    wire = await Wire.upgraded(node.home, HELLO)
    await wire.initialize()
    await wire.raw(line + b"\n")
    assert (await wire.heard())["error"]["code"] == -32700
    await wire.ask(5, "ping")
    assert (await wire.heard())["id"] == 5
    await wire.close()


@pytest.mark.parametrize("request_id", [7, "seven"])
async def test_what_is_not_quite_a_message_is_answered_under_its_id(
    node: Node, request_id: str | int
) -> None:
    wire = await Wire.upgraded(node.home, HELLO)
    await wire.initialize()
    # A lone surrogate is JSON to some and not to others.
    await wire.say(
        {"jsonrpc": "2.0", "id": request_id, "method": "ping", "params": {"x": "\ud800"}}
    )
    assert (await wire.heard())["id"] == request_id
    await wire.close()


async def test_a_line_that_never_ends_ends_the_connection(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "MCP_LINE_BYTES", 100_000)
    wire = await Wire.upgraded(node.home, HELLO)
    await wire.initialize()
    await wire.raw(b"x" * 200_001)
    assert "too long" in (await wire.heard())["error"]["message"]
    assert await wire.ended()
    await wire.close()
    await works(node)


async def test_calls_beyond_the_limit_are_refused_one_by_one(node: Node) -> None:
    wire = await Wire.upgraded(node.home, HELLO)
    await wire.initialize()
    for number in range(1, MCP_CALLS_AT_ONCE + 1):
        await wire.ask(number, "tools/call", name="await_answer", arguments={"id": full(number)})
    await node.desk.until(lambda: len(node.desk.waits) == MCP_CALLS_AT_ONCE)
    await wire.ask(1000, "tools/call", name="flag", arguments={"kind": "note", "title": "T"})
    reply = await wire.heard()
    assert (reply["id"], reply["error"]["code"]) == (1000, -32000)
    assert "nothing was recorded" in reply["error"]["message"]
    cancelled = {"requestId": 1}
    await wire.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
    await node.desk.until(lambda: node.desk.released == [full(1)])
    await wire.ask(1001, "ping")
    assert (await wire.heard())["id"] == 1001
    await wire.close()


async def test_streams_beyond_the_limit_are_refused_before_the_switch(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "MCP_STREAMS", 2)
    wires = [await Wire.upgraded(node.home, HELLO) for _ in range(2)]
    for wire in wires:
        await wire.initialize()
    extra = await Wire.to(node.home)
    await extra.raw(UPGRADE)
    status, reply = await extra.reply()
    assert (status, reply["error"]["code"]) == (429, "limit")
    for wire in (*wires, extra):
        await wire.close()


async def test_many_bridges_at_once_are_told_apart(node: Node) -> None:
    async def one(number: int) -> str:
        wire = await Wire.upgraded(node.home, HELLO | {"session": f"s{number}"})
        await wire.initialize()
        await wire.ask(1, "tools/call", name="whoami", arguments={})
        session: str = (await wire.heard())["result"]["structuredContent"]["session"]
        await wire.close()
        return session

    sessions = await asyncio.gather(*(one(number) for number in range(60)))
    assert sessions == [f"s{number}" for number in range(60)]


async def test_a_bridge_that_does_not_read_holds_up_nobody_else(node: Node) -> None:
    deaf = await Wire.upgraded(node.home, HELLO)
    await deaf.initialize()
    for number in range(1, 50):
        await deaf.ask(number, "tools/list")
    await works(node)
    deaf.writer.transport.abort()


async def test_a_stopping_node_says_nothing_that_its_successor_should_say(node: Node) -> None:
    wire = await Wire.upgraded(node.home, HELLO)
    await wire.initialize()
    await wire.ask(1, "tools/call", name="await_answer", arguments={"id": full(1)})
    await node.desk.until(lambda: node.desk.waits)
    await node.socket.close()
    assert await wire.ended(), "a reply was sent that the bridge would pass on as final"
    assert node.desk.released == [full(1)]
    await wire.close()


def modern(number: int, name: str, **meta: Any) -> dict[str, Any]:  # noqa: ANN401
    """A call of the stateless era."""
    params = {"name": name, "arguments": {"text": "x"}, "_meta": META | meta}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.mark.parametrize(
    ("meta", "request_id"),
    [
        ({"askmesh/request": "r-1", "claudecode/toolUseId": "t"}, "r-1"),
        ({"claudecode/toolUseId": "toolu_1"}, "c-1:toolu_1"),
        ({"askmesh/request": 5, "claudecode/toolUseId": ["x"]}, None),
        ({"askmesh/request": "r" * 1000}, None),
        ({}, None),
    ],
)
async def test_the_request_id_is_the_bridges_else_the_hosts_else_made_here(
    node: Node, meta: dict[str, Any], request_id: str | None
) -> None:
    hello = HELLO | {"environment_sessions": {"claude": "c-1"}}
    wire = await Wire.upgraded(node.home, hello)
    call = modern(1, "withdraw", **meta)
    call["params"]["arguments"] = {"id": full(1), "reason": "r"}
    await wire.say(call)
    assert not (await wire.heard())["result"]["isError"]
    _, who, found, _ = node.desk.calls[0]
    assert (who.agent, who.session) == ("claude", "c-1")
    assert found == request_id or (request_id is None and found)
    await wire.close()


async def test_a_fault_inside_is_told_as_not_known(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    node.desk.failing = RuntimeError("secret detail")
    wire = await Wire.upgraded(node.home, HELLO)
    await wire.say(modern(1, "status"))
    result = (await wire.heard())["result"]
    assert result["isError"]
    assert "not known whether this was recorded" in result["content"][0]["text"]
    assert "secret detail" not in str(result)
    assert "secret detail" in caplog.text
    await wire.close()
