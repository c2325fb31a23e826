"""What the screen may say about an ask: one pure function, so no two screens disagree.

No button is offered that is certain to be refused. A viewer's own verdict beats its echo.
"""

from enum import Enum

import msgspec

from sync.decide.ask import DECIDED, AskState, Kind, Outcome, expired
from sync.decide.handover import Held, Standing, Status, Void, outcome_unknown
from sync.decide.people import Person, eligible


class CardState(Enum):
    """Every state a card can show. Those of other machines come with pairing."""

    POSTED = "posted"
    """A note or a result: nobody answers it."""
    WAITING = "waiting"
    """Open, and the viewer may answer it."""
    SENDING = "sending"
    """The viewer's vote is recorded; the home has not ruled."""
    COUNTED = "counted"
    """The viewer's vote counts; more are needed."""
    RESTRICTED = "restricted"
    """Open, but the viewer may not answer it."""
    DEADLINE_PASSED = "deadline_passed"
    """Past its deadline here; the home has not confirmed it."""
    ANSWERED_HERE = "answered_here"
    """Closed by the viewer; not picked up yet."""
    ANSWERED_ELSEWHERE = "answered_elsewhere"
    """Closed by another person; not picked up yet."""
    LOST = "lost"
    """The viewer's answer lost to an earlier one."""
    NOT_PICKED_UP = "not_picked_up"
    """Allowed; no session has fetched it yet."""
    EXPIRED = "expired"
    """The deadline passed; nobody answered in time."""
    WITHDRAWN = "withdrawn"
    """The agent closed it, or the recovery words were used."""
    HANDED = "handed"
    """The agent has it since …"""
    DONE = "done"
    """The agent said what came of it."""
    OUTCOME_UNKNOWN = "outcome_unknown"
    """Handed over, and the session fell silent."""
    TAKEN_BACK = "taken_back"
    """Taken back before anyone had it."""
    VOID = "void"
    """The final came to nothing for another reason."""


OPEN_STATES = frozenset(
    {
        CardState.WAITING,
        CardState.SENDING,
        CardState.COUNTED,
        CardState.RESTRICTED,
        CardState.DEADLINE_PASSED,
    }
)

_BUTTONS: dict[Kind, tuple[str, ...]] = {
    # Deny stands first in tab order (notes/product.md, complaint 12).
    Kind.APPROVAL: ("deny", "allow"),
    Kind.QUESTION: ("answer", "decline"),
    Kind.NOTE: (),
    Kind.DONE: (),
}


class CardFacts(msgspec.Struct, frozen=True, kw_only=True):
    """All that a card depends on. Names are already resolved; ids would not be read."""

    kind: Kind
    state: AskState
    deadline: int | None
    created: int
    agent: str
    machine: str
    role: str | None = None
    needed: int = 1
    counted: int = 0
    own_pending: bool = False
    """The viewer has a vote here that was not ruled on."""
    own_counted: bool = False
    own_lost: bool = False
    """The viewer's last vote was superseded or late."""
    outcome: Outcome | None = None
    closed_at: int | None = None
    closed_by: str | None = None
    """The name of the person whose vote made the final."""
    closed_by_viewer: bool = False
    closed_on: str | None = None
    """The machine on which that vote was given."""
    answer_label: str | None = None
    reason: str | None = None
    use_by: int | None = None
    handover: Status | None = None
    handover_at: int | None = None
    handover_reason: str | None = None
    held: Held | None = None
    resolved_ok: bool | None = None
    resolved_at: int | None = None
    resolved_text: str = ""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown: a state, one sentence, the buttons, and since when it is so."""

    state: CardState
    sentence: str
    actions: tuple[str, ...]
    open: bool
    needs_me: bool
    since: int


def card(facts: CardFacts, viewer: Person | None, now: int) -> Card:
    """Return the card `viewer` sees at `now`."""
    if facts.kind not in DECIDED:
        word = "A finished result" if facts.kind is Kind.DONE else "A note"
        return _shut(CardState.POSTED, f"{word} from {facts.agent}.", facts.created)
    if facts.state is AskState.WAITING:
        return _open(facts, viewer, now)
    if facts.outcome is Outcome.EXPIRED:
        return _shut(
            CardState.EXPIRED, "The deadline passed; nobody answered in time.", _closed(facts)
        )
    if facts.outcome is Outcome.WITHDRAWN:
        why = f": {facts.reason}" if facts.reason else "."
        return _shut(CardState.WITHDRAWN, f"Withdrawn by {facts.agent}{why}", _closed(facts))
    if facts.state is AskState.VOID:
        return _void(facts)
    if facts.state is AskState.RESOLVED:
        return _resolved(facts)
    if facts.state is AskState.HANDED:
        return _handed(facts, now)
    return _final(facts, viewer, now)


def _shut(state: CardState, sentence: str, since: int, actions: tuple[str, ...] = ()) -> Card:
    return Card(
        state=state,
        sentence=sentence,
        actions=actions,
        open=False,
        needs_me=False,
        since=since,
    )


def _closed(facts: CardFacts) -> int:
    return facts.created if facts.closed_at is None else facts.closed_at


def _open(facts: CardFacts, viewer: Person | None, now: int) -> Card:
    actions: tuple[str, ...] = ()
    needs_me = False
    # Who lost the right to answer has lost the right to take back: the home refuses both.
    allowed = eligible(viewer, facts.role)
    back = ("take_back",) if allowed else ()
    if expired(facts.deadline, now):
        state = CardState.DEADLINE_PASSED
        sentence = f"The deadline has passed here; {facts.machine} has not confirmed it."
    elif facts.own_pending:
        state, actions = CardState.SENDING, back
        sentence = f"Your answer is recorded and on its way to {facts.machine}."
    elif facts.own_counted:
        state, actions = CardState.COUNTED, back
        sentence = f"Your answer counts: {facts.counted} of {facts.needed}."
    elif not allowed:
        state = CardState.RESTRICTED
        who = f"someone with the role {facts.role}" if facts.role else "someone who may answer"
        sentence = f"Waiting for {who}."
    else:
        state, actions, needs_me = CardState.WAITING, _BUTTONS[facts.kind], True
        counted = f" {facts.counted} of {facts.needed} so far." if facts.counted else ""
        sentence = f"{facts.agent} waits for your answer.{counted}"
    return Card(
        state=state,
        sentence=sentence,
        actions=actions,
        open=True,
        needs_me=needs_me,
        since=facts.created,
    )


def _verdict(facts: CardFacts) -> str:
    outcome = facts.outcome.value.capitalize() if facts.outcome else "Closed"
    label = f" “{facts.answer_label}”" if facts.answer_label else ""
    by = "you" if facts.closed_by_viewer else facts.closed_by
    who = f" by {by}" if by else ""
    where = f" on {facts.closed_on}" if facts.closed_on else ""
    return f"{outcome}{label}{who}{where}"


def _final(facts: CardFacts, viewer: Person | None, now: int) -> Card:
    verdict = _verdict(facts)
    own = facts.closed_by_viewer and eligible(viewer, facts.role)
    actions = ("take_back",) if own else ()
    if facts.outcome is Outcome.ALLOWED and facts.use_by is not None and now >= facts.use_by:
        sentence = f"{verdict}, but {facts.agent} did not come back for it in time."
        return _shut(CardState.VOID, sentence, facts.use_by)
    if facts.own_lost and not facts.closed_by_viewer:
        sentence = f"{verdict} first; your answer came later and does not count."
        return _shut(CardState.LOST, sentence, _closed(facts))
    if facts.outcome is Outcome.ALLOWED:
        sentence = f"{verdict}; {facts.agent} has not picked it up yet."
        return _shut(CardState.NOT_PICKED_UP, sentence, _closed(facts), actions)
    state = CardState.ANSWERED_HERE if facts.closed_by_viewer else CardState.ANSWERED_ELSEWHERE
    sentence = f"{verdict}; {facts.agent} has not been told yet."
    return _shut(state, sentence, _closed(facts), actions)


def _handed(facts: CardFacts, now: int) -> Card:
    verdict = _verdict(facts)
    since = facts.handover_at if facts.handover_at is not None else _closed(facts)
    standing = Standing(
        kind=facts.kind,
        state=facts.state,
        outcome=facts.outcome,
        use_by=facts.use_by,
        held=facts.held,
    )
    if outcome_unknown(standing, now):
        sentence = (
            f"{verdict}. {facts.agent} took it and has been silent since: "
            "whether the call ran is unknown. Running it needs a new ask."
        )
        return _shut(CardState.OUTCOME_UNKNOWN, sentence, since)
    return _shut(CardState.HANDED, f"{verdict}. {facts.agent} has it.", since)


def _void(facts: CardFacts) -> Card:
    verdict = _verdict(facts)
    since = facts.handover_at if facts.handover_at is not None else _closed(facts)
    if facts.handover_reason == Void.TAKEN_BACK.value:
        return _shut(CardState.TAKEN_BACK, f"{verdict}, then taken back before it was used.", since)
    if facts.handover_reason == Void.USE_BY.value:
        sentence = f"{verdict}, but {facts.agent} did not come back for it in time."
    else:
        sentence = f"{verdict}, but it came to nothing: {facts.handover_reason}."
    return _shut(CardState.VOID, sentence, since)


def _resolved(facts: CardFacts) -> Card:
    since = facts.resolved_at if facts.resolved_at is not None else _closed(facts)
    what = "Done" if facts.resolved_ok else "Failed"
    text = f": {facts.resolved_text}" if facts.resolved_text else ""
    return _shut(CardState.DONE, f"{_verdict(facts)}. {what}{text}", since)
