"""An ask and its life: the states, the table of steps, and what a new ask must be."""

from enum import Enum

import msgspec

from sync import limits
from sync.errors import IllegalStep, Invalid
from sync.log.facts import Quorum


class Kind(Enum):
    """The four kinds of rows an agent can raise."""

    QUESTION = "question"
    APPROVAL = "approval"
    NOTE = "note"
    DONE = "done"


DECIDED = frozenset({Kind.QUESTION, Kind.APPROVAL})
"""Kinds that somebody answers; the others are only read."""


class Outcome(Enum):
    """How an ask can close."""

    ALLOWED = "allowed"
    DENIED = "denied"
    ANSWERED = "answered"
    DECLINED = "declined"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class AskState(Enum):
    """Where an ask stands at its home."""

    WAITING = "waiting"
    """Open; no final yet."""
    CLOSED = "closed"
    """A final stands; no hand-over yet."""
    HANDED = "handed"
    """A session has it."""
    VOID = "void"
    """The final came to nothing."""
    RESOLVED = "resolved"
    """The agent said what came of it."""


class Step(Enum):
    """What can happen to an ask."""

    CLOSE = "close"
    HAND = "hand"
    VOID = "void"
    RESOLVE = "resolve"


_COMMON: dict[AskState, dict[Step, AskState]] = {
    AskState.WAITING: {Step.CLOSE: AskState.CLOSED},
    AskState.CLOSED: {Step.HAND: AskState.HANDED, Step.VOID: AskState.VOID},
    AskState.HANDED: {Step.RESOLVE: AskState.RESOLVED},
    AskState.VOID: {},
    AskState.RESOLVED: {},
}

STEPS: dict[Kind, dict[AskState, dict[Step, AskState]]] = {
    Kind.APPROVAL: _COMMON,
    # A question's answer may be taken over by another session, under a higher token.
    Kind.QUESTION: {
        **_COMMON,
        AskState.HANDED: {Step.HAND: AskState.HANDED, Step.RESOLVE: AskState.RESOLVED},
    },
    Kind.NOTE: {},
    Kind.DONE: {},
}
"""State → step → next state. Notes and results have no life: they are only read."""


def advance(kind: Kind, state: AskState, step: Step) -> AskState:
    """Return the state after `step`. Raises `IllegalStep`; nothing changes then."""
    try:
        return STEPS[kind][state][step]
    except KeyError:
        raise IllegalStep(
            f"A {kind.value} that is {state.value} cannot be moved on by {step.value!r}."
        ) from None


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What deciding needs to know of an ask."""

    id: str
    kind: Kind
    state: AskState
    entry_hash: bytes
    """Of the current revision: what a vote must name as `seen`."""
    options: list[str]
    deadline: int | None
    session: str
    enforced: bool
    quorum: Quorum = Quorum()


OUTCOMES: dict[Kind, frozenset[Outcome]] = {
    Kind.QUESTION: frozenset(
        {Outcome.ANSWERED, Outcome.DECLINED, Outcome.EXPIRED, Outcome.WITHDRAWN}
    ),
    Kind.APPROVAL: frozenset({Outcome.ALLOWED, Outcome.DENIED, Outcome.EXPIRED, Outcome.WITHDRAWN}),
    Kind.NOTE: frozenset(),
    Kind.DONE: frozenset(),
}
"""The outcomes each kind can have."""


def expired(deadline: int | None, now: int) -> bool:
    """Whether the deadline has passed: at the deadline itself it has."""
    return deadline is not None and now >= deadline


def deadline_for(
    kind: Kind, *, created: int, asked_ms: int | None, default_ms: int | None = None
) -> int | None:
    """Return the judged deadline of a new ask.

    Raises `Invalid` for a deadline that is too short, too long, or on what never waits.
    """
    if kind not in DECIDED:
        if asked_ms is not None:
            raise Invalid(f"A {kind.value} waits for nobody, so it cannot have a deadline.")
        return None
    wanted = asked_ms if asked_ms is not None else default_ms
    if wanted is None:
        if kind is Kind.QUESTION:
            return None
        wanted = limits.APPROVAL_DEADLINE_MS
    longest = (
        limits.APPROVAL_DEADLINE_MAX_MS
        if kind is Kind.APPROVAL
        else limits.QUESTION_DEADLINE_MAX_MS
    )
    if not limits.DEADLINE_MIN_MS <= wanted <= longest:
        days = longest // limits.DAY_MS
        raise Invalid(
            f"A deadline of {wanted / 1000:g} s is outside what a {kind.value} may have.",
            hint=f"Give between 1 second and {days} days.",
        )
    return created + wanted


def check_words(name: str, text: str, most: int, *, needed: bool = False) -> None:
    """Check one text of an ask. Raises `Invalid` that names the field and the limit."""
    if needed and not text.strip():
        raise Invalid(f"The {name} is empty.", hint=f"Say in the {name} what this is about.")
    if len(text) > most:
        raise Invalid(f"The {name} has {len(text)} characters; at most {most} fit.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise Invalid(f"The {name} holds half of a character (a lone surrogate).")


def check_shape(kind: Kind, *, options: list[str], fallback: str | None, has_call: bool) -> None:
    """Check that the parts fit the kind. Raises `Invalid` with what to use instead."""
    if options and kind is not Kind.QUESTION:
        raise Invalid(
            f"A {kind.value} has no options.",
            hint="Use kind 'question' to offer choices.",
        )
    if len(options) > limits.OPTIONS:
        raise Invalid(f"{len(options)} options were given; at most {limits.OPTIONS} fit.")
    if len({" ".join(option.split()) for option in options}) != len(options):
        raise Invalid(
            "Two options have the same label, so an answer could mean either.",
            hint="Spaces make no difference to a reader; use other words.",
        )
    if fallback is not None and kind is not Kind.QUESTION:
        raise Invalid(
            f"A {kind.value} cannot have a fallback: silence never means yes.",
            hint="Only a question may say what you will do yourself when nobody answers.",
        )
    if has_call and kind is not Kind.APPROVAL:
        raise Invalid(f"A {kind.value} has no call.", hint="Use kind 'approval'.")
