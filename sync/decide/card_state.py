"""The states a card can show, and those its home can be in."""

from enum import Enum

import msgspec


class HomeState(Enum):
    """How the home of an ask stands, as this machine knows it."""

    HERE = "here"
    """This very machine."""
    CONNECTED = "connected"
    """A link to it lives."""
    AWAY = "away"
    """No link; it was seen before."""
    NEVER_SEEN = "never_seen"
    """No link, and there never was one."""
    REMOVED = "removed"
    """No member of the fleet any more."""
    MUST_REJOIN = "must_rejoin"
    """Its log forked: nothing it says from there on counts."""


REACHED = frozenset({HomeState.HERE, HomeState.CONNECTED})
"""States in which an answer is on its way; in the others it is kept."""
GONE = frozenset({HomeState.REMOVED, HomeState.MUST_REJOIN})
"""States in which no answer can arrive any more."""


class Tone(Enum):
    """What a mark means to who can see colours; nobody has to."""

    ACT = "act"
    WAIT = "wait"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    QUIET = "quiet"


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """How a state is told at a glance."""

    sign: str
    """One character, another one for each state: it says as much as the colour."""
    word: str
    """Two to five words."""
    tone: Tone
    spoken: str
    """What a screen reader says; it begins with the words and does without what is near by."""


class CardState(Enum):
    """Every state a card can show."""

    POSTED = "posted"
    """A note or a result: nobody answers it."""
    WAITING = "waiting"
    """Open, and the viewer may answer it."""
    AWAY = "away"
    """Open, and the viewer may answer it; the answer is kept until the home is back."""
    SENDING = "sending"
    """The viewer's vote is recorded; the home has not ruled."""
    KEPT = "kept"
    """The viewer's vote is kept until the home is back."""
    TAKING_BACK = "taking_back"
    """The viewer took an answer back; the home has not ruled."""
    COUNTED = "counted"
    """The viewer's vote counts; more are needed."""
    RESTRICTED = "restricted"
    """Open, but the viewer may not answer it, or not on this machine."""
    DEADLINE_PASSED = "deadline_passed"
    """Past its deadline here; the home has not confirmed it."""
    MACHINE_REMOVED = "machine_removed"
    """The home was removed before this was settled: nothing more will come of it."""
    MUST_REJOIN = "must_rejoin"
    """The home's log forked before this was settled: it has to join again."""
    ON_HOLD = "on_hold"
    """This machine may have been put back from a copy: nothing is decided here for now."""
    ACCOUNT_ON_HOLD = "account_on_hold"
    """The account is on hold: no answer counts, and no allow is handed over, until that ends."""
    SUSPENDED = "suspended"
    """The account is suspended: no answer counts, and no allow is handed over."""
    DISPUTED = "disputed"
    """Decided after the home's history had split in two: another copy may say otherwise."""
    ANSWERED_HERE = "answered_here"
    """Closed by the viewer; not picked up yet."""
    ANSWERED_ELSEWHERE = "answered_elsewhere"
    """Closed by another person; not picked up yet."""
    UNCLEAR = "unclear"
    """Sent back to the agent as not understood; not picked up yet."""
    LOST = "lost"
    """The viewer's answer lost to an earlier one."""
    NOT_PICKED_UP = "not_picked_up"
    """Allowed; no session has fetched it yet."""
    EXPIRED = "expired"
    """The deadline passed; nobody answered in time."""
    WITHDRAWN = "withdrawn"
    """The agent closed it, the recovery words were used, or its text was erased."""
    HANDED = "handed"
    """The agent has it since …"""
    NOT_SEEN = "not_seen"
    """Handed over, and the home was not seen since: what came of it is not known here."""
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
        CardState.AWAY,
        CardState.SENDING,
        CardState.KEPT,
        CardState.COUNTED,
        CardState.RESTRICTED,
        CardState.DEADLINE_PASSED,
    }
)
"""States of asks without a final."""
EITHER_STATES = frozenset(
    {
        CardState.TAKING_BACK,
        CardState.MACHINE_REMOVED,
        CardState.MUST_REJOIN,
        CardState.ON_HOLD,
        CardState.ACCOUNT_ON_HOLD,
        CardState.SUSPENDED,
    }
)
"""States of asks with or without one; `Card.open` says which."""
