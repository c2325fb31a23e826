"""The Unix socket: whom it serves, with what, and how it ends."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import node.agents.socket as module
from node.agents.asker import Peer
from node.agents.routes import AgentRoutes
from node.agents.socket import AgentSocket
from node.bridge import client
from node.bridge.client import Refused
from node.desk.board_records import RowEdit
from node.desk.message_records import Sending
from node.limits import AGENT_WAIT_MAX_S, GATE_HOLD_S, INBOX_SHOWN, REQUEST_BYTES
from sync.errors import StoreFull
from tests.node.agents.conftest import Node
from tests.node.agents.double import DeskDouble, GateDouble, full
from tests.node.agents.wire import Wire

WHO = {"agent": "claude", "session": "s", "project": "p", "cwd": "/w", "branch": "trunk"}

ROUTES: dict[str, tuple[dict[str, Any], object]] = {
    "flag": ({"kind": "note", "title": "T"}, None),
    "await": ({"ask_id": full(1), "wait_s": 0}, (full(1), 0.0)),
    "pending": ({"everything": True}, True),
    "claim": ({"ask_id": full(1), "take_over": True}, (full(1), True)),
    "resolve": (
        {"ask_id": full(1), "outcome": "o", "ok": False, "token": 3},
        (full(1), 3, "o", False),
    ),
    "withdraw": ({"ask_id": full(1), "reason": "r"}, (full(1), "r")),
    "status": ({"text": "t"}, "t"),
    "whoami": ({}, None),
    "list": ({"closed": True, "project": "p"}, (True, "p")),
    "heard": ({}, None),
    "send": (
        {"to": ["codex"], "body": "b", "reply_to": "m1"},
        Sending(to=["codex"], body="b", reply_to="m1"),
    ),
    "inbox": ({"sent": True, "thread": "m1"}, (True, "m1", 0.0)),
    "hand": ({"most": 99}, INBOX_SHOWN),
    "ack": ({"ids": ["m1"]}, ["m1"]),
    "board_upsert": (
        {"title": "t", "rows": [{"label": "a"}]},
        ("t", [RowEdit(label="a")]),
    ),
    "board_advance": ({"title": "t", "row": {"label": "a"}}, ("t", RowEdit(label="a"))),
    "board_get": ({"title": "t"}, "t"),
    "board_archive": ({"title": "t", "archived": False}, ("t", False)),
}


async def call(node: Node, route: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Call a route as bridge, hook and command line do."""
    home = str(node.home)
    return await asyncio.to_thread(client.call, home, route, WHO, arguments, **more)


@pytest.mark.parametrize("route", ROUTES)
async def test_every_route_carries_what_it_was_given(node: Node, route: str) -> None:
    arguments, expected = ROUTES[route]
    reply = await call(node, route, arguments, request_id="r-1")
    assert isinstance(reply, dict)
    _, who, request, what = node.desk.calls[0]
    assert (who.agent, who.session, who.project, who.branch) == ("claude", "s", "p", "trunk")
    assert (who.pid, who.uid) == (os.getpid(), os.getuid())
    assert request in ("r-1", "")
    assert route == "flag" or what == expected


async def test_a_flag_may_wait_for_its_answer(node: Node) -> None:
    waiting = asyncio.create_task(
        call(node, "flag", {"kind": "question", "title": "T", "wait_s": 60})
    )
    await node.desk.until(lambda: node.desk.waits)
    node.desk.answer(1)
    assert (await waiting)["state"] == "answered"


async def test_a_wait_over_http_is_bounded_too(node: Node) -> None:
    waiting = asyncio.create_task(call(node, "await", {"ask_id": full(1), "wait_s": 1e9}))
    await node.desk.until(lambda: node.desk.waits)
    assert node.desk.calls[0][3] == (full(1), AGENT_WAIT_MAX_S)
    node.desk.answer(1)
    await waiting


async def test_an_error_keeps_code_sentence_hint_and_status(node: Node) -> None:
    with pytest.raises(Refused) as raised:
        await call(node, "show", {"ask_id": "x"})
    error = raised.value
    assert (error.code, error.status) == ("not_found", 404)
    assert (error.message, error.hint) == (
        "There is no such ask.",
        "`askmesh list` shows the open ones.",
    )
    node.desk.failing = StoreFull()
    with pytest.raises(Refused, match="disk is full") as raised:
        await call(node, "status", {"text": "t"})
    assert raised.value.status == 503


async def test_a_fault_inside_is_logged_and_not_shown(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    node.desk.failing = RuntimeError("secret detail")
    with pytest.raises(Refused) as raised:
        await call(node, "status", {"text": "t"})
    assert "secret detail" not in raised.value.message + raised.value.hint
    assert "secret detail" in caplog.text


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/agent/flag", b"", 400),
        ("/agent/flag", b"{", 400),
        ("/agent/flag", b"[1]", 400),
        ("/agent/flag", b"\xff\xfe", 400),
        ("/agent/flag", b"[" * 500_000, 400),
        ("/agent/flag", b'{"who": 5}', 400),
        ("/agent/flag", b'{"who": {}, "what": 5}', 400),
        ("/agent/status", json.dumps({"who": WHO, "arguments": {}}).encode(), 400),
        ("/agent/status", json.dumps({"who": WHO, "arguments": {"txt": "x"}}).encode(), 400),
        ("/agent/status", json.dumps({"who": WHO, "request": "r" * 201}).encode(), 400),
        ("/agent/hook/claude", json.dumps({"who": WHO, "event": []}).encode(), 400),
        ("/agent/nothing", b"{}", 404),
        ("/agent/node", b"{}", 405),
        ("/agent/flag", b"x" * (REQUEST_BYTES + 1), 413),
    ],
)
async def test_bad_requests_are_refused_in_one_shape(
    node: Node, path: str, body: bytes, status: int
) -> None:
    wire = await Wire.to(node.home)
    found, reply = await wire.post(path, body)
    assert found == status
    assert sorted(reply["error"]) == ["code", "hint", "message"]
    assert node.desk.calls == []
    await wire.close()


async def test_a_compressed_body_is_refused(node: Node) -> None:
    wire = await Wire.to(node.home)
    status, reply = await wire.post("/agent/flag", b"x", b"Content-Encoding: gzip\r\n")
    assert (status, reply["error"]["code"]) == (400, "invalid")
    await wire.close()


@pytest.mark.parametrize("data", [b"garbage\r\n\r\n", b"\x16\x03\x01\x00", b"GET / HTTP/9\r\n\r\n"])
async def test_what_is_not_http_ends_without_harm(node: Node, data: bytes) -> None:
    wire = await Wire.to(node.home)
    await wire.raw(data)
    wire.writer.write_eof()
    async with asyncio.timeout(20):
        await wire.reader.read()
    await wire.close()
    assert await call(node, "whoami", {})


async def test_a_client_that_goes_releases_its_wait(node: Node) -> None:
    wire = await Wire.to(node.home)
    body = {"who": WHO, "request": "r", "arguments": {"ask_id": full(1), "wait_s": 60}}
    await wire.begin("/agent/await", json.dumps(body).encode())
    await node.desk.until(lambda: node.desk.waits)
    await wire.close()
    await node.desk.until(lambda: node.desk.released)


async def test_a_hook_that_is_killed_lets_the_gate_know(node: Node) -> None:
    wire = await Wire.to(node.home)
    body = {"who": WHO, "invocation": "i", "stage": "PreToolUse", "event": {"a": 1}}
    await wire.begin("/agent/hook/claude", json.dumps(body).encode())
    await node.desk.until(lambda: node.gate.events)
    assert node.gate.events[0][1:] == ("i", "PreToolUse", {"a": 1}, GATE_HOLD_S)
    await wire.close()
    await node.desk.until(lambda: node.desk.released == ["hook"])


async def test_a_hook_gets_what_the_gate_says(node: Node) -> None:
    node.gate.verdict.set()
    wire = await Wire.to(node.home)
    body = {"who": WHO, "invocation": "i", "stage": "Stop", "event": {}, "hold_s": 1.5}
    status, reply = await wire.post("/agent/hook/claude", json.dumps(body).encode())
    assert (status, reply) == (200, {"stdout": {"x": 1}, "stderr": "", "exit": 0})
    assert node.gate.events[0][4] == 1.5
    await wire.close()


async def test_events_are_sent_as_they_come_and_end_in_a_reset(node: Node) -> None:
    node.desk.changes = [{"n": 7}, {"n": 8}]
    watched = await asyncio.to_thread(lambda: list(client.watch(str(node.home), 0)))
    assert watched == [("change", {"n": 7}), ("change", {"n": 8}), ("reset", {})]


async def test_a_quiet_stream_beats_and_ends_with_its_reader(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("node.agents.events.EVENT_BEAT_S", 0.01)
    wire = await Wire.to(node.home)
    await wire.raw(b"GET /agent/watch HTTP/1.1\r\nHost: a\r\n\r\n")
    beats = 0
    while beats < 3:
        beats += await wire.line() == b"event: beat\n"
    await wire.close()
    await node.desk.until(lambda: node.desk.released == ["watch"])


@pytest.mark.parametrize("since", ["-1", "x", "9" * 30, "%D9%A5"])
async def test_a_number_of_no_event_is_refused(node: Node, since: str) -> None:
    wire = await Wire.to(node.home)
    await wire.raw(f"GET /agent/watch?since={since} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    assert (await wire.reply())[0] == 400
    await wire.close()


async def test_the_socket_is_for_this_user_alone(node: Node) -> None:
    assert (node.home / "node.sock").stat().st_mode & 0o777 == 0o600


@pytest.mark.root
async def test_another_user_is_refused_even_when_the_modes_allow_it(node: Node) -> None:
    node.home.chmod(0o755)
    (node.home / "node.sock").chmod(0o666)
    program = (
        "import os, socket, sys\n"
        "os.setgid(12345); os.setuid(12345)\n"
        "link = socket.socket(socket.AF_UNIX); link.connect(sys.argv[1])\n"
        "link.sendall(b'GET /agent/node HTTP/1.1\\r\\nHost: a\\r\\n')\n"
        "link.sendall(b'Connection: close\\r\\n\\r\\n')\n"
        "print(link.makefile('rb').read().decode())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", program, str(node.home / "node.sock"),
        stdout=subprocess.PIPE,
    )  # fmt: skip
    said, _ = await process.communicate()
    assert said.startswith(b"HTTP/1.1 403 ")
    assert b"serves another user" in said
    assert node.desk.calls == []


async def test_root_may_look_after_anyones_node(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "peer_of", lambda request: Peer(pid=1, uid=0))
    assert await call(node, "whoami", {})
    monkeypatch.setattr(module, "peer_of", lambda request: Peer(pid=1, uid=os.getuid() + 1))
    with pytest.raises(Refused, match="serves another user"):
        await call(node, "whoami", {})


async def test_one_connection_too_many_is_told_so(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SOCKET_CONNECTIONS", 3)
    wires = [await Wire.to(node.home) for _ in range(3)]
    for wire in wires:
        assert (await wire.post("/agent/nothing", b""))[0] == 404
    extra = await Wire.to(node.home)
    status, reply = await extra.reply()
    assert (status, reply["error"]["code"]) == (429, "limit")
    for wire in (*wires, extra):
        await wire.close()


async def test_many_connections_at_once_are_all_served(node: Node) -> None:
    async def one(number: int) -> dict[str, Any]:
        wire = await Wire.to(node.home)
        body = {"who": WHO | {"session": f"s{number}"}, "arguments": {}}
        status, reply = await wire.post("/agent/whoami", json.dumps(body).encode())
        assert status == 200
        await wire.close()
        return reply

    replies = await asyncio.gather(*(one(number) for number in range(200)))
    assert [reply["session"] for reply in replies] == [f"s{number}" for number in range(200)]


async def test_a_stop_lets_every_waiter_go_and_removes_the_socket(node: Node) -> None:
    waiting = asyncio.create_task(call(node, "await", {"ask_id": full(1), "wait_s": 60}))
    await node.desk.until(lambda: node.desk.waits)
    async with asyncio.timeout(module.STOP_S):
        await node.socket.close()
    with pytest.raises(client.NodeAway) as raised:
        await waiting
    assert raised.value.sent
    assert node.desk.released == [full(1)]
    assert not (node.home / "node.sock").exists()
    await node.socket.close()


async def test_a_dead_nodes_socket_is_replaced(home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(home / "node.sock"))
    desk = DeskDouble()
    serving = AgentSocket(str(home), desk, GateDouble(desk), version="0")
    await serving.open()
    assert await asyncio.to_thread(client.get, str(home), "/agent/node") == {"now": 1}
    await serving.close()


async def test_a_long_path_is_served_from_a_short_folder_that_goes_with_the_node(
    tmp_path: Path,
) -> None:
    home = tmp_path / ("d" * 60) / ("e" * 60)
    home.mkdir(parents=True)
    desk = DeskDouble()
    serving = AgentSocket(str(home), desk, GateDouble(desk), version="0")
    path = Path(await serving.open())
    assert len(str(path)) < 100
    assert await asyncio.to_thread(client.get, str(home), "/agent/node") == {"now": 1}
    await serving.close()
    assert not path.parent.exists()


def test_the_routes_are_these_and_none_of_them_answers_or_grants() -> None:
    desk = DeskDouble()
    routes = AgentRoutes(desk, GateDouble(desk), contextlib.nullcontext).table()
    assert sorted(f"{route.method} {route.path}" for route in routes) == sorted(
        [
            *(f"POST /agent/{name}" for name in (*ROUTES, "report", "show")),
            "POST /agent/hook/claude",
            "GET /agent/node",
            "GET /agent/watch",
        ]
    )


async def test_a_stopped_node_leaves_its_successors_socket_alone(node: Node) -> None:
    path = node.home / "node.sock"
    path.unlink()
    with socket.socket(socket.AF_UNIX) as successor:
        successor.bind(str(path))
        await node.socket.close()
        assert path.exists()
