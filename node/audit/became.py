"""What became of a decision, in one word."""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from sync.decide.ask import AskState, Outcome


class Became(Enum):
    """What became of an ask."""

    WAITING = "waiting"
    """Nobody has decided."""
    NOT_PICKED_UP = "not_picked_up"
    """It is decided; the agent has not come for it."""
    HANDED_OVER = "handed_over"
    """The agent has it, and has said nothing of it yet."""
    SPENT = "spent"
    """The agent has it, and has said what came of it."""
    OUTCOME_UNKNOWN = "outcome_unknown"
    """The agent had an allow, and said nothing while it was there."""
    VOID = "void"
    """It came to nothing before anyone had it."""
    EXPIRED = "expired"
    """Nobody decided in time."""
    WITHDRAWN = "withdrawn"
    """It was not asked any more."""


OF_STATE: Final[Mapping[AskState, Became]] = {
    AskState.WAITING: Became.WAITING,
    AskState.CLOSED: Became.NOT_PICKED_UP,
    AskState.HANDED: Became.HANDED_OVER,
    AskState.RESOLVED: Became.SPENT,
    AskState.VOID: Became.VOID,
}
UNDECIDED: Final[Mapping[Outcome, Became]] = {
    Outcome.EXPIRED: Became.EXPIRED,
    Outcome.WITHDRAWN: Became.WITHDRAWN,
}
"""What nobody decided is that, whoever was told of it."""
WORDS: Final[Mapping[Became, str]] = {
    Became.WAITING: "nobody has decided yet",
    Became.NOT_PICKED_UP: "the agent has not come for it",
    Became.HANDED_OVER: "the agent has it",
    Became.SPENT: "the agent is done with it",
    Became.OUTCOME_UNKNOWN: "the agent had it; nobody knows what came of it",
    Became.VOID: "it came to nothing",
    Became.EXPIRED: "nobody decided in time",
    Became.WITHDRAWN: "it is not asked any more",
}


def became(state: AskState, outcome: Outcome | None, *, unknown: bool = False) -> Became:
    """Return what became of an ask (`unknown`: whoever has it said nothing in time)."""
    if outcome is not None and outcome in UNDECIDED:
        return UNDECIDED[outcome]
    return Became.OUTCOME_UNKNOWN if unknown else OF_STATE[state]


def state_of(outcome: str | None, handover: str | None, *, resolved: bool) -> AskState:
    """Return the state in which an ask is by what was said of it."""
    if outcome is None:
        return AskState.WAITING
    if handover == "void":
        return AskState.VOID
    if resolved:
        return AskState.RESOLVED
    return AskState.CLOSED if handover is None else AskState.HANDED
