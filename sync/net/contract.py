"""What a link needs of a session, and what it tells the mesh."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from sync.log.entry import Entry
from sync.log.vector import Vector, Wanted
from sync.net.ledger import Kept
from sync.wire.actions import Action
from sync.wire.comparing import Sight
from sync.wire.testimony import Testimony

if TYPE_CHECKING:
    from sync.net.link import Link


REASON_BYTES: Final = 120
"""A close frame has room for 123 bytes of reason."""


def told_at_close(words: object) -> str:
    """Return what the peer gives as its reason, made safe to show."""
    text = words if isinstance(words, str) else ""
    shown = "".join(one for one in text if one.isprintable())[:REASON_BYTES]
    return f"It closed the link: {shown}" if shown else "It closed the link."


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a link ended."""

    code: int
    reason: str | None
    """A sentence for persons; None: nothing is wrong."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """How a link does."""

    round_trip_ms: float | None
    behind_us: int
    behind_them: int
    version: str | None
    skew_ms: int | None
    trouble: str | None
    last_heard: int | None


class Session(Protocol):
    """What a link needs of `sync.wire.session.Session`. Times are milliseconds."""

    @property
    def round_trip_ms(self) -> float | None:
        """How long the last ping took."""
        ...

    @property
    def behind_us(self) -> int:
        """Entries it has told of that are not here."""
        ...

    @property
    def behind_them(self) -> int:
        """Entries here that it has not acknowledged."""
        ...

    @property
    def version(self) -> str | None:
        """The program it runs."""
        ...

    @property
    def skew_ms(self) -> int | None:
        """How far its clock is ahead of ours."""
        ...

    @property
    def trouble(self) -> str | None:
        """What hinders syncing, as a sentence."""
        ...

    @property
    def knows_us(self) -> Sight:
        """How far it has our own logs."""
        ...

    def begin(self, now: int) -> list[Action]:
        """The connection is made."""
        ...

    def received(self, frame: bytes, now: int) -> list[Action]:
        """A frame came."""
        ...

    def kept(self, kept: Kept, now: int) -> list[Action]:
        """What `Keep` asked for is durable."""
        ...

    def froze(self, kept: Kept, now: int) -> list[Action]:
        """What `Convict` asked for is durable."""
        ...

    def attested(self, author: bytes, kept: Kept, now: int) -> list[Action]:
        """What `Attest` asked for is durable."""
        ...

    def have_testimony(self, entries: Sequence[Entry], now: int) -> list[Action]:
        """What `Testify` asked for."""
        ...

    def have_read(self, wanted: Wanted, entries: Sequence[Entry], now: int) -> list[Action]:
        """What `Read` asked for."""
        ...

    def have_blob(self, name: bytes, data: bytes | None) -> list[Action]:
        """What `ReadBlob` asked for."""
        ...

    def want_blobs(self, names: Sequence[bytes]) -> list[Action]:
        """What `FindBlobs` asked for."""
        ...

    def moved(self, vector: Vector, testimony: Testimony, now: int) -> list[Action]:
        """What `Recount` asked for."""
        ...

    def push(self, entries: Sequence[Entry], now: int) -> list[Action]:
        """Entries were committed here."""
        ...

    def presence(self, raw: bytes, signature: bytes) -> list[Action]:
        """Send signed presence."""
        ...

    def letter(self, raw: bytes, signature: bytes) -> list[Action]:
        """Send a signed letter."""
        ...

    def tick(self, now: int) -> list[Action]:
        """Time has passed."""
        ...

    def goodbye(self) -> list[Action]:
        """This node stops."""
        ...

    def farewell(self, proof: Sequence[Entry]) -> list[Action]:
        """The peer was removed."""
        ...

    def closed(self) -> None:
        """The connection is gone."""
        ...


class Owner(Protocol):
    """What a link tells the mesh. All return at once."""

    def opened(self, link: "Link") -> None:
        """The peer has said who it is, and it fits."""
        ...

    def heard(self, link: "Link", raw: bytes, signature: bytes) -> None:
        """Signed presence came."""
        ...

    def carried(self, link: "Link", raw: bytes, signature: bytes) -> None:
        """A signed letter came."""
        ...

    def troubled(self, link: "Link") -> None:
        """What hinders the link has changed."""
        ...
