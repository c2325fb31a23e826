"""What the page shows of the people of a fleet."""

from typing import Literal

from web.views import MachineView, PairingView, View


class PersonRow(View, frozen=True, kw_only=True):
    """One person, as this machine knows them."""

    id: str
    name: str
    role: str
    you: bool
    ended: bool
    """They were removed: nothing they say counts any more."""
    split: bool
    """Several changes of them were made at once; `role` is what counts until one settles it."""
    machines: list[MachineView]
    """Those that speak for them; none: they cannot answer anywhere."""
    roles: list[str]
    """What the viewer may make of them now."""
    removable: bool
    """Whether the viewer may remove them."""
    last_owner: bool
    """The only owner who has a machine: neither changed nor removed, as a fleet needs one."""
    places: int | None
    """Where they are signed in on this machine; null: the viewer may not know."""
    used: int | None
    """When one of these was last used."""


class ConsentRow(View, frozen=True, kw_only=True):
    """An owner has said that a machine is somebody's, who must agree from one they have."""

    machine: MachineView
    person: str
    name: str
    by: str
    """The owner's name."""
    at: int
    yours: bool
    """Whether the viewer is the one to agree."""


class InvitationRow(View, frozen=True, kw_only=True):
    """An invitation to sign in on this machine that was not used yet. Never with its code."""

    id: str
    name: str
    role: str
    by: str
    expires: int


class PeopleView(View, frozen=True, kw_only=True):
    """Everyone, what waits for a consent, and who is invited."""

    people: list[PersonRow]
    """The living first, by name."""
    consents: list[ConsentRow]
    invitations: list[InvitationRow]
    may_invite: list[str]
    """The roles the viewer may give to someone new."""
    owner: bool
    """Whether the viewer may say whose machine is whose."""


class InvitedView(View, frozen=True, kw_only=True):
    """Someone is invited. The code is here and nowhere else."""

    where: Literal["here", "machine"]
    name: str
    role: str
    id: str | None = None
    code: str | None = None
    expires: int | None = None
    sentence: str
    """What to do next."""
    pairing: PairingView | None = None
    """To a new machine: the code that lets it in."""
