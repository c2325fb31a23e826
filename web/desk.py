"""What the page needs of the node. `node.process` passes an object that fits `Desk`.

Errors are those of `sync.errors`; the page shows their sentence, hint, code and status.
"""

from collections.abc import AsyncIterator
from typing import Literal, Protocol

import msgspec

from sync.errors import Conflict
from web.account_views import StandingView, WordTaken
from web.attention_desk import AttentionDesk
from web.audit_desk import AuditDesk
from web.people_desk import PeopleDesk
from web.rules_desk import RulesDesk
from web.talk_desk import TalkDesk
from web.together_desk import TogetherDesk
from web.views import (
    AskDetail,
    AskView,
    Change,
    Consequences,
    FinalView,
    FleetView,
    JoinedView,
    LeftView,
    Offer,
    PairingView,
    PrivacyLine,
    SessionRow,
    State,
    VoteReceipt,
)


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """The person behind a request, as proved by its session."""

    session_id: str
    person: str
    name: str
    role: str
    kind: Literal["page", "terminal"]


class Ballot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's answer as it arrives; `seen` names what was shown to them."""

    decision: Literal["allow", "deny", "answer", "decline"]
    seen: str
    choice: str | None = None
    text: str | None = None
    because: str | None = None
    unclear: bool = False
    """With `deny` or `decline`: it goes back to the agent as not understood."""
    wait_s: float = 0.0
    """How long to wait for the home's ruling before replying; at most 30."""


class Erasing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """That the text of an ask is to be erased everywhere, for good."""

    confirm: str
    """The ask's id, typed by the person."""
    reason: str | None = None
    """Why; this is kept, and everyone of the fleet reads it."""


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session just made. `secret` goes into the cookie and is stored only as a hash."""

    secret: str
    viewer: Viewer
    recovery_words: list[str] | None = None
    """Shown once, to the first person of a fleet, and never again."""
    passphrase_set: bool = False


class SignIn(msgspec.Struct, frozen=True, kw_only=True):
    """A wish to sign in, waiting for six digits to be typed where someone is signed in."""

    id: str
    digits: str | None
    """Only in the reply to the new place."""
    expires: int
    where: str
    machine: str
    """Where the new place is: this machine's name, or another's."""
    state: Literal["waiting", "approved", "refused", "expired"] = "waiting"


class AskClosed(Conflict):
    """It was answered before your answer came; yours does not count."""

    code = "closed"

    def __init__(self, sentence: str, *, final: FinalView, ask: AskView) -> None:
        super().__init__(sentence)
        self.final = final
        self.ask = ask


class Desk(Protocol):
    """The node, as far as persons are concerned."""

    @property
    def store_id(self) -> str:
        """A random id of this store; part of the cookie's name."""
        ...

    @property
    def machine(self) -> str:
        """This machine's name."""
        ...

    @property
    def version(self) -> str:
        """The program's version."""
        ...

    def now(self) -> int:
        """The judging clock, Unix milliseconds."""
        ...

    def trouble(self) -> str | None:
        """Why nothing can be recorded now, as a sentence."""
        ...

    # --- signing in -----------------------------------------------------------
    async def viewer(self, secret: str) -> Viewer | None:
        """Return whose session this secret belongs to, or None; marks it as used."""
        ...

    async def has_person(self) -> bool:
        """Whether anyone has ever signed in on this fleet."""
        ...

    async def abandoned(self) -> bool:
        """Whether nobody can sign in here any more, and the old identity is used up."""
        ...

    async def sign_in_first(
        self, token: str, *, name: str, passphrase: str | None, where: str
    ) -> NewSession:
        """Make the first person from the one first-run token.

        Raises `NotAllowed` when the token is wrong, used, or a person exists already.
        """
        ...

    async def sign_in_passphrase(
        self,
        passphrase: str,
        *,
        kind: Literal["page", "terminal"],
        where: str,
        person: str | None = None,
    ) -> NewSession:
        """Raises `NotAllowed` when wrong, `TooMany` after five wrong tries in a minute.

        Raises `Invalid` when it is that of several people and `person` (id or name) is None.
        """
        ...

    async def signers(self) -> list[str]:
        """Names of those who sign in here by passphrase; empty unless they are several."""
        ...

    async def sign_in_recovery(self, words: str, *, where: str) -> NewSession:
        """Use the recovery words: ends all sessions and withdraws open approvals."""
        ...

    async def set_passphrase(self, viewer: Viewer, passphrase: str, *, old: str | None) -> None:
        """Set the viewer's passphrase; where one is in force, only with that one.

        Raises `NotAllowed` when `old` is wrong or missing, `TooMany` after too many tries.
        """
        ...

    async def sign_in_request(self, *, where: str) -> SignIn:
        """Begin a sign-in to be approved from a signed-in place; the digits are in it."""
        ...

    async def sign_in_collect(self, sign_in_id: str, digits: str) -> NewSession | None:
        """For the new place: the session once approved, None while waiting."""
        ...

    async def sign_ins(self, viewer: Viewer) -> list[SignIn]:
        """The waiting sign-ins, without digits."""
        ...

    async def approve_sign_in(
        self, viewer: Viewer, sign_in_id: str, digits: str, *, person: str | None = None
    ) -> SignIn:
        """Approve by the digits shown on the new place; 3 tries, then refused.

        `person`: someone else, who was given that machine and has never signed in. Owners only.
        """
        ...

    async def sessions(self, viewer: Viewer) -> list[SessionRow]:
        """All signed-in places of the viewer."""
        ...

    async def end_session(self, viewer: Viewer, session_id: str | None) -> int:
        """End one session, or (None) every one but the viewer's own; how many ended."""
        ...

    # --- reading --------------------------------------------------------------
    async def state(self, viewer: Viewer) -> State:
        """The snapshot of the page."""
        ...

    async def ask(self, viewer: Viewer, ask_id: str) -> AskDetail:
        """One ask by full or short id. Raises `NotFound`."""
        ...

    def changes(self, viewer: Viewer, since: int) -> AsyncIterator[Change | None]:
        """Numbered changes above `since`, without end.

        Yields None first and ends when `since` lies outside what is kept: re-read.
        Ends when the viewer's session ends.
        """
        ...

    # --- answering and granting (persons only; see docs/threats.md) --------------
    async def vote(self, viewer: Viewer, ask_id: str, ballot: Ballot) -> VoteReceipt:
        """Record a vote. Raises `AskClosed` (409, with the final) when one is known."""
        ...

    async def take_back(self, viewer: Viewer, ask_id: str) -> VoteReceipt:
        """Take the viewer's own vote back; `Conflict` once it was handed over."""
        ...

    async def mark_read(self, viewer: Viewer, ask_id: str, *, read: bool) -> AskView:
        """Mark a note or a result as read, or unread again."""
        ...

    async def put_away_restored(self, viewer: Viewer) -> None:
        """A person has read that this machine was restored. Nothing to put away is no error."""
        ...

    async def redact(self, viewer: Viewer, ask_id: str, wanted: Erasing) -> AskView:
        """Have every word on an ask erased on all machines, for good. Owners only."""
        ...


class MachinesDesk(Protocol):
    """The node, as far as persons act on machines. Persons only, like `Desk`."""

    async def fleet(self, viewer: Viewer) -> FleetView:
        """Every machine, as this node sees it."""
        ...

    async def pairing_begin(self, viewer: Viewer) -> PairingView:
        """Mint a code and listen for the other machine; one code at a time.

        Raises `NotAllowed` unless the viewer may pair machines.
        """
        ...

    async def pairing(self, viewer: Viewer) -> PairingView | None:
        """How the last code stands (without the code); None: there was none."""
        ...

    async def pairing_stop(self, viewer: Viewer) -> None:
        """Withdraw the code."""
        ...

    async def pairing_offers(self, viewer: Viewer | None) -> list[Offer]:
        """Machines near by that show a code (mDNS; looks for about two seconds).

        `viewer` None: only while nobody ever signed in here, as with `join`.
        """
        ...

    async def join_consequences(self, viewer: Viewer | None) -> Consequences:
        """What joining another fleet would do to this machine."""
        ...

    async def join(self, viewer: Viewer | None, *, code: str, address: str | None) -> JoinedView:
        """Join the fleet of the machine that shows `code`.

        Raises `NotAllowed` for who may not, `Conflict` for a fleet with other members,
        `Invalid` for a mistyped code, `PairingFailed` for all that goes wrong on the way.
        Every person session of this node ends.
        """
        ...

    async def assign(self, viewer: Viewer, node: str, person: str) -> FleetView:
        """Say whose machine it is: by a person's id, or by name. Owners only."""
        ...

    async def rename_machine(self, viewer: Viewer, node: str, name: str) -> FleetView:
        """Say what a machine is called from now on: this one only, by whoever's it is.

        Raises `Conflict` for another machine, and for a name that looks like another's.
        """
        ...

    async def remove_machine(self, viewer: Viewer, node: str) -> FleetView:
        """Remove a machine, named by full id, short id or name. Owners and admins."""
        ...

    async def add_address(self, viewer: Viewer, node: str, address: str) -> FleetView:
        """Give an address (`host:port`) of a machine."""
        ...

    async def drop_address(self, viewer: Viewer, node: str, address: str) -> FleetView:
        """Take a given address back."""
        ...

    async def leave_consequences(self, viewer: Viewer) -> Consequences:
        """What leaving would do."""
        ...

    async def leave(self, viewer: Viewer) -> LeftView:
        """Leave: this machine becomes a fleet of its own again, the viewer its owner.

        The new recovery words are in the reply and nowhere else.
        """
        ...

    async def rejoin_consequences(self, viewer: Viewer | None) -> Consequences:
        """What a new identity would do to this machine; `viewer` None: as with `rejoin`."""
        ...

    async def rejoin(self, viewer: Viewer | None) -> LeftView:
        """Take on a new identity, in a fleet of one whose owner the viewer is.

        `viewer` None: only while `abandoned`; then the reply has no recovery words, and the
        first sign-in or a pairing says whose machine it is.
        """
        ...

    async def hold_consequences(self, viewer: Viewer) -> Consequences:
        """What saying go would do on a machine that is on hold."""
        ...

    async def go_on(self, viewer: Viewer) -> FleetView:
        """Say go. Raises `Conflict` when it is not on hold, `NotAllowed` for who may not."""
        ...

    async def privacy(self, viewer: Viewer | None) -> list[PrivacyLine]:
        """What leaves this machine, and to whom. Anyone on this machine may know."""
        ...


class AccountsDesk(Protocol):
    """The node, as far as it is about how accounts stand."""

    async def standing(self, viewer: Viewer) -> StandingView:
        """How accounts stand, as far as the viewer may know."""
        ...

    async def set_standing(
        self, viewer: Viewer, person: str, standing: str, *, remedy: str | None, reason: str
    ) -> StandingView:
        """Say how the account of another person stands: by id or name. Owners only."""
        ...

    async def standing_word(self, operator: bytes, word: bytes, signature: bytes) -> WordTaken:
        """Take an operator's word, from whoever brings it: its signature alone counts.

        Raises `NotAllowed` where no registered operator signed just this, `Conflict` for a
        serial that is not above the last one, `TooMany`.
        """
        ...

    async def add_operator(self, viewer: Viewer, name: str, key: bytes) -> StandingView:
        """Let the holder of a key say how accounts stand. Owners who are not held themselves."""
        ...

    async def remove_operator(self, viewer: Viewer, key: bytes) -> StandingView:
        """Let it say nothing any more. Owners who are not held themselves."""
        ...


class NodeDesk(
    Desk,
    MachinesDesk,
    PeopleDesk,
    AccountsDesk,
    AttentionDesk,
    TogetherDesk,
    AuditDesk,
    RulesDesk,
    TalkDesk,
    Protocol,
):
    """The node, as far as the page goes: what `web.app` serves."""
