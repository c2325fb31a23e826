"""A person's answer, what it may say, and the rulings a home can give on it."""

from enum import Enum

import msgspec

from sync import limits
from sync.decide.ask import Kind, Outcome, check_words
from sync.errors import Invalid


class Decision(Enum):
    """What a vote says."""

    ALLOW = "allow"
    DENY = "deny"
    ANSWER = "answer"
    DECLINE = "decline"
    TAKE_BACK = "take_back"


class Ruling(Enum):
    """The home's answer to one vote; every vote gets exactly one."""

    ACCEPTED = "accepted"
    """It made the final."""
    COUNTED = "counted"
    """It counts; more are needed."""
    SUPERSEDED = "superseded"
    """Another answer was final already."""
    LATE = "late"
    """It reached the home after the deadline."""
    STALE = "stale"
    """The ask had changed since it was shown."""
    NOT_ALLOWED = "not_allowed"
    """The person may not answer this."""
    ON_HOLD = "on_hold"
    """The account was on hold or suspended when it reached the home."""
    TAKEN_BACK = "taken_back"
    """It was taken back, or it took back what it could."""


OUTCOME_OF: dict[Decision, Outcome] = {
    Decision.ALLOW: Outcome.ALLOWED,
    Decision.DENY: Outcome.DENIED,
    Decision.ANSWER: Outcome.ANSWERED,
    Decision.DECLINE: Outcome.DECLINED,
}

DECISIONS: dict[Kind, frozenset[Decision]] = {
    Kind.APPROVAL: frozenset({Decision.ALLOW, Decision.DENY}),
    Kind.QUESTION: frozenset({Decision.ANSWER, Decision.DECLINE}),
    Kind.NOTE: frozenset(),
    Kind.DONE: frozenset(),
}
"""Which decisions fit which kind (taking back fits wherever a vote stands)."""


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    """One signed answer, as deciding needs it."""

    hash: bytes
    node: bytes
    person: str
    decision: Decision
    seen: bytes
    choice: str | None = None
    unclear: bool = False


UNCLEAR = frozenset({Decision.DENY, Decision.DECLINE})
"""What an ask that was not understood is sent back with: never a yes, on any machine."""


def check_ballot(
    kind: Kind,
    *,
    decision: Decision,
    options: list[str],
    choice: str | None,
    text: str | None,
    because: str | None,
    unclear: bool = False,
) -> None:
    """Check that an answer fits what was asked. Raises `Invalid`."""
    if decision is Decision.TAKE_BACK:
        return
    if decision not in DECISIONS[kind]:
        fitting = " or ".join(sorted(item.value for item in DECISIONS[kind])) or "nothing"
        raise Invalid(
            f"A {kind.value} cannot be answered with {decision.value!r}.",
            hint=f"It takes {fitting}.",
        )
    if unclear and decision not in UNCLEAR:
        raise Invalid(
            f"An ask that is sent back as unclear cannot be answered with {decision.value!r}.",
            hint="Send an approval back with 'deny', a question with 'decline'.",
        )
    for name, words in (("answer", text), ("reason", because)):
        check_words(name, words or "", limits.ANSWER_CHARACTERS // 2)
    if decision is not Decision.ANSWER:
        if choice is not None or text:
            raise Invalid(f"{decision.value!r} takes no choice and no text; use 'because'.")
        return
    if choice is None and not (text or "").strip():
        raise Invalid("The answer is empty.", hint="Choose an option or write a text.")
    if choice is not None and choice not in options:
        raise Invalid(f"{choice[:80]!r} is not one of the options.")
