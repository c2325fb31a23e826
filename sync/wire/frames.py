"""The frames of a link: one type byte, then JSON or, where bytes travel, plain binary.

docs/protocol.md, "Frames", describes each. Whatever comes in is a stranger's: every size,
count and number is checked before it is used, and what does not fit is a `BadFrame`.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from sync.errors import BadFrame
from sync.limits import (
    BLOB_BYTES,
    BLOB_CHUNK_BYTES,
    FRAME_BYTES,
    FRAME_ENTRIES,
    LETTER_BYTES,
    NAME_CHARACTERS,
    PLACES,
    PRESENCE_BYTES,
    PROOFS,
    RUNS_WANTED,
    SALT_BYTES,
    SERVED_BYTES,
)
from sync.log.entry import SIGNATURE_BYTES, Entry
from sync.log.fork import Evidence
from sync.wire.packed import (
    ENTRY_MIN,
    packed,
    read_entries,
    read_evidence,
    read_testified,
    read_testimony,
)

PROTOCOL: Final = 1
"""The protocol spoken; HELLO names a range."""
MINOR: Final = 1
"""Rises with additions that an older node may ignore."""
TESTIFIES: Final = 1
"""From this minor on a node speaks of statements beyond forks."""

_BLOB = struct.Struct(">32sQQ")


class FrameType(IntEnum):
    """The first byte of a frame. A type that is not listed here is ignored."""

    HELLO = 1
    HAVE = 2
    WANT = 3
    ENTRIES = 4
    ACK = 5
    PRESENCE = 6
    LETTER = 7
    BLOB_WANT = 8
    BLOB = 9
    BLOB_NONE = 10
    PING = 11
    PONG = 12
    GOODBYE = 13
    FAREWELL = 14
    EVIDENCE = 15
    TESTIMONY = 16
    TESTIFIED = 17


Hash = Annotated[bytes, Meta(min_length=32, max_length=32)]
FleetId = Annotated[bytes, Meta(min_length=16, max_length=16)]
Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Seq = Annotated[int, Meta(ge=1, le=2**63 - 1)]
LogNumber = Annotated[int, Meta(ge=0, le=1)]
Small = Annotated[int, Meta(ge=0, le=65_535)]
Word = Annotated[str, Meta(max_length=NAME_CHARACTERS)]
Words = Annotated[str, Meta(max_length=300)]


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all frames."""


class Hello(Frame, frozen=True, kw_only=True):
    """Who speaks: the first frame of each side."""

    least: Small
    """The lowest protocol it speaks,"""
    most: Small
    """and the highest."""
    minor: Small = 0
    fleet: FleetId
    node: Hash
    boot: Word
    """Names this run of the program."""
    version: Word
    machine: Word
    now: Number
    """Its judging clock."""
    port: Small | None = None
    """Where it takes links; absent: nowhere."""
    digest: Hash
    """Of its vector (`sync.wire.held.digest`)."""


class HeadRow(msgspec.Struct, frozen=True, array_like=True):
    """How far one log is held: the number and the hash of its last entry."""

    author: Hash
    log: LogNumber
    seq: Seq
    hash: Hash


class RunRow(msgspec.Struct, frozen=True, array_like=True):
    """Entries `first` to `last` of one log."""

    author: Hash
    log: LogNumber
    first: Seq
    last: Seq


class Have(Frame, frozen=True, kw_only=True):
    """What the sender holds: `heads` is all of it (`whole`), or what changed, or nothing."""

    digest: Hash
    heads: Annotated[list[HeadRow], Meta(max_length=PLACES)] = []
    whole: bool = False
    ask: bool = False
    """Answer with all of yours."""


class Want(Frame, frozen=True, kw_only=True):
    """Runs that the sender lacks, in the order it wants them."""

    runs: Annotated[list[RunRow], Meta(max_length=RUNS_WANTED)]


class Entries(Frame, frozen=True, kw_only=True):
    """Entries, those of one log in order. Asked for, or just written."""

    entries: tuple[Entry, ...]


class Ack(Frame, frozen=True, kw_only=True):
    """One frame of entries is dealt with: the heads of the logs it was about, as stored now."""

    heads: Annotated[list[HeadRow], Meta(max_length=FRAME_ENTRIES)] = []
    trouble: Words | None = None
    """Why not all of it was stored."""


class Presence(Frame, frozen=True, kw_only=True):
    """Signed presence of some node (`sync.wire.presence`)."""

    signature: bytes
    raw: bytes


class Letter(Frame, frozen=True, kw_only=True):
    """A signed letter to some node (`sync.wire.letter`)."""

    signature: bytes
    raw: bytes


class BlobWant(Frame, frozen=True, kw_only=True):
    """The piece of a blob that begins at `offset` is wanted."""

    name: Hash
    offset: Annotated[int, Meta(ge=0, le=BLOB_BYTES + SALT_BYTES)] = 0


class Blob(Frame, frozen=True, kw_only=True):
    """A piece of a blob of `total` bytes."""

    name: bytes
    offset: int
    total: int
    chunk: bytes


class BlobNone(Frame, frozen=True, kw_only=True):
    """That blob is not here whole."""

    name: Hash


class Ping(Frame, frozen=True, kw_only=True):
    """Say that you are there."""

    number: Number


class Pong(Frame, frozen=True, kw_only=True):
    """There."""

    number: Number
    """Of the ping."""
    now: Number
    """The judging clock."""


class Goodbye(Frame, frozen=True, kw_only=True):
    """This node stops."""


class Farewell(Frame, frozen=True, kw_only=True):
    """You were removed: the entries prove it."""

    entries: tuple[Entry, ...]


class Proofs(Frame, frozen=True, kw_only=True):
    """These logs forked, and that is the proof."""

    evidence: tuple[Evidence, ...]


class Testimony(Frame, frozen=True, kw_only=True):
    """What one author stated beyond the fork of its decisions log, as far as the peer lacks it."""

    entries: tuple[Entry, ...]


class Testified(Frame, frozen=True, kw_only=True):
    """What the sender keeps of that: all of one author, by hash, in their order."""

    author: bytes
    hashes: tuple[bytes, ...]


_JSON: Final[dict[FrameType, type[Frame]]] = {
    FrameType.HELLO: Hello,
    FrameType.HAVE: Have,
    FrameType.WANT: Want,
    FrameType.ACK: Ack,
    FrameType.BLOB_WANT: BlobWant,
    FrameType.BLOB_NONE: BlobNone,
    FrameType.PING: Ping,
    FrameType.PONG: Pong,
    FrameType.GOODBYE: Goodbye,
}
_TYPES: Final = {kind: number for number, kind in _JSON.items()}
_DECODERS: Final = {number: msgspec.json.Decoder(kind) for number, kind in _JSON.items()}
_encode = msgspec.json.Encoder().encode


def encode(frame: Frame) -> bytes:
    """Return the bytes of a frame."""
    match frame:
        case Entries():
            return packed(FrameType.ENTRIES, frame.entries)
        case Farewell():
            return packed(FrameType.FAREWELL, frame.entries)
        case Proofs():
            proofs = b"".join(one.pack() for one in frame.evidence)
            return bytes([FrameType.EVIDENCE]) + proofs
        case Testimony():
            return packed(FrameType.TESTIMONY, frame.entries)
        case Testified():
            return bytes([FrameType.TESTIFIED]) + b"".join((frame.author, *frame.hashes))
        case Presence():
            return bytes([FrameType.PRESENCE]) + frame.signature + frame.raw
        case Letter():
            return bytes([FrameType.LETTER]) + frame.signature + frame.raw
        case Blob():
            head = _BLOB.pack(frame.name, frame.offset, frame.total)
            return bytes([FrameType.BLOB]) + head + frame.chunk
        case _:
            return bytes([_TYPES[type(frame)]]) + _encode(frame)


def decode_frame(data: bytes) -> Frame | None:
    """Return the frame, None for a type that a newer node may know. Raises `BadFrame`."""
    if not data:
        raise BadFrame("It sent an empty frame.")
    if len(data) > FRAME_BYTES:
        raise BadFrame(f"It sent a frame of {len(data)} bytes; at most {FRAME_BYTES} fit.")
    try:
        kind = FrameType(data[0])
    except ValueError:
        return None
    return _READ[kind](data) if kind in _READ else _json(kind, data)


def size_of(entry: Entry) -> int:
    """Return the bytes an entry takes in a frame."""
    return ENTRY_MIN + len(entry.facts) + len(entry.text or b"")


def batches(entries: Iterable[Entry], size: int = SERVED_BYTES) -> Iterator[tuple[Entry, ...]]:
    """Split entries over as many frames as they need."""
    batch: list[Entry] = []
    taken = 0
    for entry in entries:
        if batch and (taken + size_of(entry) > size or len(batch) == FRAME_ENTRIES):
            yield tuple(batch)
            batch, taken = [], 0
        batch.append(entry)
        taken += size_of(entry)
    if batch:
        yield tuple(batch)


def proofs(evidence: Sequence[Evidence]) -> list[Proofs]:
    """Split evidence over as many frames as it needs."""
    starts = range(0, len(evidence), PROOFS)
    return [Proofs(evidence=tuple(evidence[at : at + PROOFS])) for at in starts]


def _signed(data: bytes, limit: int) -> dict[str, bytes]:
    start = 1 + SIGNATURE_BYTES
    if not start < len(data) <= start + limit:
        raise BadFrame(f"It sent a signed message that is empty or has more than {limit} bytes.")
    return {"signature": data[1:start], "raw": data[start:]}


def _blob(data: bytes) -> Blob:
    start = 1 + _BLOB.size
    if len(data) < start:
        raise BadFrame("It sent a piece of a blob that is cut short.")
    name, offset, total = _BLOB.unpack_from(data, 1)
    chunk = data[start:]
    if total > BLOB_BYTES + SALT_BYTES or len(chunk) > BLOB_CHUNK_BYTES:
        raise BadFrame("It sent a blob larger than any may be.")
    if offset + len(chunk) > total or (total and not chunk):
        raise BadFrame("It sent a piece that lies outside of its blob.")
    return Blob(name=name, offset=offset, total=total, chunk=chunk)


def _testified(data: bytes) -> Testified:
    author, hashes = read_testified(data)
    return Testified(author=author, hashes=hashes)


_READ: Final[dict[FrameType, Callable[[bytes], Frame]]] = {
    FrameType.ENTRIES: lambda data: Entries(entries=read_entries(data)),
    FrameType.FAREWELL: lambda data: Farewell(entries=read_entries(data)),
    FrameType.EVIDENCE: lambda data: Proofs(evidence=read_evidence(data)),
    FrameType.TESTIMONY: lambda data: Testimony(entries=read_testimony(data)),
    FrameType.TESTIFIED: _testified,
    FrameType.PRESENCE: lambda data: Presence(**_signed(data, PRESENCE_BYTES)),
    FrameType.LETTER: lambda data: Letter(**_signed(data, LETTER_BYTES)),
    FrameType.BLOB: _blob,
}


def _json(kind: FrameType, data: bytes) -> Frame:
    try:
        return _DECODERS[kind].decode(memoryview(data)[1:])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFrame(f"It sent a frame {kind.name} that does not read: {error}") from None
