"""Figures of one call at a time: bridge, answer, hook, listing, idle node."""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

import pytest

from tests.bench.figures import (
    commit_floor,
    cpu_s,
    memory_mib,
    percentile,
    report,
    spawn_floor,
    timed,
)
from tests.running import ROOT, Person, RunningNode

pytestmark = [pytest.mark.bench, pytest.mark.timeout(300)]

MAIN = str(ROOT / "askmesh" / "__main__.py")


class Bridge:
    """A real bridge process spoken to line by line, as an MCP host does."""

    def __init__(self, home: Path) -> None:
        environment = {"PATH": os.environ["PATH"], "ASKMESH_HOME": str(home)}
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", MAIN, "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self._number = 0
        self.send(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        )
        self._pipe(self.process.stdin).write(
            b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        )

    def send(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send one request and return its result."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        pipe = self._pipe(self.process.stdin)
        pipe.write(json.dumps(message).encode() + b"\n")
        pipe.flush()
        while True:
            reply = json.loads(self._pipe(self.process.stdout).readline())
            if reply.get("id") == self._number:
                result: dict[str, Any] = reply["result"]
                return result

    def close(self) -> None:
        """End it as a host does: close its input."""
        self._pipe(self.process.stdin).close()
        self.process.wait(10)
        self._pipe(self.process.stdout).close()

    @staticmethod
    def _pipe(pipe: "IO[bytes] | None") -> "IO[bytes]":
        assert pipe is not None
        return pipe


def lifted(node: RunningNode) -> RunningNode:
    """Start a node without the limits on how much is asked."""
    return node.start(
        limits={
            "open_asks_per_session": 10**6,
            "asks_per_second_session": 10**6,
            "asks_per_second_node": 10**6,
        }
    )


def test_flag_over_the_bridge(node: RunningNode, tmp_path: Path) -> None:
    lifted(node)
    bridge = Bridge(node.home)
    numbers = iter(range(10**6))

    def flag() -> None:
        arguments = {"kind": "question", "title": f"Question {next(numbers)}?"}
        result = bridge.send("tools/call", {"name": "flag", "arguments": arguments})
        assert not result.get("isError"), result

    timed(flag, 20)
    samples, window = timed(flag, 300)
    floor = f"{commit_floor(tmp_path):.2f} ms a durable commit"
    report(
        "flag over the bridge, p50",
        statistics.median(samples),
        10,
        "ms",
        samples=len(samples),
        window_s=window,
        floor=floor,
        more=f"p99 {percentile(samples, 0.99):.2f} ms",
    )
    pid = bridge.process.pid
    report("bridge memory", memory_mib(pid), 20, "MiB", samples=1, window_s=0, floor="-")
    bridge.close()


def test_answer_releases_the_waiting_call(node: RunningNode, tmp_path: Path) -> None:
    person = lifted(node).person()
    begun = time.perf_counter()
    samples = [_released(node, person, number) for number in range(120)]
    window = time.perf_counter() - begun
    floor = f"{commit_floor(tmp_path):.2f} ms a durable commit (three are needed)"
    for name, share, target in (("p50", 0.5, 15), ("p99", 0.99, 50)):
        report(
            f"answer on the page to waiting call released, {name}",
            percentile(samples, share),
            target,
            "ms",
            samples=len(samples),
            window_s=window,
            floor=floor,
        )


def _released(node: RunningNode, person: Person, number: int) -> float:
    asked = node.flag(kind="question", title=f"Question {number}?")
    seen = person.ask(asked["id"])["seen"]
    released: list[float] = []

    def wait() -> None:
        answer = node.agent("await", {"ask_id": asked["id"], "wait_s": 30})
        released.append(time.perf_counter())
        assert answer["state"] == "answered"

    waiter = threading.Thread(target=wait)
    waiter.start()
    time.sleep(0.05)
    start = time.perf_counter()
    person.vote(asked["id"], "answer", text="yes", seen=seen)
    waiter.join(30)
    return (released[0] - start) * 1000


def test_cold_bridge_lists_tools(running_node: RunningNode) -> None:
    def cold() -> None:
        bridge = Bridge(running_node.home)
        assert bridge.send("tools/list", {})["tools"]
        bridge.close()

    cold()
    samples, window = timed(cold, 20)
    report(
        "cold bridge to tools listed, median",
        statistics.median(samples),
        150,
        "ms",
        samples=len(samples),
        window_s=window,
        floor=f"{spawn_floor():.1f} ms to start and end Python",
    )


def test_hook_with_nothing_to_ask(running_node: RunningNode) -> None:
    event = {
        "session_id": "bench",
        "cwd": "/",
        "hook_event_name": "PreToolUse",
        "tool_name": "Read",
        "tool_input": {"file_path": "/etc/hostname"},
        "tool_use_id": "toolu_1",
    }
    line = [sys.executable, "-I", "-S", MAIN, "hook", "claude", "PreToolUse"]
    line += ["--home", str(running_node.home)]
    data = json.dumps(event).encode()

    def hook() -> None:
        done = subprocess.run(line, input=data, capture_output=True, check=True)
        assert done.stdout == b"", done.stdout

    hook()
    samples, window = timed(hook, 30)
    report(
        "hook with nothing to ask, median",
        statistics.median(samples),
        60,
        "ms",
        samples=len(samples),
        window_s=window,
        floor=f"{spawn_floor():.1f} ms to start and end Python",
    )


def test_listing(running_node: RunningNode) -> None:
    for number in range(20):
        running_node.flag(kind="question", title=f"Question {number}?")
    line = [sys.executable, "-I", MAIN, "--home", str(running_node.home), "list"]
    samples, window = timed(lambda: subprocess.run(line, check=True, capture_output=True), 10)
    report(
        "askmesh list, median",
        statistics.median(samples),
        250,
        "ms",
        samples=len(samples),
        window_s=window,
        floor=f"{spawn_floor():.1f} ms to start and end Python",
    )


def test_idle_node(running_node: RunningNode) -> None:
    running_node.person()
    Bridge(running_node.home).close()
    time.sleep(3)
    assert running_node.process is not None
    pid = running_node.process.pid
    before, window = cpu_s(pid), 20.0
    time.sleep(window)
    used = (cpu_s(pid) - before) / window * 100
    report("idle node memory", memory_mib(pid), 100, "MiB", samples=1, window_s=0, floor="-")
    report("idle node processor", used, 0.5, "% of a core", samples=1, window_s=window, floor="0 %")
