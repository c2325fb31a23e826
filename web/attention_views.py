"""What a person is called for: what the page shows of it, and what a person sets."""

from typing import Annotated, Literal

import msgspec

from sync.limits import PATTERN_CHARACTERS

Pattern = Annotated[str, msgspec.Meta(max_length=PATTERN_CHARACTERS)]
WallTime = Annotated[str, msgspec.Meta(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$", max_length=5)]
Day = Annotated[int, msgspec.Meta(ge=0, le=6)]
Days = Annotated[list[Day], msgspec.Meta(min_length=1, max_length=7)]


class SubscriptionView(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said about being called for some asks."""

    agent: str
    project: str
    machine: str
    """A node's full id; empty: any."""
    machine_name: str
    on: bool


class QuietView(msgspec.Struct, frozen=True, kw_only=True):
    """Hours of the wall clock in `zone` in which nothing calls."""

    days: list[int]
    """On which they begin; Monday is 0."""
    start: str
    end: str
    zone: str
    known: bool
    """Whether this machine knows the zone; if not, nothing is quiet here."""


class AttentionView(msgspec.Struct, frozen=True, kw_only=True):
    """How a person is called right now, and what they set."""

    person: str
    name: str
    state: Literal["called", "muted", "quiet"]
    until: int | None
    """When that ends."""
    muted_until: int | None
    quiet: QuietView | None
    subscriptions: list[SubscriptionView]


class Subscribing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether what fits is to call the person; null: nothing is said of it any more."""

    agent: Pattern
    """A name, or a pattern with `*` and `?`."""
    project: Pattern = ""
    machine: Pattern = ""
    """A name, a short or a full id; empty: any."""
    on: bool | None


class Muting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Until when nothing is to call the person; null: it may again."""

    until: int | None


class QuietHours(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In which hours of the wall clock nothing is to call the person."""

    days: Days
    """On which they begin; Monday is 0."""
    start: WallTime
    end: WallTime
    """At or before `start`: on the next day."""
    zone: Pattern
    """Of the IANA database: `Europe/Berlin`."""


class Quieting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The quiet hours of the person; null: none."""

    quiet: QuietHours | None
