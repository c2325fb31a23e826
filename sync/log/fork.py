"""Evidence that an author has two histories, and where its log is frozen by that.

Two signed headers prove it to anyone who has the author's key; no body is needed.
"""

import msgspec

from sync.errors import BadEntry
from sync.log.chain import Head
from sync.log.entry import (
    HEADER_BYTES,
    SIGNATURE_BYTES,
    Entry,
    Header,
    sha256,
    unpack,
    verify_header,
)
from sync.log.vector import Place

SIDE_BYTES = HEADER_BYTES + SIGNATURE_BYTES
EVIDENCE_BYTES = 2 * SIDE_BYTES


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A signed header without its body."""

    raw: bytes
    signature: bytes

    @property
    def header(self) -> Header:
        """What was signed."""
        return unpack(self.raw)

    @property
    def hash(self) -> bytes:
        """What `prev` names."""
        return sha256(self.raw + self.signature)


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Two headers of one log that no single history has: made by `evidence` and `decode`."""

    fleet: bytes
    author: bytes
    log: int
    seq: int
    """Where the histories differ, as far as these two show; they may differ earlier."""
    first: Side
    """The entry with that number in one of them."""
    second: Side
    """Another with that number, or one that continues another."""

    @property
    def place(self) -> Place:
        """The log it freezes."""
        return self.author, self.log

    def pack(self) -> bytes:
        """Return the bytes in which it travels."""
        first, second = self.first, self.second
        return first.raw + first.signature + second.raw + second.signature

    def verify(self, public_key: bytes) -> None:
        """Check that the author signed both sides. Raises `BadEntry`."""
        if sha256(public_key) != self.author:
            raise BadEntry("Evidence of a fork was checked against a key that is not its author's.")
        for side in (self.first, self.second):
            verify_header(side.raw, side.signature, public_key)


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """A log that counts no further: why, and its last entry before that, as it is held here."""

    evidence: Evidence
    end: Head

    @property
    def seq(self) -> int:
        """The first number that is disputed."""
        return self.evidence.seq


def side(entry: Entry) -> Side:
    """Return what evidence needs of an entry."""
    return Side(raw=entry.raw, signature=entry.signature)


def evidence(first: Side, second: Side) -> Evidence:
    """Return what two signed headers prove. Raises `BadEntry` when they fit together.

    The signatures are checked by `Evidence.verify`.
    """
    one, other = first.header, second.header
    same = (one.fleet, one.author, one.log) == (other.fleet, other.author, other.log)
    twice = one.seq == other.seq and first.hash != second.hash
    breaks = other.seq == one.seq + 1 and other.prev != first.hash
    if not same or not (twice or breaks):
        raise BadEntry("Two entries do not contradict each other, so they prove no fork.")
    return Evidence(
        fleet=one.fleet, author=one.author, log=one.log, seq=one.seq, first=first, second=second
    )


def decode(raw: bytes) -> Evidence:
    """Read the bytes of `Evidence.pack`. Raises `BadEntry`."""
    if len(raw) != EVIDENCE_BYTES:
        raise BadEntry(f"Evidence of a fork has {len(raw)} bytes instead of {EVIDENCE_BYTES}.")
    return evidence(_side(raw[:SIDE_BYTES]), _side(raw[SIDE_BYTES:]))


def _side(raw: bytes) -> Side:
    return Side(raw=raw[:HEADER_BYTES], signature=raw[HEADER_BYTES:])
