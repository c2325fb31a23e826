"""What the screen may say about an ask: one pure function, so no two screens disagree.

No button is offered that is certain to be refused. A viewer's own verdict beats its echo.
"""

from msgspec.structs import replace

from sync.decide.ask import DECIDED, AskState, Kind
from sync.decide.card_closed import closed_card, disputed_card, shut, verdict_of
from sync.decide.card_facts import Card, CardFacts
from sync.decide.card_marks import mark_of
from sync.decide.card_open import open_card
from sync.decide.card_state import GONE, CardState, HomeState
from sync.decide.people import Person
from sync.decide.recheck import WITHOUT_VOTES


def card(facts: CardFacts, viewer: Person | None, now: int) -> Card:
    """Return the card `viewer` sees at `now`."""
    shown = _shown(facts, viewer, now)
    return replace(shown, mark=mark_of(shown, facts, viewer))


def card_when_late(facts: CardFacts, viewer: Person | None, now: int) -> Card | None:
    """Return the card from its deadline on, as long as nothing is heard; None: none lies ahead.

    For a screen whose clock passes the deadline before any word of that arrives.
    """
    if facts.deadline is None or now >= facts.deadline:
        return None
    return card(facts, viewer, facts.deadline) if card(facts, viewer, now).open else None


def _shown(facts: CardFacts, viewer: Person | None, now: int) -> Card:
    if facts.kind not in DECIDED:
        word = "A finished result" if facts.kind is Kind.DONE else "A note"
        return shut(CardState.POSTED, f"{word} from {facts.agent}.", facts.created)
    if facts.state is AskState.WAITING:
        return _gone(facts, f"{facts.agent} waited here.") or open_card(facts, viewer, now)
    if facts.disputed:
        return disputed_card(facts)
    return _lost_on_the_way(facts) or closed_card(facts, viewer, now)


def _lost_on_the_way(facts: CardFacts) -> Card | None:
    """Return the card of a verdict of which nothing more will be heard."""
    if facts.outcome in WITHOUT_VOTES:
        return None
    if facts.state is AskState.HANDED:
        return _gone(facts, f"{verdict_of(facts)}; {facts.agent} has it.")
    return _gone(facts, f"{verdict_of(facts)}.") if facts.state is AskState.CLOSED else None


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
    return shut(state, f"{before} {why}", since)
