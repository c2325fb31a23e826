"""The card of an ask that has closed: who decided what, and what became of that."""

from sync.decide.ask import AskState, Outcome
from sync.decide.card_account import held_allow
from sync.decide.card_facts import Card, CardFacts
from sync.decide.card_state import REACHED, CardState, HomeState
from sync.decide.handover import Standing, Void, outcome_unknown
from sync.decide.people import Person, eligible
from sync.decide.verdict import came_to_nothing, nobody_in_time, verdict, withdrawn


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
    sentence = withdrawn(_withdrew(facts), facts.reason)
    sentence += "" if facts.reason else "."
    if facts.lost:
        sentence = f"{sentence.rstrip('.')}.{_echo(facts)}"
    return shut(CardState.WITHDRAWN, sentence, facts.closed_or_created)


def _withdrew(facts: CardFacts) -> str | None:
    """Return the agent, unless its machine closed the ask on its own."""
    return None if facts.withdrawn_by_home or facts.restored else facts.agent


def _expired(facts: CardFacts) -> str:
    if facts.lost:
        return "The deadline passed; your answer came after it."
    return f"{nobody_in_time(facts.needed)}."


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
    return verdict(facts.outcome, facts.made_by, unclear=facts.unclear, label=facts.answer_label)


def ended(facts: CardFacts) -> str:
    """Say how it ended and what kept it from counting, without a full stop: for refusals."""
    if facts.outcome is Outcome.EXPIRED:
        return nobody_in_time(facts.needed)
    if facts.outcome is Outcome.WITHDRAWN:
        return withdrawn(_withdrew(facts), facts.reason).rstrip(".")
    return _void_words(facts) if facts.state is AskState.VOID else verdict_of(facts)


def _void_words(facts: CardFacts) -> str:
    return came_to_nothing(
        verdict_of(facts), facts.handover_reason, agent=facts.agent, machine=facts.machine
    )


def _echo(facts: CardFacts) -> str:
    """What became of an answer of the viewer's own that lost, to put behind a sentence."""
    return " Your answer came later and does not count." if facts.lost else ""


def _final(facts: CardFacts, viewer: Person | None, now: int) -> Card:
    decided = verdict_of(facts)
    if facts.on_hold is not None and facts.home is HomeState.HERE:
        return shut(CardState.ON_HOLD, f"{decided}. {facts.on_hold}", facts.closed_or_created)
    own = facts.closed_by_viewer or facts.own_made
    actions = ("take_back",) if own and _may_act(facts, viewer) else ()
    if facts.own_taking_back and own:
        sentence = (
            f"{decided}; you took it back. That counts unless {facts.agent} has it by the time"
            f" {facts.machine} hears of it."
        )
        return shut(CardState.TAKING_BACK, sentence, facts.closed_or_created)
    if facts.outcome is Outcome.ALLOWED and facts.use_by is not None and now >= facts.use_by:
        return _unused(facts, decided)
    if facts.allow_held is not None and facts.outcome is Outcome.ALLOWED:
        return shut(
            *held_allow(facts.allow_held, decided, facts.allow_held_of), facts.closed_or_created
        )
    if facts.lost:
        sentence = f"{decided} first; your answer came later and does not count."
        return shut(CardState.LOST, sentence, facts.closed_or_created)
    if facts.outcome is Outcome.ALLOWED:
        sentence = f"{decided}; {facts.agent} has not picked it up yet."
        return shut(CardState.NOT_PICKED_UP, sentence, facts.closed_or_created, actions)
    state = CardState.ANSWERED_HERE if facts.closed_by_viewer else CardState.ANSWERED_ELSEWHERE
    if facts.unclear:
        state = CardState.UNCLEAR
    sentence = f"{decided}; {facts.agent} has not been told yet."
    return shut(state, sentence, facts.closed_or_created, actions)


def _may_act(facts: CardFacts, viewer: Person | None) -> bool:
    """Whether the viewer can do anything here: an account that is held has no button at all."""
    held = facts.on_hold is not None or facts.account is not None
    return eligible(viewer, facts.role) and facts.speaks_here and not held


def _unused(facts: CardFacts, decided: str) -> Card:
    """An allow that is too old to be used: sure at its home, elsewhere until it says so."""
    if facts.home is HomeState.HERE:
        sentence = f"{decided}, but {facts.agent} did not come back for it in time."
        return shut(CardState.VOID, sentence, facts.use_by or facts.closed_or_created)
    sentence = (
        f"{decided}; the time to use it has passed here, and {facts.machine} has not said"
        f" whether {facts.agent} picked it up."
    )
    return shut(CardState.NOT_PICKED_UP, sentence, facts.closed_or_created)


def _handed(facts: CardFacts, now: int) -> Card:
    decided = verdict_of(facts)
    since = facts.handover_at if facts.handover_at is not None else facts.closed_or_created
    standing = Standing(
        kind=facts.kind,
        state=facts.state,
        outcome=facts.outcome,
        use_by=facts.use_by,
        held=facts.held,
    )
    if not outcome_unknown(standing, now):
        sentence = f"{decided}. {facts.agent} has it.{_echo(facts)}"
        return shut(CardState.HANDED, sentence, since)
    if facts.home not in REACHED:
        sentence = (
            f"{decided}. {facts.agent} took it; {facts.machine} was not seen since, so what"
            " came of it is not known here."
        )
        return shut(CardState.NOT_SEEN, sentence, facts.home_seen or since)
    sentence = (
        f"{decided}. {facts.agent} took it and has been silent since: "
        "whether the call ran is unknown. Running it needs a new ask."
    )
    return shut(CardState.OUTCOME_UNKNOWN, sentence, since)


def _void(facts: CardFacts) -> Card:
    since = facts.handover_at if facts.handover_at is not None else facts.closed_or_created
    taken_back = facts.handover_reason == Void.TAKEN_BACK.value
    state = CardState.TAKEN_BACK if taken_back else CardState.VOID
    return shut(state, f"{_void_words(facts)}.{_echo(facts)}", since)


def _resolved(facts: CardFacts) -> Card:
    since = facts.resolved_at if facts.resolved_at is not None else facts.closed_or_created
    what = "Done" if facts.resolved_ok else "Failed"
    text = f": {facts.resolved_text}" if facts.resolved_text else ""
    return shut(CardState.DONE, f"{verdict_of(facts)}. {what}{text}{_echo(facts)}", since)
