"""A session of Claude Code on a real node: hook processes as the host starts them."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from tests.node.gate.hosts import ROOT, decided, hook_command, said
from tests.running import Person, RunningNode, until

SHORT_LIFE = (
    "import sys; sys.path.insert(0, {root!r}); from node.bridge import hook;"
    " hook.GATE_S = hook.PRINT_S + {hold}; raise SystemExit(hook.main())"
)
"""A hook that tells the node to hold for a moment only."""


class Run:
    """One hook process."""

    started: ClassVar[list["Run"]] = []
    """Those of this test, to be ended before its node: one that waits would start it again."""

    def __init__(self, stage: str, command: list[str], event: dict[str, Any]) -> None:
        self.stage = stage
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin"},
            start_new_session=True,
        )
        assert self.process.stdin is not None
        with suppress(BrokenPipeError), self.process.stdin as given:
            given.write(json.dumps(event).encode())  # a wrapper may deny without reading it
        self.process.stdin = None
        self._printed: bytes | None = None
        self.started.append(self)

    @classmethod
    def end_all(cls) -> None:
        """End whatever a test has left."""
        while cls.started:
            run = cls.started.pop()
            if run.process.returncode is None:
                run.kill()

    def printed(self) -> bytes:
        """All it printed, once it has ended."""
        if self._printed is None:
            self._printed, errors = self.process.communicate(timeout=60)
            assert errors == b""
        return self._printed

    def word(self) -> str:
        """`allow` or `deny`; empty when it printed nothing."""
        printed = self.printed()
        return decided(self.stage, printed) if printed else ""

    def sentence(self) -> str:
        return said(self.printed())

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=20)


class Session:
    """What one session of the host does."""

    def __init__(self, node: RunningNode, name: str = "s-1", cwd: Path | str = "/") -> None:
        self.node = node
        self.name = name
        self.cwd = str(cwd)
        self.count = 0

    def run(
        self, stage: str, *, hold: float | None = None, script: Path | None = None, **more: object
    ) -> Run:
        event = {
            "session_id": self.name,
            "cwd": self.cwd,
            "hook_event_name": stage,
            "transcript_path": "/nowhere",
            "permission_mode": "default",
            **more,
        }
        command = hook_command(stage, self.node.home)
        if hold is not None:
            short = SHORT_LIFE.format(root=str(ROOT), hold=hold)
            command = [sys.executable, "-I", "-S", "-c", short, *command[4:]]
        if script is not None:
            command = [str(script), stage]
        return Run(stage, command, event)

    def before(
        self, tool: str, arguments: object, *, hold: float | None = None, script: Path | None = None
    ) -> Run:
        """`PreToolUse`, under a new id."""
        self.count += 1
        return self.run(
            "PreToolUse",
            hold=hold,
            script=script,
            tool_name=tool,
            tool_input=arguments,
            tool_use_id=self.id,
        )

    def permission(self, tool: str, arguments: object, *, hold: float | None = None) -> Run:
        """`PermissionRequest`, which has no id."""
        return self.run("PermissionRequest", hold=hold, tool_name=tool, tool_input=arguments)

    def both(self, tool: str, arguments: object, *, hold: float | None = None) -> Run:
        """What the host does for a call that no rule of ours stops and that it would ask about."""
        assert self.before(tool, arguments).word() == ""
        return self.permission(tool, arguments, hold=hold)

    def ran(self, *, id: str | None = None, ok: bool = True) -> None:
        """The event after a call."""
        stage = "PostToolUse" if ok else "PostToolUseFailure"
        words = {} if ok else {"error": "Exit code 1"}
        event: dict[str, object] = {"tool_use_id": id or self.id, "tool_response": {}, **words}
        assert self.run(stage, hold=None, script=None, **event).word() == ""

    def event(self, stage: str) -> None:
        assert self.run(stage).word() == ""

    @property
    def id(self) -> str:
        """The latest call's id."""
        return f"toolu_{self.name}_{self.count}"


def asks(person: Person) -> list[dict[str, Any]]:
    """All asks, oldest first."""
    return sorted(person.state()["asks"], key=lambda ask: ask["number"])


def waiting(person: Person) -> list[dict[str, Any]]:
    """The open ones."""
    return [ask for ask in asks(person) if ask["final"] is None]


def the_ask(person: Person, *, open_asks: int = 1) -> dict[str, Any]:
    """The latest open ask, once there are so many."""

    def found() -> list[dict[str, Any]]:
        now = waiting(person)
        return now if len(now) == open_asks else []

    try:
        asked: list[dict[str, Any]] = until(found, f"{open_asks} open asks", 40)
    except AssertionError as error:
        ended = [run.printed() for run in Run.started if run.process.poll() is not None]
        raise AssertionError(f"{error}; hooks that ended printed {ended}") from None
    return asked[-1]


def card(person: Person, ask: dict[str, Any]) -> str:
    """The state of an ask's card now."""
    return str(person.ask(ask["id"])["card"]["state"])


def allow(person: Person, ask: dict[str, Any], **more: object) -> None:
    status, receipt = person.vote(ask["id"], "allow", **more)
    assert status == 202, receipt


@contextmanager
def started_by_a_hook(node: RunningNode) -> Iterator[None]:
    """Around the life of a node that a hook started, which no fixture knows of."""
    try:
        until(node.answers, "a hook has started the node")
        yield
    finally:
        Run.end_all()
        pid = int(json.loads((node.home / "node.lock").read_text())["pid"])
        watching = os.pidfd_open(pid)
        try:
            os.kill(pid, signal.SIGTERM)
            assert select.select([watching], [], [], 20)[0]
        finally:
            os.close(watching)
