"""What the card of an ask says, and how: the page and the terminal have no words of their own."""

from typing import Literal

import msgspec


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """How a card is told: `sync.decide.card_state.Mark`, and its sentence."""

    sentence: str
    sign: str
    """One character, another one for each state."""
    word: str
    """Two to five words."""
    tone: Literal["act", "wait", "good", "bad", "warn", "quiet"]
    """Which colours; it says nothing that sign and words do not say."""
    spoken: str
    """What a screen reader says instead of sign and words; it begins with the words."""


class CardView(Told, frozen=True, kw_only=True):
    """What the card says and which buttons it may show: `sync.decide.card.Card`."""

    state: str
    """A `sync.decide.card.CardState` value."""
    actions: list[str]
    """Of `deny`, `allow`, `answer`, `decline`, `take_back`; in the order to show them."""
    open: bool
    needs_me: bool
    since: int
    by: str | None = None
    where: str | None = None
    attention: str = "called"
    """What an open ask means for the viewer: a `sync.decide.attention.Mode` value."""
    attention_until: int | None = None
    """Until when it means that, as far as that is known."""
    late: Told | None = None
    """What an open one says from its deadline on, while nothing else is heard; no buttons."""


class MadeByView(msgspec.Struct, frozen=True, kw_only=True):
    """Whose vote counted, and the machine on which it was given."""

    person: str | None
    machine: str | None
