"""A stand-in for the node's socket, and hook processes run as a host runs them."""

import json
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
LAUNCHER = ROOT / "askmesh" / "__main__.py"
GATING = ("PreToolUse", "PermissionRequest")

Body = dict[str, Any]
Answer = Callable[[Body], bytes | None]
"""The bytes of a reply; empty: the connection closes without one; None: it is held."""


def http(value: object, status: int = 200) -> bytes:
    body = json.dumps(value).encode()
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)


def verdict(stage: str, word: str = "allow") -> Body:
    output = {"hookEventName": stage}
    if stage == "PreToolUse":
        return {"hookSpecificOutput": {**output, "permissionDecision": word}}
    return {"hookSpecificOutput": {**output, "decision": {"behavior": word}}}


def printing(value: object) -> bytes:
    return http({"stdout": value, "stderr": "", "exit": 0})


class NodeDouble:
    """Listens where the node would and answers each request as told."""

    def __init__(self, home: Path, answer: Answer) -> None:
        self.answer = answer
        self.bodies: queue.Queue[Body] = queue.Queue()
        self.raw: list[bytes] = []
        self.gone = threading.Event()
        """A client that was held closed its connection."""
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(home / "node.sock"))
        self.listening.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                link, _ = self.listening.accept()
                threading.Thread(target=self._one, args=(link,), daemon=True).start()

    def _one(self, link: socket.socket) -> None:
        with link, link.makefile("rb") as request, suppress(OSError):
            length = 0
            while (line := request.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not length:
                return  # only looked whether we are there
            data = request.read(length)
            self.raw.append(data)
            body = json.loads(data)
            self.bodies.put(body)
            reply = self.answer(body)
            if reply is None:
                assert not link.recv(1)
                self.gone.set()
            else:
                link.sendall(reply)


def event(stage: str, **more: object) -> bytes:
    whole = {
        "session_id": "s-1",
        "cwd": "/",
        "hook_event_name": stage,
        "tool_name": "Bash",
        "tool_input": {"command": "git push"},
        "tool_use_id": "t-1",
        **more,
    }
    return json.dumps(whole).encode()


def hook_command(stage: str, home: Path) -> list[str]:
    program = [sys.executable, "-I", "-S", str(LAUNCHER)]
    return [*program, "hook", "claude", stage, "--home", str(home)]


def run(
    command: list[str], given: bytes, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command,
        input=given,
        capture_output=True,
        check=False,
        timeout=60,
        env={"PATH": "/usr/bin:/bin"} if environment is None else environment,
    )


def decided(stage: str, printed: bytes) -> str:
    """The word a host reads: exactly one object of its own form, or the test fails."""
    output = json.loads(printed)["hookSpecificOutput"]
    assert output["hookEventName"] == stage
    if stage == "PreToolUse":
        return str(output["permissionDecision"])
    return str(output["decision"]["behavior"])


def said(printed: bytes) -> str:
    output = json.loads(printed)["hookSpecificOutput"]
    return str(output.get("permissionDecisionReason") or output["decision"]["message"])
