"""How an ask closes: the home's final, its hand-over or void, and what came of it.

Functions of a `Transaction`; each appends one entry and numbers the change. The state
table in `sync.decide.ask` refuses a second final, so does `UNIQUE` in the store.
"""

from collections.abc import Sequence

from node.desk import persons
from node.desk.rows import AskRow, by_id
from node.store.transaction import Transaction
from sync.decide.ask import AskState, Kind, Outcome, Step, advance, expired
from sync.decide.handover import Status, Void, lease_from
from sync.errors import IllegalStep, NotFound
from sync.limits import USE_BY_MS
from sync.log.facts import (
    EmbeddedVote,
    FinalFacts,
    FinalText,
    HandoverFacts,
    ResolvedFacts,
    ResolvedText,
)
from sync.log.kinds import EntryType


def reload(transaction: Transaction, ask: str) -> AskRow:
    """Return the row as it stands now in this transaction."""
    row = by_id(transaction.connection, ask)
    if row is None:
        raise NotFound(f"There is no ask {ask}.")
    return row


def close(
    transaction: Transaction,
    row: AskRow,
    outcome: Outcome,
    *,
    votes: Sequence[bytes] = (),
    choice: str | None = None,
    text: FinalText | None = None,
    reason: str | None = None,
    unclear: bool = False,
) -> AskRow:
    """Make the final. `votes` are entry hashes, the deciding one last.

    Raises `IllegalStep` when a final stands already, or the ask's home is elsewhere.
    """
    _at_home(transaction, row)
    advance(Kind(row.kind), AskState(row.state), Step.CLOSE)
    embedded: list[EmbeddedVote] = []
    for vote in votes:
        header, signature, facts = transaction.row(
            "SELECT header, signature, facts FROM entry WHERE hash = ?", vote
        )
        embedded.append(EmbeddedVote(raw=header, signature=signature, facts=facts))
    approval = row.kind == Kind.APPROVAL.value
    transaction.append(
        EntryType.FINAL,
        FinalFacts(
            ask=row.id,
            seen=row.entry_hash,
            outcome=outcome.value,
            unclear=unclear,
            choice=choice,
            reason=reason,
            rule=row.rule,
            quorum=row.quorum,
            votes=embedded,
            people_heads=persons.heads(transaction.connection) if votes else [],
            use_by=transaction.now + USE_BY_MS if approval and votes else None,
            at=transaction.now,
        ),
        text or FinalText(),
    )
    transaction.change("ask", row.id)
    return reload(transaction, row.id)


def is_home(transaction: Transaction, row: AskRow) -> bool:
    """Whether the ask was raised on this machine, which alone decides on it."""
    return row.home == transaction.identity.name


def _at_home(transaction: Transaction, row: AskRow) -> None:
    if not is_home(transaction, row):
        raise IllegalStep("Only the machine on which an ask was raised can move it on.")


def expire_if_due(transaction: Transaction, row: AskRow) -> AskRow:
    """Close an open ask whose deadline has passed; return the row as it stands.

    One of another machine is left as it is: only its home can close it. On hold, none is.
    """
    if not is_home(transaction, row) or transaction.silenced is not None:
        return row
    if row.state == AskState.WAITING.value and expired(row.deadline, transaction.now):
        return close(transaction, row, Outcome.EXPIRED)
    return row


def hand(transaction: Transaction, row: AskRow, session: str) -> AskRow:
    """Hand the final to a session, under the next token."""
    _at_home(transaction, row)
    advance(Kind(row.kind), AskState(row.state), Step.HAND)
    transaction.append(
        EntryType.HANDOVER,
        HandoverFacts(
            ask=row.id,
            final=row.final_hash or b"",
            status=Status.HANDED.value,
            token=row.token + 1,
            session=session,
            lease_until=lease_from(transaction.now),
            at=transaction.now,
        ),
    )
    transaction.change("ask", row.id)
    return reload(transaction, row.id)


def void(transaction: Transaction, row: AskRow, why: Void) -> AskRow:
    """State that the final came to nothing."""
    _at_home(transaction, row)
    advance(Kind(row.kind), AskState(row.state), Step.VOID)
    transaction.append(
        EntryType.HANDOVER,
        HandoverFacts(
            ask=row.id,
            final=row.final_hash or b"",
            status=Status.VOID.value,
            token=row.token,
            reason=why.value,
            at=transaction.now,
        ),
    )
    transaction.change("ask", row.id)
    return reload(transaction, row.id)


def resolve(transaction: Transaction, row: AskRow, *, ok: bool, outcome: str) -> AskRow:
    """Record what the agent says came of it."""
    _at_home(transaction, row)
    advance(Kind(row.kind), AskState(row.state), Step.RESOLVE)
    transaction.append(
        EntryType.RESOLVED,
        ResolvedFacts(ask=row.id, token=row.token, ok=ok, at=transaction.now),
        ResolvedText(outcome=outcome),
    )
    transaction.change("ask", row.id)
    return reload(transaction, row.id)
