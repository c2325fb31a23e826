"""Claude Code's events: which are passed, held, refused, and what exactly is printed.

The gate here is a double that notes what it is asked; the real one is in `test_gate_real`.
"""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from node import limits
from node.desk.protocols import GateHold, GateVerdict
from node.desk.requests import Asker
from node.gate import claude
from node.gate.call import Call
from node.gate.law import Law, Ruled
from node.gate.rules import parse
from sync.errors import StoreFull

WHO = Asker(agent="claude", session="s", project="p", cwd="/")
RULES = parse("""
[[rule]]
name = "never"
tool = "Bash"
arguments = { command = "rm *" }
action = "deny"
reason = "Nothing is removed."

[[rule]]
name = "pushes"
tool = "Bash"
arguments = { command = "git push*" }
action = "ask"

[[rule]]
name = "tests"
tool = "Bash"
arguments = { command = "npm test*" }
action = "allow"

[[rule]]
name = "all of GitHub"
tool = "mcp__*"
action = "deny"
""")


class Double:
    """A gate that answers as told and keeps what it was asked."""

    def __init__(self) -> None:
        self.noted: list[tuple[Any, ...]] = []
        self.holds: list[GateHold] = []
        self.allow = True
        self.handed = False
        self.error: Exception | None = None

    async def judge(self, who: Asker, call: Call) -> Ruled:
        if self.error:
            raise self.error
        return Law(account=RULES).judge(call.tool, call.arguments, call.cwd, agents=[who.agent])

    async def hold(self, hold: GateHold) -> GateVerdict:
        self.holds.append(hold)
        return GateVerdict(allow=self.allow, sentence="Anna decided.", ask="a-1")

    async def handed_before(self, who: Asker, call: Call) -> bool:
        handed, self.handed = self.handed, False
        return handed

    async def tool_use(self, who: Asker, call: Call, tool_use_id: str) -> None:
        self.noted.append(("use", call.summary, tool_use_id))

    async def tool_done(self, who: Asker, tool_use_id: str, *, ok: bool, text: str) -> None:
        self.noted.append(("done", tool_use_id, ok, text))

    async def session_event(self, who: Asker, event: str) -> None:
        if self.error:
            raise self.error
        self.noted.append(("event", event))


@pytest.fixture
def gate() -> Double:
    return Double()


async def run(gate: Double, stage: str, hold_s: float = 900.0, **event: object) -> Any:  # noqa: ANN401 - JSON
    whole = {"hook_event_name": stage, "session_id": "s", "cwd": "/", **event}
    reply = await claude.handle(gate, WHO, "secret", stage, whole, hold_s=hold_s)
    assert (reply["stderr"], reply["exit"]) == ("", 0)
    return reply["stdout"]


async def bash(gate: Double, stage: str, command: str, hold_s: float = 900.0) -> Any:  # noqa: ANN401 - JSON
    return await run(
        gate,
        stage,
        hold_s,
        tool_name="Bash",
        tool_input={"command": command},
        **({"tool_use_id": "t1"} if stage == "PreToolUse" else {}),
    )


def pre(verdict: str, reason: str) -> dict[str, Any]:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": verdict,
            "permissionDecisionReason": reason,
        }
    }


def permission(**verdict: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": verdict}}


REFUSED = "Refused by the rule `never`: Nothing is removed."


async def test_before_a_call_only_explicit_rules_are_enforced(gate: Double) -> None:
    assert await bash(gate, "PreToolUse", "rm x") == pre("deny", REFUSED)
    assert await bash(gate, "PreToolUse", "npm test") is None
    assert await bash(gate, "PreToolUse", "ls") is None
    assert gate.holds == []
    assert gate.noted == [("use", "npm test", "t1"), ("use", "ls", "t1")]


@pytest.mark.parametrize(("allow", "word"), [(True, "allow"), (False, "deny")])
async def test_an_ask_rule_holds_the_call(gate: Double, allow: bool, word: str) -> None:
    gate.allow = allow
    assert await bash(gate, "PreToolUse", "git push") == pre(word, "Anna decided.")
    [hold] = gate.holds
    assert (hold.stage, hold.invocation, hold.tool_use_id) == ("pre", "secret", "t1")
    assert hold.match is not None
    assert hold.match.rule == "pushes"
    assert hold.call.arguments == {"command": "git push"}


async def test_what_the_host_would_ask_a_rule_or_a_person_decides(gate: Double) -> None:
    denied = await bash(gate, "PermissionRequest", "rm x")
    assert denied == permission(behavior="deny", message=REFUSED)
    assert await bash(gate, "PermissionRequest", "npm test") == permission(behavior="allow")
    assert gate.holds == []
    assert await bash(gate, "PermissionRequest", "git push") == permission(behavior="allow")
    gate.allow = False
    held = await bash(gate, "PermissionRequest", "ls")
    assert held == permission(behavior="deny", message="Anna decided.")
    pushes, other = gate.holds
    assert pushes.match is not None
    assert (other.match, other.stage, other.tool_use_id) == (None, "permission", None)


async def test_a_call_handed_over_before_is_not_asked_again(gate: Double) -> None:
    gate.handed = True
    assert await bash(gate, "PermissionRequest", "git push") == permission(behavior="allow")
    assert gate.holds == []
    await bash(gate, "PermissionRequest", "git push")
    assert len(gate.holds) == 1


async def test_a_deny_rule_beats_an_earlier_hand_over(gate: Double) -> None:
    gate.handed = True
    denied = await bash(gate, "PermissionRequest", "rm x")
    assert denied == permission(behavior="deny", message=REFUSED)


@pytest.mark.parametrize("tool", sorted(claude.HOST_QUESTIONS))
async def test_the_hosts_own_questions_are_left_to_it(gate: Double, tool: str) -> None:
    assert await run(gate, "PermissionRequest", tool_name=tool, tool_input={}) is None
    assert await run(gate, "PreToolUse", tool_name=tool, tool_input={}, tool_use_id="t") is None
    assert gate.holds == []


@pytest.mark.parametrize("stage", claude.GATING)
@pytest.mark.parametrize("prefix", ["mcp__askmesh__", "mcp__plugin_askmesh_askmesh__"])
async def test_our_own_tools_for_agents_are_always_allowed(
    gate: Double, stage: str, prefix: str
) -> None:
    for tool in claude.OWN_TOOLS:
        printed = await run(gate, stage, tool_name=f"{prefix}{tool}", tool_input={})
        assert "allow" in str(printed)
    assert (gate.holds, gate.noted) == ([], [])


@pytest.mark.parametrize(
    "tool",
    [*("mcp__askmesh__shell", "mcp__askmesh__", "mcp__askmesh2__flag"), "xmcp__askmesh__flag"],
)
async def test_a_tool_that_only_looks_like_ours_is_not_ours(gate: Double, tool: str) -> None:
    printed = await run(gate, "PreToolUse", tool_name=tool, tool_input={}, tool_use_id="t")
    if tool.startswith("mcp__"):
        assert printed["hookSpecificOutput"]["permissionDecision"] == "deny"
    else:
        assert printed is None


async def test_what_became_of_a_call_is_told(gate: Double) -> None:
    assert await run(gate, "PostToolUse", tool_use_id="t1", tool_response={"stdout": "x"}) is None
    await run(gate, "PostToolUseFailure", tool_use_id="t2", error="e" * 5000)
    await run(gate, "PostToolUseFailure", tool_use_id="t3")
    assert gate.noted == [
        ("done", "t1", True, "The call ran."),
        ("done", "t2", False, "e" * 300),
        ("done", "t3", False, "The call failed."),
    ]


@pytest.mark.parametrize("stage", claude.SESSION)
async def test_events_of_the_session_are_told(gate: Double, stage: str) -> None:
    assert await run(gate, stage) is None
    assert gate.noted == [("event", stage)]


async def test_an_event_nobody_knows_is_nothing(gate: Double) -> None:
    assert await run(gate, "Notification", message="x") is None
    assert gate.noted == []


@pytest.mark.parametrize(("given", "held"), [(900.0, 600.0), (25.0, 25.0), (-3.0, 0.0)])
async def test_a_gate_holds_no_longer_than_its_process_lives(
    gate: Double, given: float, held: float
) -> None:
    await bash(gate, "PreToolUse", "git push", hold_s=given)
    assert gate.holds[0].hold_s == held
    assert limits.GATE_HOLD_S <= limits.GATE_HOST_LIMIT_S - limits.GATE_MARGIN_S


BAD: list[Mapping[str, object]] = [
    {},
    {"tool_name": 5, "tool_input": {}},
    {"tool_name": "Bash", "tool_input": {"x": 2**60}, "tool_use_id": "t"},
    {"tool_name": "Bash", "tool_input": {}, "cwd": "relative", "tool_use_id": "t"},
    {"tool_name": "Write", "tool_input": {"file_path": "/dev/zero"}, "tool_use_id": "t"},
    {"tool_name": "Bash", "tool_input": {}, "hook_event_name": "Stop", "tool_use_id": "t"},
]


@pytest.mark.parametrize("event", BAD)
@pytest.mark.parametrize("stage", claude.GATING)
async def test_an_event_that_cannot_be_judged_is_refused(
    gate: Double, stage: str, event: Mapping[str, object]
) -> None:
    printed = await run(gate, stage, 900.0, **event)
    assert printed["hookSpecificOutput"]["hookEventName"] == stage
    assert "deny" in str(printed)
    assert (gate.holds, gate.noted) == ([], [])


async def test_before_a_call_its_id_is_needed(gate: Double) -> None:
    printed = await run(gate, "PreToolUse", tool_name="Bash", tool_input={"command": "ls"})
    assert printed == pre("deny", "The hook's input has no `tool_use_id`.")


@pytest.mark.parametrize("stage", claude.GATING)
async def test_a_fault_inside_is_a_refusal(
    gate: Double, stage: str, caplog: pytest.LogCaptureFixture
) -> None:
    gate.error = StoreFull()
    assert "disk is full" in str(await bash(gate, stage, "ls"))
    gate.error = ZeroDivisionError("secret of the inside")
    with caplog.at_level(logging.CRITICAL):
        printed = await bash(gate, stage, "ls")
    assert "askmesh failed while deciding" in str(printed)
    assert "secret" not in str(printed)
    assert "deny" in str(printed)


async def test_a_fault_at_other_events_is_silent(gate: Double) -> None:
    gate.error = StoreFull()
    assert await run(gate, "Stop") is None


async def test_a_hook_that_goes_away_ends_the_hold(gate: Double) -> None:
    holding = asyncio.Event()

    async def forever(hold: GateHold) -> GateVerdict:
        holding.set()
        await asyncio.Event().wait()
        raise AssertionError

    gate.hold = forever  # type: ignore[method-assign]
    task = asyncio.create_task(bash(gate, "PreToolUse", "git push"))
    await holding.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_long_sentence_is_cut_below_the_hosts_limit(gate: Double) -> None:
    async def long(hold: GateHold) -> GateVerdict:
        return GateVerdict(allow=False, sentence="x" * 50_000, ask=None)

    gate.hold = long  # type: ignore[method-assign]
    assert len(str(await bash(gate, "PreToolUse", "git push"))) < 10_000


async def test_files_are_part_of_what_is_held(gate: Double, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    arguments = {"file_path": "f", "old_string": "a", "new_string": "b"}
    await run(gate, "PermissionRequest", cwd=str(tmp_path), tool_name="Edit", tool_input=arguments)
    [hold] = gate.holds
    assert hold.call.files[0].path == str(tmp_path / "f")
    assert "+b" in (hold.call.diff or "")
