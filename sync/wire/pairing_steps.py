"""What the two sides of a pairing are told and tell, and the steps that each may take."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

import msgspec

from sync.log.entry import Entry, NodeKey, sha256
from sync.wire.pairing_failures import Why

Fits = Callable[[bytes, bytes], bool]
"""Whether a certificate (DER) is one that the holder of a public key would show."""


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine says of itself, and the key it proves it with."""

    key: NodeKey
    certificate: bytes
    machine: str
    version: str
    port: int | None = None
    """Where it takes links."""
    alone: bool = True
    """Whether its fleet has no other machine."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A machine that has proved to know the code and to hold its key."""

    node_key: bytes
    certificate: bytes
    machine: str
    version: str
    port: int | None
    """Where it takes links;"""
    host: str = ""
    """and the address it came from."""

    @property
    def node(self) -> bytes:
        """Its node id."""
        return sha256(self.node_key)


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine that was let in is told."""

    fleet: bytes
    founder: bytes
    statements: tuple[Entry, ...] = ()
    """The founder's genesis first; they fit (`pairing_welcome.parts`)."""
    forks: tuple[bytes, ...] = ()
    """Evidence of those beyond which some of them stand: at most `PAIR_FORKS`."""
    port: int | None = None
    """Where we take links."""


class Welcomed(msgspec.Struct, frozen=True, kw_only=True):
    """The fleet that let us in, and the machine that did."""

    node_key: bytes
    certificate: bytes
    machine: str
    version: str
    fleet: bytes
    founder: bytes
    statements: tuple[Entry, ...]
    """They decode, and the first is the founder's genesis; signatures are not checked."""
    forks: tuple[bytes, ...] = ()
    """Of these nothing is checked but how long they are."""
    port: int | None
    """Where it takes links;"""
    host: str = ""
    """and where it was dialled."""

    @property
    def node(self) -> bytes:
        """Its node id."""
        return sha256(self.node_key)


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why it ended."""

    why: Why
    sentence: str | None = None
    """What the other side's node says, where that is proved to come from it."""
    machine: str = ""
    version: str = ""
    """Of the other side, if it said so."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What to do after a message: send, and then at most one of the others."""

    send: bytes | None = None
    stretch: bytes | None = None
    """B: derive the key with this sid, and call `Joiner.answer`."""
    candidate: Candidate | None = None
    """A: decide about it, and call `Minter.admit` or `Minter.refuse`."""
    welcomed: Welcomed | None = None
    """B: store it, and call `Joiner.joined` or `Joiner.refuse`."""
    paired: bool = False
    """A: B has stored it."""
    failed: Failure | None = None
    """It is over."""


class Event(Enum):
    """What moves either side."""

    BEGUN = "begun"
    OFFERED = "offered"
    ANSWERED = "answered"
    PROVED = "proved"
    CONFIRMED = "confirmed"
    ADMITTED = "admitted"
    GATHERED = "gathered"
    JOINED = "joined"
    FAILED = "failed"


class MinterState(Enum):
    """The side that shows the code."""

    NEW = "new"
    OFFERING = "offering"
    PROVING = "proving"
    DECIDING = "deciding"
    WELCOMING = "welcoming"
    PAIRED = "paired"
    FAILED = "failed"


class JoinerState(Enum):
    """The side on which the code is typed."""

    WAITING = "waiting"
    STRETCHING = "stretching"
    ANSWERED = "answered"
    CONFIRMED = "confirmed"
    GATHERING = "gathering"
    STORING = "storing"
    JOINED = "joined"
    FAILED = "failed"


MINTER_STEPS: Final[Mapping[tuple[MinterState, Event], MinterState]] = {
    (MinterState.NEW, Event.BEGUN): MinterState.OFFERING,
    (MinterState.OFFERING, Event.ANSWERED): MinterState.PROVING,
    (MinterState.OFFERING, Event.FAILED): MinterState.FAILED,
    (MinterState.PROVING, Event.CONFIRMED): MinterState.DECIDING,
    (MinterState.PROVING, Event.FAILED): MinterState.FAILED,
    (MinterState.DECIDING, Event.ADMITTED): MinterState.WELCOMING,
    (MinterState.DECIDING, Event.FAILED): MinterState.FAILED,
    (MinterState.WELCOMING, Event.JOINED): MinterState.PAIRED,
    (MinterState.WELCOMING, Event.FAILED): MinterState.FAILED,
}
JOINER_STEPS: Final[Mapping[tuple[JoinerState, Event], JoinerState]] = {
    (JoinerState.WAITING, Event.OFFERED): JoinerState.STRETCHING,
    (JoinerState.WAITING, Event.FAILED): JoinerState.FAILED,
    (JoinerState.STRETCHING, Event.ANSWERED): JoinerState.ANSWERED,
    (JoinerState.STRETCHING, Event.FAILED): JoinerState.FAILED,
    (JoinerState.ANSWERED, Event.PROVED): JoinerState.CONFIRMED,
    (JoinerState.ANSWERED, Event.FAILED): JoinerState.FAILED,
    (JoinerState.CONFIRMED, Event.ADMITTED): JoinerState.GATHERING,
    (JoinerState.CONFIRMED, Event.FAILED): JoinerState.FAILED,
    (JoinerState.GATHERING, Event.GATHERED): JoinerState.STORING,
    (JoinerState.GATHERING, Event.FAILED): JoinerState.FAILED,
    (JoinerState.STORING, Event.JOINED): JoinerState.JOINED,
    (JoinerState.STORING, Event.FAILED): JoinerState.FAILED,
}
