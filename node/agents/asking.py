"""Raise an ask and, when wished, wait for its answer: one call, for MCP and HTTP alike."""

import msgspec

from node.desk.protocols import Agents, Progress
from node.desk.requests import AnswerState, Asker, Flag, Reply


class Raised(Reply, frozen=True, kw_only=True):
    """An ask is recorded; with `wait_s`, also where it stood when the waiting ended."""

    id: str
    """Short id, e.g. `k7qf-142`."""
    full_id: str
    state: AnswerState
    already_open: bool = False
    reach: int = 0
    reach_reason: str | None = None
    deadline: int | None = None
    token: int | None = None
    choice: str | None = None
    text: str | None = None
    because: str | None = None
    by: str | None = None
    fallback: str | None = None
    reason: str | None = None
    resolved: bool = False
    unclear: bool = False
    counted: int = 0
    needed: int = 1
    role: str | None = None


async def raise_and_wait(
    agents: Agents,
    who: Asker,
    flag: Flag,
    *,
    wait_s: float,
    request: str,
    progress: Progress | None = None,
) -> Raised:
    """Record the ask, then wait up to `wait_s` for it to close."""
    flagged = await agents.flag(who, flag, request=request)
    raised = msgspec.convert(msgspec.structs.asdict(flagged), Raised)
    if wait_s <= 0 or flagged.state == "posted":
        return raised
    answer = await agents.await_answer(
        who, flagged.full_id, wait_s=wait_s, request=f"{request}/wait", progress=progress
    )
    known = {field.name for field in msgspec.structs.fields(Raised)}
    changes = {k: v for k, v in msgspec.structs.asdict(answer).items() if k in known}
    return msgspec.structs.replace(raised, **changes)
