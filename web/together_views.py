"""Records of answers given together, and of what need not have been asked."""

from typing import Annotated, Literal

import msgspec

from web.limits import ID_CHARACTERS, VOTES_TOGETHER
from web.messages import Given, Refused, Taken
from web.views import View, VoteReceipt


class BallotFor(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of several answers given together: a vote of its own, on what was `seen` of it."""

    ask: Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z-]+$", max_length=ID_CHARACTERS)]
    """Its full or short id."""
    decision: Literal["allow", "deny", "answer", "decline"]
    seen: str
    choice: str | None = None
    text: str | None = None
    because: str | None = None
    unclear: bool = False


class Ballots(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Several answers. Allowed together are only calls that are identical."""

    votes: Annotated[list[BallotFor], msgspec.Meta(min_length=1, max_length=VOTES_TOGETHER)]
    wait_s: float = 0.0
    """As with one answer, for all of them together."""


class Needless(Taken, frozen=True, kw_only=True):
    """Whether this need not have been asked."""

    needless: bool


class AgentCount(View, frozen=True, kw_only=True):
    """What one agent asked under one version of the words that tell it when to ask."""

    agent: str
    contract: str | None
    """That version; null: not known, asked before askmesh kept it."""
    asked: int
    needless: int
    """Of these, how many a person marked as ones that need not have been asked."""


class AgentReport(Given, frozen=True, kw_only=True):
    """How much each agent asked, and how much of that need not have been asked."""

    agents: list[AgentCount]


class VoteOutcome(Given, frozen=True, kw_only=True):
    """What became of one of several answers: a receipt, or why it was not recorded."""

    ask: str
    """As it was named."""
    receipt: VoteReceipt | None = None
    error: Refused | None = None


class VoteOutcomes(Given, frozen=True, kw_only=True):
    """What became of each of several answers, in their order."""

    outcomes: list[VoteOutcome]
