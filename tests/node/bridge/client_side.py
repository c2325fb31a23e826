"""The MCP client's side of a real `askmesh mcp` process."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, Self

from node.bridge.start import launcher

WAIT_S: Final = 20.0
PLAIN: Final = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}


class BridgeProcess:
    """`askmesh mcp`, started as an agent's host starts it."""

    def __init__(
        self,
        home: Path,
        *words: str,
        environment: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", launcher(), "mcp", "--home", str(home), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=PLAIN | (environment or {}),
            cwd=cwd or "/",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def raw(self, data: bytes) -> None:
        """Write to its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def say(self, **message: object) -> None:
        """Write a message."""
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, number: str | int, method: str = "tools/call", **params: object) -> None:
        """Write a request."""
        self.say(id=number, method=method, params=params)

    def heard(self) -> dict[str, Any]:
        """The next message on its standard output."""
        assert self.process.stdout is not None
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        return message

    def ended(self) -> int:
        """End its input; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(WAIT_S)
