"""How accounts stand, as a person is shown it."""

from typing import Literal

import msgspec

Standing = Literal["active", "grace", "on_hold", "suspended"]


class BannerView(msgspec.Struct, frozen=True, kw_only=True):
    """What stands at the top of everything while an account is not simply active."""

    standing: Standing
    whole: bool
    """It is the account of all, not the viewer's own."""
    sentence: str
    answers: bool
    """Whether answers of the viewer count."""
    reason: str | None = None
    """For who may see to it: why."""
    remedy: str | None = None
    """For who may see to it: an https link to where it is settled."""
    remedy_host: str | None = None
    """Where that leads to: show it beside the link."""
    fixed_by: str | None = None
    """For everyone else: who can see to it."""


class AccountView(msgspec.Struct, frozen=True, kw_only=True):
    """What one source says of one account."""

    person: str | None
    """A person's id; null: the whole fleet's."""
    name: str | None
    standing: Standing
    said_by: str
    """The owner's name, or the operator's."""
    operator: str | None
    """Its key as hex; null: owners say it."""
    counts: bool
    """False: the operator was removed."""
    reason: str | None
    remedy: str | None
    serial: int
    at: int


class OperatorView(msgspec.Struct, frozen=True, kw_only=True):
    """An outside system that may say how accounts stand."""

    id: str
    """Its public key as hex."""
    name: str
    live: bool
    by: str
    at: int


class NamedPerson(msgspec.Struct, frozen=True, kw_only=True):
    """A person by id and name."""

    id: str
    name: str


class StandingView(msgspec.Struct, frozen=True, kw_only=True):
    """How accounts stand, as far as the viewer may know."""

    fleet: str
    """Hex id: what an operator's word names."""
    me: str
    """The viewer's own id."""
    banner: BannerView | None
    """Null: everything is as usual for the viewer."""
    accounts: list[AccountView]
    """Owners and admins see all; others what is said of them and of the whole fleet."""
    operators: list[OperatorView]
    """For owners and admins."""
    persons: list[NamedPerson]
    """For owners and admins: whom a word can be about."""


class WordTaken(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an operator's word."""

    state: Literal["recorded", "known"]
    """`known`: it was recorded before, so nothing was done."""
    serial: int
