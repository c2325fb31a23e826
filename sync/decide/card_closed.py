"""The card of an ask that has closed: who decided what, and what became of that."""

from sync.decide.ask import AskState, Outcome
from sync.decide.card_account import held_allow
from sync.decide.card_facts import Card, CardFacts
from sync.decide.card_state import REACHED, CardState, HomeState
from sync.decide.handover import Standing, Void, outcome_unknown
from sync.decide.people import Person, eligible


def closed_card(facts: CardFacts, viewer: Person | None, now: int) -> Card:
    """Return the card of an ask that a final closed."""
    if facts.outcome in (Outcome.EXPIRED, Outcome.WITHDRAWN):
        return _undecided(facts)
    if facts.state is AskState.VOID:
        return _void(facts)
    if facts.state is AskState.RESOLVED:
        return _resolved(facts)
    if facts.state is AskState.HANDED:
        return _handed(facts, now)
    return _final(facts, viewer, now)


def _undecided(facts: CardFacts) -> Card:
    """What closed without anybody's verdict."""
    if facts.outcome is Outcome.EXPIRED:
        return shut(CardState.EXPIRED, _expired(facts), facts.closed_or_created)
    if facts.restored:
        sentence = f"Withdrawn: {facts.machine} was put back to an older copy since it was asked."
        return shut(CardState.WITHDRAWN, sentence + _echo(facts), facts.closed_or_created)
    why = f": {facts.reason}" if facts.reason else "."
    erased = facts.erased is not None and (facts.reason or "").startswith(Void.ERASED.value)
    who = "" if erased else f" by {facts.agent}"
    sentence = f"Withdrawn{who}{why}"
    if facts.lost:
        sentence = f"{sentence.rstrip('.')}.{_echo(facts)}"
    return shut(CardState.WITHDRAWN, sentence, facts.closed_or_created)


def _expired(facts: CardFacts) -> str:
    if facts.lost:
        return "The deadline passed; your answer came after it."
    # Where several have to allow, some of them may have: the ask expired all the same.
    if facts.needed > 1:
        return f"The deadline passed before {facts.needed} people had allowed it."
    return "The deadline passed; nobody answered in time."


def shut(state: CardState, sentence: str, since: int, actions: tuple[str, ...] = ()) -> Card:
    """Return the card of what is over, whoever looks."""
    return Card(
        state=state,
        sentence=sentence,
        actions=actions,
        open=False,
        needs_me=False,
        since=since,
    )


def disputed_card(facts: CardFacts) -> Card:
    """Return the card of what was decided in one of two histories: the other may say otherwise."""
    sentence = (
        f"{verdict_of(facts)}, but this is disputed: the history of {facts.machine} had split in"
        " two by then, and another copy of it may say otherwise."
    )
    return shut(CardState.DISPUTED, sentence, facts.closed_or_created)


def verdict_of(facts: CardFacts) -> str:
    """Say what was decided, by whom and where, as the beginning of a sentence."""
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
    return " Your answer came later and does not count." if facts.lost else ""


def _final(facts: CardFacts, viewer: Person | None, now: int) -> Card:
    verdict = verdict_of(facts)
    if facts.on_hold is not None and facts.home is HomeState.HERE:
        return shut(CardState.ON_HOLD, f"{verdict}. {facts.on_hold}", facts.closed_or_created)
    own = facts.closed_by_viewer or facts.own_made
    actions = ("take_back",) if own and _may_act(facts, viewer) else ()
    if facts.own_taking_back and own:
        sentence = (
            f"{verdict}; you took it back. That counts unless {facts.agent} has it by the time"
            f" {facts.machine} hears of it."
        )
        return shut(CardState.TAKING_BACK, sentence, facts.closed_or_created)
    if facts.outcome is Outcome.ALLOWED and facts.use_by is not None and now >= facts.use_by:
        return _unused(facts, verdict)
    if facts.allow_held is not None and facts.outcome is Outcome.ALLOWED:
        return shut(
            *held_allow(facts.allow_held, verdict, facts.allow_held_of), facts.closed_or_created
        )
    if facts.lost:
        sentence = f"{verdict} first; your answer came later and does not count."
        return shut(CardState.LOST, sentence, facts.closed_or_created)
    if facts.outcome is Outcome.ALLOWED:
        sentence = f"{verdict}; {facts.agent} has not picked it up yet."
        return shut(CardState.NOT_PICKED_UP, sentence, facts.closed_or_created, actions)
    state = CardState.ANSWERED_HERE if facts.closed_by_viewer else CardState.ANSWERED_ELSEWHERE
    if facts.unclear:
        state = CardState.UNCLEAR
    sentence = f"{verdict}; {facts.agent} has not been told yet."
    return shut(state, sentence, facts.closed_or_created, actions)


def _may_act(facts: CardFacts, viewer: Person | None) -> bool:
    """Whether the viewer can do anything here: an account that is held has no button at all."""
    held = facts.on_hold is not None or facts.account is not None
    return eligible(viewer, facts.role) and facts.speaks_here and not held


def _unused(facts: CardFacts, verdict: str) -> Card:
    """An allow that is too old to be used: sure at its home, elsewhere until it says so."""
    if facts.home is HomeState.HERE:
        sentence = f"{verdict}, but {facts.agent} did not come back for it in time."
        return shut(CardState.VOID, sentence, facts.use_by or facts.closed_or_created)
    sentence = (
        f"{verdict}; the time to use it has passed here, and {facts.machine} has not said"
        f" whether {facts.agent} picked it up."
    )
    return shut(CardState.NOT_PICKED_UP, sentence, facts.closed_or_created)


def _handed(facts: CardFacts, now: int) -> Card:
    verdict = verdict_of(facts)
    since = facts.handover_at if facts.handover_at is not None else facts.closed_or_created
    standing = Standing(
        kind=facts.kind,
        state=facts.state,
        outcome=facts.outcome,
        use_by=facts.use_by,
        held=facts.held,
    )
    if not outcome_unknown(standing, now):
        sentence = f"{verdict}. {facts.agent} has it.{_echo(facts)}"
        return shut(CardState.HANDED, sentence, since)
    if facts.home not in REACHED:
        sentence = (
            f"{verdict}. {facts.agent} took it; {facts.machine} was not seen since, so what"
            " came of it is not known here."
        )
        return shut(CardState.NOT_SEEN, sentence, facts.home_seen or since)
    sentence = (
        f"{verdict}. {facts.agent} took it and has been silent since: "
        "whether the call ran is unknown. Running it needs a new ask."
    )
    return shut(CardState.OUTCOME_UNKNOWN, sentence, since)


def _void(facts: CardFacts) -> Card:
    verdict = verdict_of(facts)
    since = facts.handover_at if facts.handover_at is not None else facts.closed_or_created
    if facts.handover_reason == Void.TAKEN_BACK.value:
        return shut(CardState.TAKEN_BACK, f"{verdict}, then taken back before it was used.", since)
    if facts.handover_reason == Void.USE_BY.value:
        sentence = f"{verdict}, but {facts.agent} did not come back for it in time."
    elif facts.handover_reason == Void.RESTORED.value:
        sentence = f"{verdict}, but {facts.machine} was put back to an older copy: it is void."
    else:
        sentence = f"{verdict}, but it came to nothing: {facts.handover_reason}."
    return shut(CardState.VOID, sentence, since)


def _resolved(facts: CardFacts) -> Card:
    since = facts.resolved_at if facts.resolved_at is not None else facts.closed_or_created
    what = "Done" if facts.resolved_ok else "Failed"
    text = f": {facts.resolved_text}" if facts.resolved_text else ""
    return shut(CardState.DONE, f"{verdict_of(facts)}. {what}{text}{_echo(facts)}", since)
