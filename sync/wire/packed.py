"""How entries, and proofs of forks, lie one after the other in a frame behind its type byte.

Whatever comes in is a stranger's: what does not fit is a `BadFrame`.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from sync.errors import BadEntry, BadFrame
from sync.limits import BEYOND_FORK, FRAME_ENTRIES, PROOFS
from sync.log import fork
from sync.log.entry import HASH_BYTES, HEADER_BYTES, SIGNATURE_BYTES, Entry, decode, unpack
from sync.log.fork import Evidence

ENTRY_MIN: Final = HEADER_BYTES + SIGNATURE_BYTES + 1
TEXT_HERE: Final = 1
TEXT_ERASED: Final = 0


def packed(kind: int, entries: Iterable[Entry]) -> bytes:
    """Return a frame of entries."""
    parts = [bytes([kind])]
    for entry in entries:
        erased = entry.text is None
        flag = bytes([TEXT_ERASED if erased else TEXT_HERE])
        parts += [entry.raw, entry.signature, flag, entry.facts, entry.text or b""]
    return b"".join(parts)


def read_entries(data: bytes) -> tuple[Entry, ...]:
    """Return the entries of a frame. Raises `BadFrame`."""
    found: list[Entry] = []
    at = 1
    while at < len(data):
        if len(found) == FRAME_ENTRIES:
            raise BadFrame(f"It sent a frame of more than {FRAME_ENTRIES} entries.")
        entry, at = _entry(data, at)
        found.append(entry)
    return tuple(found)


def _entry(data: bytes, at: int) -> tuple[Entry, int]:
    body = at + ENTRY_MIN
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


def read_evidence(data: bytes) -> tuple[Evidence, ...]:
    """Return the proofs of a frame. Raises `BadFrame`."""
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


def read_testimony(data: bytes) -> tuple[Entry, ...]:
    """Return the statements of a frame: of one author, in its decisions log. Raises `BadFrame`."""
    found = read_entries(data)
    if len({(one.header.author, one.header.log) for one in found}) != 1 or found[0].header.log:
        raise BadFrame("It sent testimony that is not of one history of decisions.")
    return found


def read_testified(data: bytes) -> tuple[bytes, tuple[bytes, ...]]:
    """Return an author and hashes of its statements, in their order. Raises `BadFrame`."""
    parts = tuple([data[at : at + HASH_BYTES] for at in range(1, len(data), HASH_BYTES)])
    if not parts or len(parts[-1]) < HASH_BYTES or len(parts) > BEYOND_FORK + 1:
        raise BadFrame("It sent a list of testimony that is cut short, or too long.")
    author, *hashes = parts
    if any(one >= later for one, later in pairwise(hashes)):
        raise BadFrame("It sent a list of testimony that is not in its order.")
    return author, tuple(hashes)
