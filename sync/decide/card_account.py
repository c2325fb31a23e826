"""What a card says while an account is on hold or suspended; it has no button then."""

from sync.decide.card_state import CardState
from sync.decide.standing import Level, not_handed, on_card

STATES: dict[Level, CardState] = {
    Level.ON_HOLD: CardState.ACCOUNT_ON_HOLD,
    Level.SUSPENDED: CardState.SUSPENDED,
}


def held_open(account: Level, *, whole: bool, pending: bool) -> tuple[CardState, str]:
    """Return state and sentence of an open ask that the viewer cannot answer.

    `whole`: it is the account of all. `pending`: an answer of the viewer is on its way.
    """
    sentence = on_card(account, whole=whole)
    if pending:
        sentence += " Your answer does not count if it is still so when it arrives."
    return STATES[account], sentence


def held_allow(account: Level, verdict: str, who: str | None) -> tuple[CardState, str]:
    """Return state and sentence of an allow that is not handed over; `who`: whose account."""
    return STATES[account], f"{verdict}; {not_handed(account, whole=who is None, who=who)}"
