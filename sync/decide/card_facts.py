"""What a card depends on, and what is shown of it."""

import msgspec

from sync.decide.ask import AskState, Kind, Outcome
from sync.decide.attention import CALLED, Attention
from sync.decide.card_state import CardState, HomeState, Mark, Tone
from sync.decide.handover import Held, Status
from sync.decide.standing import Level
from sync.decide.verdict import Maker
from sync.decide.vote import Ruling


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
    also_by: tuple[Maker, ...] = ()
    """Where several had to allow it: whose votes are in the final before that one."""
    answer_label: str | None = None
    reason: str | None = None
    withdrawn_by_home: bool = False
    """Its machine closed it on its own: the final states the reason among its facts."""
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
    read: bool = False
    """The viewer put a note or a result away."""

    @property
    def closed_or_created(self) -> int:
        """When it closed; of an open one when it was raised."""
        return self.created if self.closed_at is None else self.closed_at

    @property
    def made_by(self) -> tuple[Maker, ...]:
        """Everyone whose vote counted, the deciding one last."""
        last = Maker(name=self.closed_by, machine=self.closed_on, viewer=self.closed_by_viewer)
        return (*self.also_by, last)

    @property
    def lost(self) -> bool:
        """Whether an answer of the viewer came to nothing because another final stands."""
        own = self.closed_by_viewer or self.own_made
        return (self.own_lost or self.own_pending) and not own


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown: a state, one sentence, the buttons, and since when it is so."""

    state: CardState
    sentence: str
    actions: tuple[str, ...]
    open: bool
    needs_me: bool
    since: int
    mark: Mark = Mark(sign="", word="", tone=Tone.QUIET, spoken="")
