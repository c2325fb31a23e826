"""The statements that a machine that joins is told, in as many messages as they need.

The signature of WELCOME covers the hash of each MORE, so these need none of their own.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Final

from sync.errors import BadFrame, TooLarge
from sync.limits import FRAME_BYTES, FRAME_ENTRIES, PAIR_MESSAGE_BYTES, PAIR_PARTS
from sync.log.entry import Entry, sha256
from sync.wire.frames import Entries, decode_frame, encode, size_of
from sync.wire.pairing_words import Welcome, read, write

ROOM: Final = PAIR_MESSAGE_BYTES
"""Left in each message for all that is no statement: the JSON of WELCOME before all."""
PART_BYTES: Final = FRAME_BYTES - ROOM
_LENGTH: Final = struct.Struct(">I")

Part = tuple[Entry, ...]


def parts(
    statements: Sequence[Entry], *, entries: int = FRAME_ENTRIES, size: int = PART_BYTES
) -> list[Part]:
    """Return the statements in turn, as much in each part as a message holds; one at least.

    Raises `TooLarge`: half of them would not settle who belongs to the fleet.
    """
    made = [*_filled(statements, entries, size)] or [()]
    if len(made) <= PAIR_PARTS + 1:
        return made
    raise TooLarge(
        f"This fleet has {len(statements):,} statements about its machines and people; a"
        f" machine that joins takes {PAIR_PARTS + 1} messages of at most {entries:,} of them."
        " So no machine can join it any more.",
        hint="Let the machines leave one by one, and pair them into a new fleet.",
    )


def _filled(statements: Sequence[Entry], entries: int, size: int) -> Iterator[Part]:
    part: list[Entry] = []
    used = 0
    for entry in statements:
        more = size_of(entry)
        if part and (used + more > size or len(part) == entries):
            yield tuple(part)
            part, used = [], 0
        part.append(entry)
        used += more
    if part:
        yield tuple(part)


def bodies(welcome: Welcome, told: Sequence[Part]) -> list[bytes]:
    """Return the body of WELCOME (length, JSON, entries as in a frame), then of each MORE."""
    first, *rest = (encode(Entries(entries=part)) for part in told)
    said = write(
        Welcome(
            fleet=welcome.fleet,
            founder=welcome.founder,
            port=welcome.port,
            more=tuple(sha256(one) for one in rest),
            forks=welcome.forks,
        )
    )
    return [_LENGTH.pack(len(said)) + said + first, *rest]


def read_welcome(body: bytes) -> tuple[Welcome, Part]:
    """Take the body of WELCOME apart. Who signed the entries is not checked here.

    Raises `BadFrame`.
    """
    if len(body) < _LENGTH.size:
        raise BadFrame("Its welcome is cut short.")
    end = _LENGTH.size + _LENGTH.unpack_from(body)[0]
    if end > min(len(body), PAIR_MESSAGE_BYTES):
        raise BadFrame("Its welcome is cut short.")
    return read(Welcome, body[_LENGTH.size : end]), read_part(body[end:])


def read_part(body: bytes) -> Part:
    """Return the entries of a part. Raises `BadFrame`."""
    frame = decode_frame(body)
    if not isinstance(frame, Entries):
        raise BadFrame("Its welcome has no entries.")
    return frame.entries
