"""The tools about the caller itself."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from node.agents.tools import Tool, ToolCall
from node.desk.requests import Child, Reply, Request, Whoami


class StatusArguments(Request, frozen=True, kw_only=True):
    """Arguments of `status`."""

    text: Annotated[str, Meta(description="One line: what you are doing now.")]
    children: Annotated[
        list[Child] | None,
        Meta(
            description="Your sub-agents as {name, doing}, all of them; left out, those you told"
            " of stay; an empty list takes them away."
        ),
    ] = None


class Noted(Reply, frozen=True, kw_only=True):
    """Reply of `status`."""

    noted: bool = True


class WhoamiArguments(Request, frozen=True, kw_only=True):
    """Arguments of `whoami`: none."""


async def status(call: ToolCall, arguments: StatusArguments) -> Noted:
    """Show what the session is doing."""
    await call.agents.status(call.who, arguments.text, arguments.children)
    return Noted()


async def whoami(call: ToolCall, arguments: WhoamiArguments) -> Whoami:  # noqa: ARG001
    """Tell the caller how it is seen."""
    seen = await call.agents.whoami(call.who)
    return msgspec.structs.replace(seen, wait_limit_s=call.wait_limit_s)


def say_noted(noted: Noted) -> str:  # noqa: ARG001
    """What `status` says."""
    return "Shown to the people of this project."


def say_whoami(seen: Whoami) -> str:
    """What `whoami` says."""
    reach = f"{seen.reach} can answer" if seen.reach else f"nobody can answer: {seen.reach_reason}"
    gate = "in force" if seen.gate == "in_force" else "not seen in this session"
    return (
        f"You are {seen.agent}, session {seen.session}, in {seen.project} on {seen.machine}; "
        f"{reach}; the gate is {gate}; a call may wait {seen.wait_limit_s:.0f} s."
    )


TOOLS: Final = [
    Tool(
        name="status",
        title="Say what you are doing",
        description=(
            "Replace the one line that people see beside this session, with your sub-agents below "
            "it. Call it when a phase begins that takes minutes; not for every step, and not on a "
            "timer: silence ages by itself. Nobody is notified."
        ),
        arguments=StatusArguments,
        reply=Noted,
        run=status,
        say=say_noted,
    ),
    Tool(
        name="whoami",
        title="How askmesh sees you",
        description=(
            "Your name, session, project and machine as people see them, how many of them could "
            "answer now, how long a call may wait, and whether the gate is in force."
        ),
        arguments=WhoamiArguments,
        reply=Whoami,
        run=whoami,
        say=say_whoami,
        reads_only=True,
    ),
]
