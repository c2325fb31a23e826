"""The tools that follow up on asks: see, take over, report what came of them, take back."""

from typing import Annotated, Final

from msgspec import Meta

from node.agents.texts import quoted, say_answer, waits_for
from node.agents.tools import Tool, ToolCall
from node.desk.requests import Answer, PendingRow, Reply, Request


class PendingArguments(Request, frozen=True, kw_only=True):
    """Arguments of `pending`."""

    everything: Annotated[bool, Meta(description="Also those that are done.")] = False


class Pending(Reply, frozen=True, kw_only=True):
    """Reply of `pending`."""

    rows: list[PendingRow]


class ClaimArguments(Request, frozen=True, kw_only=True):
    """Arguments of `claim`."""

    id: Annotated[str, Meta(description="The ask's id, e.g. k7qf-142.")]
    take_over: Annotated[
        bool, Meta(description="Take it even though another session holds it already.")
    ] = False


class ResolveArguments(Request, frozen=True, kw_only=True):
    """Arguments of `resolve`."""

    id: Annotated[str, Meta(description="The ask's id, e.g. k7qf-142.")]
    outcome: Annotated[str, Meta(description="What came of it, in a sentence.")]
    ok: Annotated[bool, Meta(description="False when it did not work out.")] = True
    token: Annotated[int | None, Meta(description="The token that came with the answer.")] = None


class WithdrawArguments(Request, frozen=True, kw_only=True):
    """Arguments of `withdraw`."""

    id: Annotated[str, Meta(description="The ask's id, e.g. k7qf-142.")]
    reason: Annotated[str, Meta(description="Why no answer is needed any more.")]


async def pending(call: ToolCall, arguments: PendingArguments) -> Pending:
    """List the project's rows."""
    return Pending(rows=await call.agents.pending(call.who, everything=arguments.everything))


async def claim(call: ToolCall, arguments: ClaimArguments) -> Answer:
    """Take over an answer."""
    return await call.agents.claim(
        call.who, arguments.id, take_over=arguments.take_over, request=call.request
    )


async def resolve(call: ToolCall, arguments: ResolveArguments) -> Answer:
    """Report an outcome."""
    return await call.agents.resolve(
        call.who,
        arguments.id,
        token=arguments.token,
        outcome=arguments.outcome,
        ok=arguments.ok,
        request=call.request,
    )


async def withdraw(call: ToolCall, arguments: WithdrawArguments) -> Answer:
    """Close an own ask."""
    return await call.agents.withdraw(
        call.who, arguments.id, reason=arguments.reason, request=call.request
    )


def say_pending(pending_rows: Pending) -> str:
    """One line for each row."""
    if not pending_rows.rows:
        return "Nothing is open or unresolved in this project."
    return "\n".join(
        f"{row.id} {row.kind} {pending_state(row)}{' (yours)' if row.mine else ''}:"
        f" {quoted(row.title)}"
        for row in pending_rows.rows
    )


def pending_state(row: PendingRow) -> str:
    """A row's state, with how far it is where several must allow it."""
    if row.unclear:
        return f"{row.state}, as unclear: ask again, better"
    if row.state == "waiting" and (row.needed > 1 or row.role):
        return f"waiting for {waits_for(row)}"
    return row.state


TOOLS: Final = [
    Tool(
        name="pending",
        title="What is open in this project",
        description=(
            "List the asks of this project that are open, or answered and not yet resolved; "
            "oldest first. Look here when you begin or resume: an answer may wait for you, "
            "asked by you or by an earlier session. Changes nothing."
        ),
        arguments=PendingArguments,
        reply=Pending,
        run=pending,
        say=say_pending,
        reads_only=True,
    ),
    Tool(
        name="claim",
        title="Take over an answer",
        description=(
            "Take the answer to a question that an earlier session of this project raised, so "
            "that you act on it now. Only with `take_over` when another session holds it, and "
            "only if that one is gone: its token stops counting. Approvals cannot be claimed."
        ),
        arguments=ClaimArguments,
        reply=Answer,
        run=claim,
        say=say_answer,
        summarises=True,
    ),
    Tool(
        name="resolve",
        title="Say what came of an answer",
        description=(
            "Report, once, what you did with an answer, so that people see it is done. Calls "
            "that the gate holds are reported by the gate itself."
        ),
        arguments=ResolveArguments,
        reply=Answer,
        run=resolve,
        say=say_answer,
        summarises=True,
    ),
    Tool(
        name="withdraw",
        title="Close an own ask",
        description=(
            "Close an open ask of yours that no longer needs an answer: you found out, the plan "
            "changed, or someone told you in the chat (say so in `reason`). Not a verdict."
        ),
        arguments=WithdrawArguments,
        reply=Answer,
        run=withdraw,
        say=say_answer,
        summarises=True,
    ),
]
