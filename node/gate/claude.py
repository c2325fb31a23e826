"""Claude Code's hooks: what each means for the gate, and the exact object the host is to read.

The host lets a call go on when a hook prints nothing; so whatever goes wrong at a gating
stage ends in an explicit refusal here, in the hook, or in the wrapper around it.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from node import limits
from node.desk.protocols import Gate, GateHold
from node.desk.requests import Asker
from node.gate.call import Call, CallRefused, make_call
from node.gate.law import Ruled
from node.gate.rules import Match
from sync.errors import AskmeshError

log = logging.getLogger(__name__)

PRE: Final = "PreToolUse"
PERMISSION: Final = "PermissionRequest"
GATING: Final = (PRE, PERMISSION)
DONE: Final = {"PostToolUse": True, "PostToolUseFailure": False}
"""Events after a call ran, and whether it went well."""

SESSION: Final = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
"""Events that show that the session lives and went on."""

STAGES: Final = (*GATING, *DONE, *SESSION)
"""Every event that the kit installs a hook for."""

OWN_PREFIXES: Final = ("mcp__askmesh__", "mcp__plugin_askmesh_askmesh__")
"""How the host names the tools of our server, installed by the kit or by a plugin."""

OWN_TOOLS: Final = frozenset(
    {
        *("flag", "await_answer", "pending", "claim", "resolve", "withdraw", "status", "whoami"),
        *("board_upsert", "board_row", "board_advance", "board_get", "board_archive"),
        *("send", "inbox", "ack"),
    }
)
"""askmesh's tools for agents: they ask, report and wait; none can answer or grant."""

HOST_QUESTIONS: Final = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""Dialogues of the host itself, in which an allow is not an answer: the host keeps its dialogue
open whatever a hook says, so without a rule they are left to whoever sits there."""

SENTENCE_CHARACTERS: Final = 4_000
"""The host cuts at 10,000; this also keeps the print within one write to a pipe."""

RAN_CHARACTERS: Final = 300
"""Of a failed call's own words, kept as the outcome."""


class BadEvent(CallRefused):
    """The hook's input is not of the form that this host is known to give."""

    code = "bad_event"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hook:
    """One run of a hook process."""

    gate: Gate
    who: Asker
    invocation: str
    """A random secret of this process, the same when it connects again."""
    stage: str
    """The event by which the hook is installed; the shape of the print follows it."""
    event: Mapping[str, Any]
    """What the host gave on standard input."""
    hold_s: float

    def text(self, key: str) -> str:
        """A text of the event that the host always gives."""
        value = self.event.get(key)
        if not isinstance(value, str) or not value:
            raise BadEvent(f"The hook's input has no `{key}`.")
        return value


async def handle(
    gate: Gate,
    who: Asker,
    invocation: str,
    stage: str,
    event: Mapping[str, Any],
    *,
    hold_s: float = limits.GATE_HOLD_S,
) -> dict[str, Any]:
    """Carry out one hook: what its process is to print, as `{stdout, stderr, exit}`.

    `hold_s` is the time this hook process has left; the gate's own limit is the most.
    """
    hold_s = max(0.0, min(hold_s, limits.GATE_HOLD_S))
    hook = Hook(gate=gate, who=who, invocation=invocation, stage=stage, event=event, hold_s=hold_s)
    try:
        stdout = await _carry_out(hook)
    except AskmeshError as error:
        stdout = refusal(stage, " ".join(filter(None, (error.sentence, error.hint))))
    except Exception:  # the agent must be stopped whatever went wrong, and the log says what
        log.exception("The gate failed at %s", stage)
        stdout = refusal(stage, "askmesh failed while deciding about this call; see its log.")
    return {"stdout": stdout, "stderr": "", "exit": 0}


def is_own(tool: str) -> bool:
    """Whether this is one of askmesh's own tools for agents, which are always allowed."""
    return any(
        tool.startswith(prefix) and tool.removeprefix(prefix) in OWN_TOOLS
        for prefix in OWN_PREFIXES
    )


def decision(stage: str, *, allow: bool, sentence: str) -> dict[str, Any]:
    """The host's own object for a verdict at a gating stage."""
    sentence = sentence[:SENTENCE_CHARACTERS]
    verdict = "allow" if allow else "deny"
    output: dict[str, Any] = {"hookEventName": stage}
    if stage == PRE:
        output |= {"permissionDecision": verdict, "permissionDecisionReason": sentence}
    elif allow:
        output["decision"] = {"behavior": "allow"}
    else:
        output["decision"] = {"behavior": "deny", "message": sentence}
    return {"hookSpecificOutput": output}


def refusal(stage: str, sentence: str) -> dict[str, Any] | None:
    """An explicit deny at a gating stage; at any other there is nothing to refuse."""
    return decision(stage, allow=False, sentence=sentence) if stage in GATING else None


async def _carry_out(hook: Hook) -> dict[str, Any] | None:
    """The object to print for this event; None lets the host go on as if we were not there."""
    if hook.event.get("hook_event_name", hook.stage) != hook.stage:
        raise BadEvent(f"A hook for {hook.stage} was given another event.")
    if hook.stage in DONE:
        await _done(hook)
    elif hook.stage in SESSION:
        await hook.gate.session_event(hook.who, hook.stage)
    elif hook.stage in GATING:
        return await _gate(hook)
    return None


async def _gate(hook: Hook) -> dict[str, Any] | None:
    """Hold the call against the rules in force."""
    tool = hook.text("tool_name")
    if is_own(tool):
        return decision(hook.stage, allow=True, sentence="askmesh's own tools are allowed.")
    arguments = hook.event.get("tool_input")
    call = await asyncio.to_thread(make_call, tool, arguments, hook.text("cwd"))
    ruled = await hook.gate.judge(hook.who, call)
    if ruled.match and ruled.match.action == "deny":
        return _denied(hook.stage, ruled.match)
    if hook.stage == PRE:
        return await _before(hook, call, ruled)
    return await _permission(hook, call, ruled)


async def _before(hook: Hook, call: Call, ruled: Ruled) -> dict[str, Any] | None:
    """`PreToolUse`: an explicit `ask` rule is enforced; the rest is the host's to decide."""
    tool_use_id = hook.text("tool_use_id")
    if ruled.match and ruled.match.action == "ask":
        return await _held(hook, call, ruled, "pre", tool_use_id)
    await hook.gate.tool_use(hook.who, call, tool_use_id)
    return None


async def _permission(hook: Hook, call: Call, ruled: Ruled) -> dict[str, Any] | None:
    """`PermissionRequest`: the host would ask whoever sits there; a rule or a person decides."""
    if ruled.match is None and call.tool in HOST_QUESTIONS:
        return None
    if ruled.match and ruled.match.action == "allow":
        return decision(PERMISSION, allow=True, sentence="")
    if await hook.gate.handed_before(hook.who, call):
        return decision(PERMISSION, allow=True, sentence="")
    return await _held(hook, call, ruled, "permission", None)


async def _held(
    hook: Hook,
    call: Call,
    ruled: Ruled,
    stage: Literal["pre", "permission"],
    tool_use_id: str | None,
) -> dict[str, Any]:
    """Hold the call until a person decided or the time is over."""
    hold = GateHold(
        who=hook.who,
        call=call,
        match=ruled.match,
        version=ruled.version,
        stage=stage,
        invocation=hook.invocation,
        tool_use_id=tool_use_id,
        hold_s=hook.hold_s,
    )
    verdict = await hook.gate.hold(hold)
    return decision(hook.stage, allow=verdict.allow, sentence=verdict.sentence)


async def _done(hook: Hook) -> None:
    """The call ran: what became of it."""
    ok, error = DONE[hook.stage], hook.event.get("error")
    words = error[:RAN_CHARACTERS] if isinstance(error, str) else ""
    text = "The call ran." if ok else words or "The call failed."
    await hook.gate.tool_done(hook.who, hook.text("tool_use_id"), ok=ok, text=text)


def _denied(stage: str, match: Match) -> dict[str, Any]:
    """A rule refuses the call."""
    reason = f": {match.reason}" if match.reason else ". Do it another way, or ask a person."
    return decision(stage, allow=False, sentence=f"Refused by the rule `{match.rule}`{reason}")
