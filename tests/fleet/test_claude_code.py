"""Claude Code itself, from its package, without an account: it asks, is held, and is answered.

What the model says is scripted; host, hooks, MCP bridge, node and person are real.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from node.bridge.start import launcher
from tests.fleet.scripted_messages_api import MessagesApi, Script, ToolResult, ToolUse, Turn
from tests.machine import CLIENTS
from tests.running import Person, RunningNode, until

pytestmark = pytest.mark.npm

CLAUDE = CLIENTS / "node_modules" / ".bin" / "claude"
RUN_S = 90.0


@dataclass
class Host:
    """Claude Code in a home of its own, with the kit installed."""

    folder: Path
    node: RunningNode

    @property
    def project(self) -> Path:
        """The folder it works in."""
        return self.folder / "project"

    def environment(self, **more: str) -> dict[str, str]:
        """Nothing but what it needs: no account, no network beyond loopback."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "user"),
            "CLAUDE_CONFIG_DIR": str(self.folder / "configuration"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            **more,
        }

    def install(self) -> None:
        """`askmesh agent install claude`, as a user does it."""
        words = ["--home", str(self.node.home), "agent", "install", "claude"]
        subprocess.run(
            [sys.executable, "-I", launcher(), *words],
            env=self.environment(),
            cwd=self.project,
            check=True,
            capture_output=True,
        )

    @contextlib.contextmanager
    def running(self, script: Script) -> Iterator["Session"]:
        """One `claude -p`, its model following the script."""
        with MessagesApi(script) as api, (self.folder / "said").open("wb") as said:
            process = subprocess.Popen(
                [CLAUDE, "-p", "go", "--permission-mode", "default",
                 "--output-format", "stream-json", "--verbose", "--include-hook-events"],
                env=self.environment(ANTHROPIC_BASE_URL=api.base_url, ANTHROPIC_API_KEY="none"),
                cwd=self.project,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
            session = Session(process, api, self.folder / "said")
            try:
                yield session
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()


@dataclass
class Session:
    """A running `claude -p`."""

    process: "subprocess.Popen[bytes]"
    api: MessagesApi
    said: Path

    def ended(self) -> list[dict[str, Any]]:
        """Wait until it ends well; the events it printed."""
        assert self.process.wait(RUN_S) == 0, self.said.read_text()
        assert self.api.unknown == []
        return self.events()

    def events(self) -> list[dict[str, Any]]:
        """What it has printed so far."""
        lines = self.said.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line[-1] == "\n"]

    def let_through(self, tool: str) -> bool:
        """Whether the gate has let it make this call, which follows at once."""
        hook = {"subtype": "hook_response", "hook_name": f"PreToolUse:{tool}"}
        return any(hook.items() <= event.items() for event in self.events())

    def asks(self, person: Person, condition: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """The first ask for which the condition holds; waits for it."""

        def look() -> dict[str, Any] | None:
            assert self.process.poll() is None, self.said.read_text()
            with contextlib.suppress(OSError):  # the node may be just starting
                return next(filter(condition, person.state()["asks"]), None)
            return None

        found: dict[str, Any] = until(look, "the ask appears", RUN_S)
        return found


@pytest.fixture
def host(running_node: RunningNode) -> Iterator[Host]:
    with tempfile.TemporaryDirectory(prefix="askmesh-") as folder:
        host = Host(Path(folder), running_node)
        for name in ("user", "configuration", "project"):
            (host.folder / name).mkdir()
        host.install()
        yield host


def bash(command: str) -> ToolUse:
    return ToolUse(name="Bash", arguments={"command": command, "description": "try it"})


def steps(results: list[ToolResult], *turns: Turn | Script) -> Script:
    """One turn after the other, which may depend on what came before; keeps the results."""

    def script(found: list[ToolResult]) -> Turn:
        results[:] = found
        if len(found) >= len(turns):
            return Turn(text="done")
        turn = turns[len(found)]
        return turn if isinstance(turn, Turn) else turn(found)

    return script


def await_it(results: list[ToolResult]) -> Turn:
    """Wait for the answer to what was just flagged."""
    found = re.search(r'"id":\s*\\?"([a-z2-7]+-\d+)', results[-1].text)
    assert found, results[-1].text
    call = ToolUse(name="mcp__askmesh__await_answer", arguments={"id": found[1]})
    return Turn(text="I wait.", calls=(call,))


ASK = ToolUse(
    name="mcp__askmesh__flag",
    arguments={"kind": "question", "title": "Which port?", "options": ["8000", "9000"]},
)


def test_it_asks_through_mcp_and_gets_its_answer_across_a_kill_of_the_node(
    host: Host, person: Person
) -> None:
    results: list[ToolResult] = []
    script = steps(results, Turn(text="I ask.", calls=(ASK,)), await_it)
    with host.running(script) as session, started_by_bridge(host.node):
        ask = session.asks(person, lambda ask: ask["title"] == "Which port?")
        until(lambda: session.let_through("mcp__askmesh__await_answer"), "it waits", RUN_S)
        host.node.kill()
        # Nobody else starts it: the bridge, with a call in flight, does.
        until(host.node.answers, "the bridge has started the node again")
        assert person.vote(ask["id"], "answer", choice=ask["options"][1]["id"])[0] < 300
        events = session.ended()
        ask = person.ask(ask["id"])
    init = next(event for event in events if event.get("subtype") == "init")
    servers = {server["name"]: server["status"] for server in init["mcp_servers"]}
    # The host may say `pending`: it prints this without waiting for a server that just starts.
    assert servers["askmesh"] in {"connected", "pending"}
    assert [result.failed for result in results] == [False, False], "a tool was not there"
    assert "9000" in results[1].text
    assert (ask["agent"], ask["session"]) == ("claude", init["session_id"])
    assert ask["handover"]["session"] == init["session_id"]


@contextlib.contextmanager
def started_by_bridge(node: RunningNode) -> Iterator[None]:
    """End a node that is not ours to wait for."""
    try:
        yield
    finally:
        subprocess.run(
            [sys.executable, "-I", launcher(), "--home", str(node.home), "down"],
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
            check=True,
            capture_output=True,
        )


def test_a_person_allows_one_call_and_denies_another(host: Host, person: Person) -> None:
    results: list[ToolResult] = []
    script = steps(
        results,
        Turn(text="I try.", calls=(bash("touch allowed"),)),
        Turn(text="Again.", calls=(bash("touch denied"),)),
    )
    with host.running(script) as session:
        held = [
            session.asks(person, lambda ask: ask["card"]["open"] and "touch allowed" in str(ask))
        ]
        assert not (host.project / "allowed").exists()
        person.vote(held[0]["id"], "allow")
        held.append(
            session.asks(person, lambda ask: ask["card"]["open"] and "touch denied" in str(ask))
        )
        person.vote(held[1]["id"], "deny", because="not today")
        events = session.ended()
    assert (host.project / "allowed").exists()
    assert not (host.project / "denied").exists()
    assert [result.failed for result in results] == [False, True]
    assert "not today" in results[1].text
    allowed, denied = (person.ask(ask["id"]) for ask in held)
    assert allowed["final"]["outcome"] == "allowed"
    assert allowed["resolved"]["ok"]
    assert denied["final"]["outcome"] == "denied"
    assert all(ask["enforced"] for ask in held)
    session_id = next(event for event in events if event.get("subtype") == "init")["session_id"]
    assert {ask["session"] for ask in held} == {session_id}
    (seen,) = [row for row in person.state()["sessions"] if row["id"] == session_id]
    assert seen["gate"] == "in_force"


RULES = """
[[rule]]
name = "never-here"
tool = "Bash"
arguments = { command = "touch refused" }
action = "deny"
reason = "this folder is not yours"

[[rule]]
name = "always-fine"
tool = "Bash"
arguments = { command = "touch fine" }
action = "allow"

[[rule]]
name = "ask-first"
tool = "Read"
action = "ask"
"""


def test_the_rules_in_force_allow_refuse_and_ask(host: Host, person: Person) -> None:
    host.node.rules(person, RULES)
    (host.project / "notes").write_text("what the notes say")
    results: list[ToolResult] = []
    # Reading is what the host allows by itself; the rule makes it ask all the same.
    read = ToolUse(name="Read", arguments={"file_path": str(host.project / "notes")})
    script = steps(
        results,
        Turn(text="One.", calls=(bash("touch refused"),)),
        Turn(text="Two.", calls=(bash("touch fine"),)),
        Turn(text="Three.", calls=(read,)),
    )
    with host.running(script) as session:
        ask = session.asks(person, lambda ask: ask["card"]["open"])
        assert ask["rule"]["name"] == "ask-first"
        assert person.vote(ask["id"], "allow")[0] < 300
        session.ended()
    assert [result.failed for result in results] == [True, False, False]
    assert "this folder is not yours" in results[0].text
    assert "what the notes say" in results[2].text
    assert not (host.project / "refused").exists()
    assert (host.project / "fine").exists()
    assert len(person.state()["asks"]) == 1, "a call was asked about that a rule had decided"


def test_without_a_node_nothing_that_needs_permission_runs(host: Host) -> None:
    host.node.stop()
    for name in ("node.key", "store.db"):  # as if it had never been set up: nobody starts it
        (host.node.home / name).unlink()
    results: list[ToolResult] = []
    script = steps(results, Turn(text="I try.", calls=(bash("touch denied"),)))
    with host.running(script) as session:
        session.ended()
    assert [result.failed for result in results] == [True]
    assert "askmesh refuses this call because it cannot decide about it" in results[0].text
    assert not (host.project / "denied").exists()
