"""Version vectors: for each author and log, how far a store holds it.

A store holds contiguous prefixes only, so equal (seq, hash) proves an equal prefix.
"""

from collections.abc import Mapping

import msgspec

from sync.errors import Forked
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry

Place = tuple[bytes, int]
"""(author, log)."""
Vector = Mapping[Place, Head]


def place_of(entry: Entry) -> Place:
    """Return the log an entry stands in."""
    return entry.header.author, entry.header.log


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A run one side lacks: entries `first` to `last` of one log."""

    author: bytes
    log: int
    first: int
    last: int


def missing(ours: Vector, theirs: Vector) -> list[Wanted]:
    """Return the runs `theirs` has beyond `ours`, decisions before chatter."""
    runs = [
        Wanted(author=author, log=log, first=ours.get((author, log), EMPTY).seq + 1, last=head.seq)
        for (author, log), head in theirs.items()
        if head.seq > ours.get((author, log), EMPTY).seq
    ]
    return sorted(runs, key=lambda run: (run.log, run.author))


def merge(ours: Vector, theirs: Vector) -> dict[Place, Head]:
    """Return the vector of a store that holds both histories.

    Raises `Forked` when the same number names two different entries.
    """
    merged = {place: head for place, head in ours.items() if head.seq}
    for place, head in theirs.items():
        mine = merged.get(place, EMPTY)
        if mine.seq == head.seq and mine.hash != head.hash:
            raise Forked(f"Two histories differ at entry {head.seq}.")
        if head.seq > mine.seq:
            merged[place] = head
    return merged
