"""The card of an ask as the page and the terminal are shown it."""

from sync.decide.card import card, card_when_late
from sync.decide.card_facts import Card, CardFacts
from sync.decide.people import Person
from web.card_views import CardView, Told


def card_view(facts: CardFacts, viewer: Person | None, now: int) -> CardView:
    """Return what `viewer` is shown of an ask at `now`."""
    shown, late = card(facts, viewer, now), card_when_late(facts, viewer, now)
    told = _told(shown)
    return CardView(
        state=shown.state.value,
        sentence=told.sentence,
        sign=told.sign,
        word=told.word,
        tone=told.tone,
        spoken=told.spoken,
        actions=list(shown.actions),
        open=shown.open,
        needs_me=shown.needs_me,
        attention=facts.attention.mode.value,
        attention_until=facts.attention.until,
        since=shown.since,
        by=facts.closed_by,
        where=facts.closed_on,
        late=_told(late) if late else None,
    )


def _told(shown: Card) -> Told:
    mark = shown.mark
    return Told(
        sentence=shown.sentence,
        sign=mark.sign,
        word=mark.word,
        tone=mark.tone.value,
        spoken=mark.spoken,
    )
