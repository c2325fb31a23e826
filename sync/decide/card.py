"""What the screen may say about an ask: one pure function, so no two screens disagree.

No button is offered that is certain to be refused. A viewer's own verdict beats its echo.
"""

import msgspec

from sync.decide.ask import DECIDED, AskState, Kind, Outcome, expired
from sync.decide.attention import CALLED, Attention, Mode
from sync.decide.card_account import held_allow, held_open
from sync.decide.card_state import GONE, REACHED, CardState, HomeState
from sync.decide.handover import Held, Standing, Status, Void, outcome_unknown
from sync.decide.people import Person, eligible
from sync.decide.standing import Level
from sync.decide.vote import Ruling

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
    """The home's name."""
    home: HomeState = HomeState.HERE
    home_seen: int | None = None
    """When the home was last known to be running (or was removed)."""
    home_seen_by: str | None = None
    """The machine that saw it then (or the person who removed it)."""
    on_hold: str | None = None
    """Why nothing is decided on this machine now, as a sentence."""
    account: Level | None = None
    """How the account stands by which the viewer cannot answer; None: nothing holds it."""
    account_whole: bool = True
    """It is the account of all, not the viewer's own."""
    allow_held: Level | None = None
    """How the account stands by which the allow is not handed over; None: nothing holds it."""
    allow_held_of: str | None = None
    """The person whose account that is; None: it is the account of all."""
    disputed: bool = False
    """Its home said something of it after its history had split in two."""
    speaks_here: bool = True
    """Whether votes of the viewer that this machine signs count."""
    call_here: bool = True
    """Whether the exact call can be read here (or there is none)."""
    erased: str | None = None
    """Who had its text erased, as far as anyone did."""
    attention: Attention = CALLED
    """What it means for the viewer while it is open."""
    unheard: bool = False
    """Nobody who may answer is called for it now."""
    role: str | None = None
    needed: int = 1
    counted: int = 0
    own_pending: bool = False
    """The viewer has a vote that was not ruled on."""
    own_taking_back: bool = False
    """The viewer took back, and that was not ruled on."""
    own_counted: bool = False
    own_beside: str | None = None
    """Whose allow counts instead of the viewer's, given on the same machine."""
    own_agent: bool = False
    """The viewer's own agent asks, and somebody else has to allow it."""
    own_lost: bool = False
    """The viewer's last vote was superseded or late."""
    own_refused: Ruling | None = None
    """The viewer's last vote was stale or not allowed."""
    own_made: bool = False
    """A vote of the viewer is one of those that made the final."""
    outcome: Outcome | None = None
    unclear: bool = False
    """Denied or declined only because it was not understood."""
    closed_at: int | None = None
    closed_by: str | None = None
    """The name of the person whose vote made the final."""
    closed_by_viewer: bool = False
    closed_on: str | None = None
    """The machine on which that vote was given."""
    answer_label: str | None = None
    reason: str | None = None
    restored: bool = False
    """Its home closed it because it was restored, as `WHY_RESTORED` in the final says."""
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
    if facts.disputed and facts.state is not AskState.WAITING:
        return _disputed(facts)
    if facts.state is AskState.WAITING:
        return _gone(facts, f"{facts.agent} waited here.") or _open(facts, viewer, now)
    if facts.outcome is Outcome.EXPIRED:
        late = "; your answer came after it." if _lost(facts) else "; nobody answered in time."
        return _shut(CardState.EXPIRED, f"The deadline passed{late}", _closed(facts))
    if facts.outcome is Outcome.WITHDRAWN and facts.restored:
        sentence = f"Withdrawn: {facts.machine} was put back to an older copy since it was asked."
        return _shut(CardState.WITHDRAWN, sentence, _closed(facts))
    if facts.outcome is Outcome.WITHDRAWN:
        why = f": {facts.reason}" if facts.reason else "."
        erased = facts.erased is not None and (facts.reason or "").startswith(Void.ERASED.value)
        who = "" if erased else f" by {facts.agent}"
        return _shut(CardState.WITHDRAWN, f"Withdrawn{who}{why}", _closed(facts))
    if facts.state is AskState.VOID:
        return _void(facts)
    if facts.state is AskState.RESOLVED:
        return _resolved(facts)
    if facts.state is AskState.HANDED:
        return _gone(facts, f"{_verdict(facts)}; {facts.agent} has it.") or _handed(facts, now)
    return _gone(facts, f"{_verdict(facts)}.") or _final(facts, viewer, now)


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


def _lost(facts: CardFacts) -> bool:
    """Whether an answer of the viewer came to nothing because another final stands."""
    return (facts.own_lost or facts.own_pending) and not (facts.closed_by_viewer or facts.own_made)


def _gone(facts: CardFacts, before: str) -> Card | None:
    """Return the card of what can never be settled any more."""
    if facts.home not in GONE:
        return None
    since = facts.created if facts.home_seen is None else facts.home_seen
    if facts.home is HomeState.MUST_REJOIN:
        state = CardState.MUST_REJOIN
        why = f"{facts.machine} must join again: its history split in two."
    else:
        state = CardState.MACHINE_REMOVED
        by = f" by {facts.home_seen_by}" if facts.home_seen_by else ""
        why = f"{facts.machine} was removed{by}, so nothing more will come of it."
    return _shut(state, f"{before} {why}", since)


def _disputed(facts: CardFacts) -> Card:
    """What was decided in one of two histories: the other may say otherwise."""
    sentence = (
        f"{_verdict(facts)}, but this is disputed: the history of {facts.machine} had split in two"
        " by then, and another copy of it may say otherwise."
    )
    return _shut(CardState.DISPUTED, sentence, _closed(facts))


def _open(facts: CardFacts, viewer: Person | None, now: int) -> Card:
    if facts.erased is not None:
        sentence = (
            f"Its text was erased by {facts.erased}, so nobody can answer it;"
            f" {facts.machine} has not withdrawn it yet."
        )
        return _card(CardState.RESTRICTED, sentence, facts)
    # Who lost the right to answer has lost the right to take back: the home refuses both.
    allowed = eligible(viewer, facts.role) and facts.speaks_here
    if expired(facts.deadline, now):
        sentence = f"The deadline has passed here; {facts.machine} has not confirmed it."
        if facts.own_pending:
            sentence += " It decides whether your answer came in time."
        return _card(CardState.DEADLINE_PASSED, sentence, facts)
    if facts.on_hold is not None:
        return _card(CardState.ON_HOLD, facts.on_hold, facts)
    if facts.account is not None:
        return _card(
            *held_open(facts.account, whole=facts.account_whole, pending=facts.own_pending), facts
        )
    own = _own(facts)
    if own is not None:
        state, sentence = own
        actions = ("take_back",) if state is not CardState.TAKING_BACK else _buttons(facts)
        return _card(state, sentence, facts, actions if allowed else ())
    if not allowed:
        return _card(CardState.RESTRICTED, _restricted(facts, viewer), facts)
    if facts.own_agent:
        so_far = f" {facts.counted} of {facts.needed} so far." if facts.counted else ""
        sentence = own_agent(facts.role) + so_far + " You may deny it."
        return _card(CardState.RESTRICTED, sentence, facts, _buttons(facts))
    return _answerable(facts)


def _own(facts: CardFacts) -> tuple[CardState, str] | None:
    """What the viewer did already: one's own verdict beats all else."""
    reached = facts.home in REACHED
    if facts.own_taking_back:
        how = "on its way to" if reached else "kept for"
        sentence = f"You took your answer back; that is {how} {facts.machine}."
        return CardState.TAKING_BACK, sentence
    if facts.own_pending and reached:
        return (
            CardState.SENDING,
            f"Your answer is recorded and on its way to {facts.machine}.",
        )
    if facts.own_pending:
        sentence = (
            f"Your answer is kept until {facts.machine} is back; {facts.agent} was not told yet."
        )
        return CardState.KEPT, sentence
    if facts.own_counted and facts.own_beside is not None:
        sentence = (
            f"Your answer is recorded, but {facts.own_beside} allowed it on the same machine, and"
            f" people on one machine count as one: {facts.counted} of {facts.needed}. Take it"
            " back and allow it on a machine of your own."
        )
        return CardState.COUNTED, sentence
    if facts.own_counted:
        sentence = f"Your answer counts: {facts.counted} of {facts.needed}."
        return CardState.COUNTED, sentence
    return None


def _restricted(facts: CardFacts, viewer: Person | None) -> str:
    if eligible(viewer, facts.role):
        return (
            "You cannot answer from this machine: it does not speak for you."
            " An owner can say that it does."
        )
    who = f"someone with the role {facts.role}" if facts.role else "someone who may answer"
    return f"Waiting for {who}.{_UNHEARD if facts.unheard else ''}"


def _answerable(facts: CardFacts) -> Card:
    state = CardState.WAITING
    parts = [f"{facts.agent} waits for your answer."]
    if facts.own_refused is Ruling.STALE:
        parts.append("It has changed since you answered; that answer does not count.")
    elif facts.own_refused is Ruling.ON_HOLD:
        parts.append("Your earlier answer came while the account was on hold; answer again.")
    elif facts.own_refused is not None:
        parts.append(f"{facts.machine} did not accept your earlier answer.")
    if facts.counted:
        parts.append(f"{facts.counted} of {facts.needed} so far.")
    if facts.home not in REACHED:
        state = CardState.AWAY
        parts.append(f"{facts.machine} is away: an answer is kept until it is back.")
    if not facts.call_here:
        parts.append("The exact call is still on its way.")
    heard = _HEARD.get(facts.attention.mode)
    sentence = " ".join([*parts, heard] if heard else parts)
    sentence += _UNHEARD if facts.unheard else ""
    return _card(state, sentence, facts, _buttons(facts), needs_me=facts.attention.calls)


_HEARD = {
    Mode.ESCALATED: "Nobody has answered so far, so it was passed on to you.",
    Mode.NOT_SUBSCRIBED: "You are not subscribed to this agent, so it does not call you.",
    Mode.MUTED: "You are muted, so it does not call you.",
    Mode.QUIET: "You have quiet hours, so it does not call you.",
}
_UNHEARD = " Nobody who may answer is called for it now."


def _buttons(facts: CardFacts) -> tuple[str, ...]:
    """The answers of a kind; what cannot be read here cannot be allowed here."""
    may_allow = facts.call_here and not facts.own_agent
    return tuple(action for action in _BUTTONS[facts.kind] if action != "allow" or may_allow)


def own_agent(role: str | None) -> str:
    """Say to whom it falls to allow what the viewer's own agent asks."""
    who = f"someone else with the role {role}" if role else "someone else"
    return f"Your own agent asks this, so it is for {who} to allow it."


def _card(
    state: CardState,
    sentence: str,
    facts: CardFacts,
    actions: tuple[str, ...] = (),
    *,
    needs_me: bool = False,
) -> Card:
    away = state in (CardState.AWAY, CardState.KEPT) and facts.home_seen is not None
    return Card(
        state=state,
        sentence=sentence,
        actions=actions,
        open=True,
        needs_me=needs_me,
        since=facts.home_seen if away and facts.home_seen is not None else facts.created,
    )


def _verdict(facts: CardFacts) -> str:
    outcome = facts.outcome.value.capitalize() if facts.outcome else "Closed"
    if facts.unclear:
        outcome = "Sent back as unclear"
    label = f" “{facts.answer_label}”" if facts.answer_label else ""
    by = "you" if facts.closed_by_viewer else facts.closed_by
    who = f" by {by}" if by else ""
    where = f" on {facts.closed_on}" if facts.closed_on else ""
    return f"{outcome}{label}{who}{where}"


def _echo(facts: CardFacts) -> str:
    """What became of an answer of the viewer's own that lost, to put behind a sentence."""
    return " Your answer came later and does not count." if _lost(facts) else ""


def _final(facts: CardFacts, viewer: Person | None, now: int) -> Card:
    verdict = _verdict(facts)
    if facts.on_hold is not None and facts.home is HomeState.HERE:
        return _shut(CardState.ON_HOLD, f"{verdict}. {facts.on_hold}", _closed(facts))
    own = facts.closed_by_viewer or facts.own_made
    may = own and eligible(viewer, facts.role) and facts.speaks_here and facts.on_hold is None
    actions = ("take_back",) if may else ()
    if facts.own_taking_back and own:
        sentence = (
            f"{verdict}; you took it back. That counts unless {facts.agent} has it by the time"
            f" {facts.machine} hears of it."
        )
        return _shut(CardState.TAKING_BACK, sentence, _closed(facts))
    if facts.outcome is Outcome.ALLOWED and facts.use_by is not None and now >= facts.use_by:
        return _unused(facts, verdict)
    if facts.allow_held is not None and facts.outcome is Outcome.ALLOWED:
        return _shut(*held_allow(facts.allow_held, verdict, facts.allow_held_of), _closed(facts))
    if _lost(facts):
        sentence = f"{verdict} first; your answer came later and does not count."
        return _shut(CardState.LOST, sentence, _closed(facts))
    if facts.outcome is Outcome.ALLOWED:
        sentence = f"{verdict}; {facts.agent} has not picked it up yet."
        return _shut(CardState.NOT_PICKED_UP, sentence, _closed(facts), actions)
    state = CardState.ANSWERED_HERE if facts.closed_by_viewer else CardState.ANSWERED_ELSEWHERE
    if facts.unclear:
        state = CardState.UNCLEAR
    sentence = f"{verdict}; {facts.agent} has not been told yet."
    return _shut(state, sentence, _closed(facts), actions)


def _unused(facts: CardFacts, verdict: str) -> Card:
    """An allow that is too old to be used: sure at its home, elsewhere until it says so."""
    if facts.home is HomeState.HERE:
        sentence = f"{verdict}, but {facts.agent} did not come back for it in time."
        return _shut(CardState.VOID, sentence, facts.use_by or _closed(facts))
    sentence = (
        f"{verdict}; the time to use it has passed here, and {facts.machine} has not said"
        f" whether {facts.agent} picked it up."
    )
    return _shut(CardState.NOT_PICKED_UP, sentence, _closed(facts))


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
    if not outcome_unknown(standing, now):
        sentence = f"{verdict}. {facts.agent} has it.{_echo(facts)}"
        return _shut(CardState.HANDED, sentence, since)
    if facts.home not in REACHED:
        sentence = (
            f"{verdict}. {facts.agent} took it; {facts.machine} was not seen since, so what"
            " came of it is not known here."
        )
        return _shut(CardState.NOT_SEEN, sentence, facts.home_seen or since)
    sentence = (
        f"{verdict}. {facts.agent} took it and has been silent since: "
        "whether the call ran is unknown. Running it needs a new ask."
    )
    return _shut(CardState.OUTCOME_UNKNOWN, sentence, since)


def _void(facts: CardFacts) -> Card:
    verdict = _verdict(facts)
    since = facts.handover_at if facts.handover_at is not None else _closed(facts)
    if facts.handover_reason == Void.TAKEN_BACK.value:
        return _shut(CardState.TAKEN_BACK, f"{verdict}, then taken back before it was used.", since)
    if facts.handover_reason == Void.USE_BY.value:
        sentence = f"{verdict}, but {facts.agent} did not come back for it in time."
    elif facts.handover_reason == Void.RESTORED.value:
        sentence = f"{verdict}, but {facts.machine} was put back to an older copy: it is void."
    else:
        sentence = f"{verdict}, but it came to nothing: {facts.handover_reason}."
    return _shut(CardState.VOID, sentence, since)


def _resolved(facts: CardFacts) -> Card:
    since = facts.resolved_at if facts.resolved_at is not None else _closed(facts)
    what = "Done" if facts.resolved_ok else "Failed"
    text = f": {facts.resolved_text}" if facts.resolved_text else ""
    return _shut(CardState.DONE, f"{_verdict(facts)}. {what}{text}{_echo(facts)}", since)
