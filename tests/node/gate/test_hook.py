"""The hook's process: brings the event to the node as it came, and denies whatever happens."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from node.bridge.hook import GATE_S, INPUT_BYTES, PRINT_S
from tests.node.gate.hosts import (
    GATING,
    Answer,
    Body,
    NodeDouble,
    decided,
    event,
    hook_command,
    http,
    printing,
    run,
    said,
    verdict,
)

Start = Callable[[Answer], NodeDouble]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    nodes: list[NodeDouble] = []

    def started(answer: Answer) -> NodeDouble:
        nodes.append(NodeDouble(home, answer))
        return nodes[-1]

    yield started
    for node in nodes:
        node.close()


@pytest.mark.parametrize("stage", GATING)
@pytest.mark.parametrize("word", ["allow", "deny"])
def test_the_nodes_verdict_is_printed(start: Start, home: Path, stage: str, word: str) -> None:
    start(lambda _: printing(verdict(stage, word)))
    done = run(hook_command(stage, home), event(stage))
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) == verdict(stage, word)


def test_nothing_is_printed_where_the_host_shall_go_on(start: Start, home: Path) -> None:
    start(lambda _: printing(None))
    done = run(hook_command("PreToolUse", home), event("PreToolUse"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_event_goes_in_as_the_host_wrote_it(start: Start, home: Path, tmp_path: Path) -> None:
    node = start(lambda _: printing(None))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    raw = (
        b'{"tool_input": {"b": 1.50, "a": 1e2, "c": 9007199254740993,'
        b'  "d": "\\u00e9\\ud83d\\ude00 \xc3\xa9"}, "session_id": "s-1", "cwd": "%s"}\n'
    ) % os.fsencode(tmp_path)
    run(hook_command("PreToolUse", home), raw)
    assert node.raw[0].endswith(b', "event": ' + raw + b"}")
    body = node.bodies.get(timeout=5)
    assert body["who"] == {
        "agent": "claude",
        "session": "s-1",
        "project": f"path:{tmp_path}",
        "cwd": str(tmp_path),
        "branch": "topic",
        "client": "claude-code",
    }
    assert body["stage"] == "PreToolUse"
    assert GATE_S - PRINT_S - 10 < body["hold_s"] <= GATE_S - PRINT_S


def test_each_process_has_a_secret_of_its_own(start: Start, home: Path) -> None:
    node = start(lambda _: printing(None))
    for _ in range(2):
        run(hook_command("PreToolUse", home), event("PreToolUse"))
    secrets = {node.bodies.get(timeout=5)["invocation"] for _ in range(2)}
    assert len(secrets) == 2
    assert all(len(secret) == 64 for secret in secrets)


def test_the_environment_leads_nowhere(start: Start, home: Path, tmp_path: Path) -> None:
    rogue = tmp_path / "rogue"
    rogue.mkdir(mode=0o700)
    other = NodeDouble(rogue, lambda _: printing(verdict("PreToolUse")))
    start(lambda _: printing(verdict("PreToolUse", "deny")))
    (tmp_path / "json.py").write_text("raise SystemExit(0)")
    names = ("HOME", "AGENT", "SESSION", "PROJECT", "SOCK", "SOCKET", "NODE", "URL", "TOKEN")
    environment = {
        **{f"ASKMESH_{name}": str(rogue) for name in names},
        "HOME": str(tmp_path),
        "XDG_RUNTIME_DIR": str(rogue),
        "PYTHONPATH": str(tmp_path),
        "PYTHONSTARTUP": str(tmp_path / "json.py"),
        "CLAUDE_PROJECT_DIR": str(rogue),
    }
    done = run(hook_command("PreToolUse", home), event("PreToolUse"), environment)
    assert decided("PreToolUse", done.stdout) == "deny"
    assert other.bodies.empty()
    other.close()


@pytest.mark.parametrize("stage", GATING)
def test_a_node_that_was_never_set_up_is_a_deny(home: Path, stage: str) -> None:
    done = run(hook_command(stage, home), event(stage))
    assert done.returncode == 0
    assert decided(stage, done.stdout) == "deny"
    assert "askmesh was not set up there" in said(done.stdout)


@pytest.mark.parametrize("stage", ["SessionStart", "Stop", "SessionEnd", "PostToolUse", "Other"])
def test_without_a_node_other_events_pass_in_silence(home: Path, stage: str) -> None:
    done = run(hook_command(stage, home), event(stage))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("stage", GATING)
def test_a_node_that_refuses_is_a_deny_with_its_words(start: Start, home: Path, stage: str) -> None:
    error = {"error": {"code": "store", "message": "The disk is full.", "hint": "Free some."}}
    start(lambda _: http(error, 503))
    done = run(hook_command(stage, home), event(stage))
    assert decided(stage, done.stdout) == "deny"
    assert "The disk is full. Free some." in said(done.stdout)


REPLIES = {
    "no JSON": http("x").replace(b'"x"', b"xxx"),
    "no object": http([1]),
    "no verdict": http({"exit": 0}),
    "an exit code": http({"stdout": None, "stderr": "", "exit": 1}),
    "a text": printing("allow"),
    "an empty object": printing({}),
    "another stage": printing(verdict("Stop")),
    "an error without words": http({}, 500),
    "another status": http({}, 204),
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
@pytest.mark.parametrize("stage", GATING)
def test_a_reply_that_is_no_verdict_is_a_deny(
    start: Start, home: Path, stage: str, reply: bytes
) -> None:
    start(lambda _: reply)
    done = run(hook_command(stage, home), event(stage))
    assert decided(stage, done.stdout) == "deny"


INPUTS = {
    "nothing": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"session_id": "\xff"}',
    "a list": b"[]",
    "no session": b'{"cwd": "/"}',
    "no folder": b'{"session_id": "s"}',
    "deep": b"[" * 200_000,
    "too much": b" " * (INPUT_BYTES + 1),
}


@pytest.mark.parametrize("given", INPUTS.values(), ids=INPUTS.keys())
@pytest.mark.parametrize("stage", GATING)
def test_an_input_that_is_no_event_is_a_deny(home: Path, stage: str, given: bytes) -> None:
    done = run(hook_command(stage, home), given)
    assert done.returncode == 0
    assert decided(stage, done.stdout) == "deny"


def test_a_node_that_went_away_is_asked_again_with_the_same_secret(
    start: Start, home: Path
) -> None:
    asked: list[Body] = []

    def answer(body: Body) -> bytes:
        asked.append(body)
        return b"" if len(asked) < 3 else printing(verdict("PermissionRequest"))

    start(answer)
    done = run(hook_command("PermissionRequest", home), event("PermissionRequest"))
    assert decided("PermissionRequest", done.stdout) == "allow"
    assert len({body["invocation"] for body in asked}) == 1
    assert asked[0]["hold_s"] > asked[1]["hold_s"] > asked[2]["hold_s"]


def test_a_reply_that_is_cut_short_is_asked_for_again(start: Start, home: Path) -> None:
    replies = [printing(verdict("PreToolUse"))[:-5], printing(verdict("PreToolUse", "deny"))]
    start(lambda _: replies.pop(0))
    done = run(hook_command("PreToolUse", home), event("PreToolUse"))
    assert decided("PreToolUse", done.stdout) == "deny"
    assert replies == []


def held(start: Start, home: Path) -> tuple[NodeDouble, "subprocess.Popen[bytes]"]:
    node = start(lambda _: None)
    process = subprocess.Popen(
        hook_command("PreToolUse", home), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    with process.stdin as given:
        given.write(event("PreToolUse"))
    process.stdin = None
    node.bodies.get(timeout=10)
    return node, process


def test_a_host_that_went_away_ends_the_hold(start: Start, home: Path) -> None:
    node, process = held(start, home)
    assert process.stdout is not None
    process.stdout.close()
    assert node.gone.wait(10)
    assert process.wait(10) == 1


def test_a_hook_that_is_killed_ends_the_hold(start: Start, home: Path) -> None:
    node, process = held(start, home)
    process.send_signal(signal.SIGKILL)
    assert node.gone.wait(10)
    assert process.communicate(timeout=10)[0] == b""


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["claude"],
        ["codex", "PreToolUse"],
        ["claude", "--home", "/"],
        ["claude", "PreToolUse", "--home"],
        ["claude", "PreToolUse", "--sock", "/"],
        ["claude", "PreToolUse", "--wrapped", "x"],
    ],
)
def test_a_wrong_command_line_is_told_and_blocks(home: Path, words: list[str]) -> None:
    """2 is the code by which the host blocks a call."""
    program = hook_command("PreToolUse", home)[:5]
    done = run([*program, *words], event("PreToolUse"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"usage: ")
