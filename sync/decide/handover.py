"""Handing a final over: an approval at most once, a question under rising tokens."""

from enum import Enum

import msgspec

from sync import limits
from sync.decide.ask import AskState, Kind, Outcome


class Status(Enum):
    """What became of a final."""

    HANDED = "handed"
    VOID = "void"


class Void(Enum):
    """Why a final came to nothing."""

    TAKEN_BACK = "taken back"
    USE_BY = "use-by passed"
    RULES = "rules tightened"
    RESTORED = "restored"
    MOVED = "its machine changed fleets"
    ERASED = "its text was erased"


WHY_RESTORED = Void.RESTORED.value
"""The reason in the final of an approval that was still open in a restored copy."""


class Give(Enum):
    """The answer to a session that wants what was decided."""

    HAND = "hand"
    """Commit a new hand-over to this session, then tell it."""
    AGAIN = "again"
    """It has it already: tell it again, commit nothing."""
    HELD = "held"
    """Another session has it, or had it."""
    NOTHING = "nothing"
    """There is nothing to give: still open, or void."""
    VOID_USE_BY = "void, use-by passed"
    """Commit a void for `Void.USE_BY`, then say so."""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The live hand-over."""

    session: str
    token: int
    lease_until: int


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What deciding a hand-over needs to know."""

    kind: Kind
    state: AskState
    outcome: Outcome | None
    use_by: int | None
    held: Held | None


def give(standing: Standing, session: str, *, now: int, take_over: bool = False) -> Give:
    """Decide what `session` gets.

    An approval is handed to one session once and never again, not even to the same one
    (the stored reply of that very request is another matter). A question is told to its
    holder as often as it asks, and moves to another session only by a take-over, or once
    the holder's lease has lapsed.
    """
    if standing.state in (AskState.WAITING, AskState.VOID):
        return Give.NOTHING
    held = standing.held
    if held is None:
        if use_by_passed(standing, now):
            return Give.VOID_USE_BY
        return Give.HAND
    if standing.kind is Kind.APPROVAL:
        return Give.HELD
    if held.session == session:
        return Give.AGAIN
    if standing.state is AskState.RESOLVED:
        return Give.HELD
    return Give.HAND if take_over or now >= held.lease_until else Give.HELD


def use_by_passed(standing: Standing, now: int) -> bool:
    """Whether a verdict waited too long to be acted on; only an allow can be too old."""
    return (
        standing.outcome is Outcome.ALLOWED
        and standing.use_by is not None
        and now >= standing.use_by
    )


def lease_from(now: int) -> int:
    """Return until when a session counts as alive that was heard at `now`."""
    return now + limits.LEASE_MS


def outcome_unknown(standing: Standing, now: int) -> bool:
    """Whether nobody can say what came of an approval that was handed over."""
    return (
        standing.kind is Kind.APPROVAL
        and standing.state is AskState.HANDED
        and standing.outcome is Outcome.ALLOWED
        and standing.held is not None
        and now >= standing.held.lease_until
    )
