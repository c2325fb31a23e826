"""What the routes take and give beyond the views: one record for each body.

An unknown field, a missing one or another type is refused, never guessed at.
"""

from typing import Annotated, Any, Literal

import msgspec

from web.limits import (
    ADDRESS_CHARACTERS,
    CODE_CHARACTERS,
    ID_CHARACTERS,
    SECRET_CHARACTERS,
    TYPED_CHARACTERS,
    WHERE_CHARACTERS,
)
from web.views import (
    AskView,
    FinalView,
    Me,
    Offer,
    PairingView,
    PrivacyLine,
    SessionRow,
)

Name = Annotated[str, msgspec.Meta(max_length=TYPED_CHARACTERS)]
Secret = Annotated[str, msgspec.Meta(max_length=SECRET_CHARACTERS)]
Where = Annotated[str, msgspec.Meta(max_length=WHERE_CHARACTERS)]
Code = Annotated[str, msgspec.Meta(max_length=CODE_CHARACTERS)]
Address = Annotated[str, msgspec.Meta(max_length=ADDRESS_CHARACTERS)]
Person = Annotated[str, msgspec.Meta(max_length=ID_CHARACTERS)]
SixDigits = Annotated[str, msgspec.Meta(pattern="^[0-9]{6}$", max_length=6)]


class Taken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what comes in."""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what goes out."""


class Nothing(Taken, frozen=True, kw_only=True):
    """A change that needs no more words than its address: `{}`."""


class SignInProof(Taken, frozen=True, kw_only=True):
    """One of: the first-run token with a name, a passphrase, an invitation, recovery words."""

    token: Secret | None = None
    name: Name | None = None
    """With a token or an invitation: how the new person is called."""
    passphrase: Secret | None = None
    """Alone: the one in force. With a token: the one to set, or null to have none. With an
    invitation: the one to set."""
    invitation: Code | None = None
    """The code that whoever invites was shown."""
    person: Person | None = None
    """With a passphrase in force, where several people sign in here: the id or name of one."""
    recovery: Secret | None = None
    kind: Literal["page", "terminal"] = "page"
    """`terminal`: for one command; only with a passphrase."""
    where: Where | None = None
    """What this place calls itself; without it the browser's name is taken."""


class Digits(Taken, frozen=True, kw_only=True):
    """The six digits of a sign-in."""

    digits: SixDigits
    person: Person | None = None
    """Where it is approved: whom to sign in, on a machine that was given to someone who has
    never signed in; null: who approves."""


class NewPassphrase(Taken, frozen=True, kw_only=True):
    """The passphrase to set, and the one in force where there is one."""

    passphrase: Secret
    old: Secret | None = None


class Mark(Taken, frozen=True, kw_only=True):
    """Whether a note or a result counts as read."""

    read: bool


class Joining(Taken, frozen=True, kw_only=True):
    """Whose fleet to join: the one of the machine that shows this code."""

    code: Code
    address: Address | None = None
    """`host:port` as shown below the code; null: look for it near by."""


class MachinePerson(Taken, frozen=True, kw_only=True):
    """Whose machine it is: a person's id or name."""

    person: Person


class MachineName(Taken, frozen=True, kw_only=True):
    """What a machine is called from now on."""

    name: Name


class Inviting(Taken, frozen=True, kw_only=True):
    """Whom to invite: to this machine, or to a new one that is to be paired."""

    name: Name
    role: Literal["owner", "admin", "member", "viewer"]
    where: Literal["here", "machine"] = "here"


class NewRole(Taken, frozen=True, kw_only=True):
    """What a person is from now on."""

    role: Literal["owner", "admin", "member", "viewer"]


class Agreeing(Taken, frozen=True, kw_only=True):
    """Whether the machine is yours."""

    accept: bool


class MachineAddress(Taken, frozen=True, kw_only=True):
    """Where a machine can be reached: `host:port`."""

    address: Address


class Health(Given, frozen=True, kw_only=True):
    """The node serves."""

    ok: Literal[True] = True
    version: str


class Hello(Given, frozen=True, kw_only=True):
    """What a page needs before anyone has signed in."""

    store_id: str
    has_person: bool
    machine: str
    version: str
    signed_in: bool
    """Whether this request came with a session."""
    person: str | None = None
    """A name to propose to the first person; none once there is one."""
    persons: list[str] = []
    """Names of those who sign in here by passphrase, where they are several."""


class SignedIn(Given, frozen=True, kw_only=True):
    """A session was made; its secret is in the cookie, a page's for one half."""

    state: Literal["approved"] = "approved"
    me: Me
    recovery_words: list[str] | None
    """Only to the first person of a fleet, and only this once."""
    recovery_qr: str | None
    """The same words as a picture, a `data:` address."""
    passphrase_set: bool
    key: str | None = None
    """The other half of a page's secret: sent as `X-Askmesh-Key`, to the stream as `key`."""


class NotYet(Given, frozen=True, kw_only=True):
    """Nobody has typed the digits so far."""

    state: Literal["waiting"] = "waiting"


class Sessions(Given, frozen=True, kw_only=True):
    """All signed-in places of the person."""

    sessions: list[SessionRow]


class Ended(Given, frozen=True, kw_only=True):
    """How many sessions ended."""

    ended: int


class WaitingSignIn(Given, frozen=True, kw_only=True):
    """A sign-in by six digits."""

    id: str
    digits: str | None
    """Only for the new place."""
    expires: int
    where: str
    machine: str
    """Where the new place is: this machine's name, or another's."""
    state: Literal["waiting", "approved", "refused", "expired"]


class SignIns(Given, frozen=True, kw_only=True):
    """The sign-ins that wait for their digits."""

    sign_ins: list[WaitingSignIn]


class PassphraseSet(Given, frozen=True, kw_only=True):
    """The passphrase is in force."""

    passphrase_set: Literal[True] = True


class Marked(Given, frozen=True, kw_only=True):
    """The ask, note or result as it stands now."""

    ask: AskView


class ShownCode(Given, frozen=True, kw_only=True):
    """A code that was just made; this reply alone has it."""

    pairing: PairingView


class LastCode(Given, frozen=True, kw_only=True):
    """How the last code stands, without the code; null when there was none."""

    pairing: PairingView | None


class Done(Given, frozen=True, kw_only=True):
    """It was done; there is no more to say: `{}`."""


class Offers(Given, frozen=True, kw_only=True):
    """Machines near by that show a code right now."""

    offers: list[Offer]


class Privacy(Given, frozen=True, kw_only=True):
    """What leaves this machine, and to whom."""

    lines: list[PrivacyLine]


class Beat(Given, frozen=True, kw_only=True, omit_defaults=True):
    """On the stream of events: the last number sent, and the node's clock."""

    n: int
    now: int
    trouble: str | None = None
    """Why nothing can be recorded now. Such a change has no number: the snapshot shows it."""


class Refused(Given, frozen=True, kw_only=True, omit_defaults=True):
    """Why something was not done, and what to do."""

    code: str
    message: str
    hint: str
    final: FinalView | None = None
    """With `closed`: how the ask closed before this vote came."""
    ask: AskView | None = None
    """With `closed`: the ask as it stands."""
    problems: list[Any] | None = None
    """With `rules_refused`: every problem as `line`, `reason`, `fix`."""


class ErrorReply(Given, frozen=True, kw_only=True):
    """The one shape of every error."""

    error: Refused
