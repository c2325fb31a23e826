"""What an agent is told of an ask."""

import sqlite3
from typing import cast

from node.desk import persons
from node.desk.attention import why_unheard
from node.desk.context import Context
from node.desk.made_by import names_of
from node.desk.requests import Answer, AnswerState, Flagged, Kind
from node.desk.rows import AskRow, words
from node.desk.votes import allows, counting_votes
from sync.decide.ask import AskState, Outcome
from sync.decide.ask import Kind as ApprovalKind

GONE = {
    Outcome.ANSWERED.value: "Its words are not kept any more, so ask anew if you still need them."
}
"""What an agent is told that comes for an answer after its words went."""


def state_of(row: AskRow) -> AnswerState:
    """Return an ask's state in the words agents are told."""
    if row.posted:
        return "posted"
    if row.state == AskState.VOID.value:
        return "void"
    return cast("AnswerState", row.outcome or "waiting")


def flagged_of(
    context: Context, connection: sqlite3.Connection, row: AskRow, *, already_open: bool
) -> Flagged:
    """Return the reply to raising an ask."""
    reach, reason = _reach(connection, row, context.clock.now())
    return Flagged(
        id=context.short(row.id),
        full_id=row.id,
        state=state_of(row),
        already_open=already_open,
        reach=reach,
        reach_reason=reason,
        deadline=row.deadline,
        needed=row.needed,
        role=row.role,
    )


def answer_of(
    context: Context, connection: sqlite3.Connection, row: AskRow, session: str | None
) -> Answer:
    """Return where an ask stands; the answer itself only to the session that holds it."""
    reach, why_not = _reach(connection, row, context.clock.now())
    text = words(connection, row)
    answer = text.answer
    here = row.home == context.identity.name
    holds = here and session is not None and row.handed_to == session
    expired = row.outcome == Outcome.EXPIRED.value
    why = answer.reason if answer else GONE.get(row.outcome or "")
    return Answer(
        id=context.short(row.id),
        full_id=row.id,
        kind=cast("Kind", row.kind),
        title=text.title,
        state=state_of(row),
        token=row.token if holds else None,
        choice=text.label(row.choice) if holds else None,
        text=answer.text if answer and holds else None,
        because=answer.because if answer and holds else None,
        by=names_of(connection, row) if holds else None,
        fallback=text.ask.fallback if expired and text.ask else None,
        reason=row.handover_why or why or row.reason,
        resolved=row.resolved_at is not None,
        reach=reach,
        reach_reason=why_not,
        unclear=bool(row.unclear) and row.state != AskState.VOID.value,
        counted=allows(connection, row, persons.everyone(connection)),
        needed=row.needed,
        role=row.role,
    )


def _reach(connection: sqlite3.Connection, row: AskRow, now: int) -> tuple[int, str | None]:
    """Return how many could still answer, and why that is not enough or nobody is called."""
    if row.state != AskState.WAITING.value or row.kind != ApprovalKind.APPROVAL.value:
        count, reason = persons.reachable(connection, row.role)
    else:
        votes = counting_votes(connection, row, persons.everyone(connection))
        count, reason = persons.more_needed(connection, row.quorum, votes)
    return count, reason or why_unheard(connection, row, now)
