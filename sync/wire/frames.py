"""The frames of a link: one type byte, then JSON or, where bytes travel, plain binary.

docs/protocol.md, "Frames", describes each. Whatever comes in is a stranger's: every size,
count and number is checked before it is used, and what does not fit is a `BadFrame`.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from sync.errors import BadEntry, BadFrame
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
from sync.log import fork
from sync.log.entry import HEADER_BYTES, SIGNATURE_BYTES, Entry, decode, unpack
from sync.log.fork import Evidence

PROTOCOL: Final = 1
"""The protocol spoken; HELLO names a range."""
MINOR: Final = 0
"""Rises with additions that an older node may ignore."""

_ENTRY_MIN: Final = HEADER_BYTES + SIGNATURE_BYTES + 1
_BLOB = struct.Struct(">32sQQ")
TEXT_HERE: Final = 1
TEXT_ERASED: Final = 0


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
            return _packed(FrameType.ENTRIES, frame.entries)
        case Farewell():
            return _packed(FrameType.FAREWELL, frame.entries)
        case Proofs():
            packed = b"".join(one.pack() for one in frame.evidence)
            return bytes([FrameType.EVIDENCE]) + packed
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
    match kind:
        case FrameType.ENTRIES:
            return Entries(entries=_entries(data))
        case FrameType.FAREWELL:
            return Farewell(entries=_entries(data))
        case FrameType.EVIDENCE:
            return Proofs(evidence=_evidence(data))
        case FrameType.PRESENCE:
            return Presence(**_signed(data, PRESENCE_BYTES))
        case FrameType.LETTER:
            return Letter(**_signed(data, LETTER_BYTES))
        case FrameType.BLOB:
            return _blob(data)
        case _:
            return _json(kind, data)


def size_of(entry: Entry) -> int:
    """Return the bytes an entry takes in a frame."""
    return _ENTRY_MIN + len(entry.facts) + len(entry.text or b"")


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


def _packed(kind: FrameType, entries: Iterable[Entry]) -> bytes:
    parts = [bytes([kind])]
    for entry in entries:
        erased = entry.text is None
        flag = bytes([TEXT_ERASED if erased else TEXT_HERE])
        parts += [entry.raw, entry.signature, flag, entry.facts, entry.text or b""]
    return b"".join(parts)


def _entries(data: bytes) -> tuple[Entry, ...]:
    found: list[Entry] = []
    at = 1
    while at < len(data):
        if len(found) == FRAME_ENTRIES:
            raise BadFrame(f"It sent a frame of more than {FRAME_ENTRIES} entries.")
        entry, at = _entry(data, at)
        found.append(entry)
    return tuple(found)


def _entry(data: bytes, at: int) -> tuple[Entry, int]:
    body = at + _ENTRY_MIN
    if body > len(data):
        raise BadFrame("It sent an entry that is cut short.")
    raw = data[at : at + HEADER_BYTES]
    flag = data[body - 1]
    if flag not in (TEXT_HERE, TEXT_ERASED):
        raise BadFrame("It sent an entry with an unknown mark.")
    try:
        header = unpack(raw)
        text = body + header.facts_len
        end = text + (header.text_len if flag == TEXT_HERE else 0)
        if end > len(data):
            raise BadFrame("It sent an entry that is cut short.")
        entry = decode(
            raw,
            data[at + HEADER_BYTES : body - 1],
            data[body:text],
            data[text:end] if flag == TEXT_HERE else None,
            header=header,
        )
    except BadEntry as error:
        raise BadFrame(f"It sent a bad entry: {error.sentence}") from None
    return entry, end


def _evidence(data: bytes) -> tuple[Evidence, ...]:
    parts = [data[at : at + fork.EVIDENCE_BYTES] for at in range(1, len(data), fork.EVIDENCE_BYTES)]
    if len(parts) > PROOFS:
        raise BadFrame(f"It sent a frame that proves more than {PROOFS} forks.")
    try:
        found = tuple([fork.decode(part) for part in parts])
    except BadEntry as error:
        raise BadFrame(f"It sent bad evidence: {error.sentence}") from None
    if len({one.place for one in found}) < len(found):
        # Of several forks of a log the earliest counts: a sound peer keeps no other.
        raise BadFrame("It sent a frame that proves several forks of one log.")
    return found


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


def _json(kind: FrameType, data: bytes) -> Frame:
    try:
        return _DECODERS[kind].decode(memoryview(data)[1:])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFrame(f"It sent a frame {kind.name} that does not read: {error}") from None
