"""The chain of one author's log: what may come next, and proof of a whole run."""

from collections.abc import Iterable

import msgspec

from sync.errors import BadEntry, Forked
from sync.log.entry import GENESIS_PREV, Entry, verify


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The last entry of a log: its number (0: none yet) and its hash."""

    seq: int = 0
    hash: bytes = GENESIS_PREV


EMPTY = Head()


def extend(head: Head, entry: Entry) -> Head:
    """Return the head after `entry`.

    Raises `Forked` when another entry stands in its place or it continues another
    history, `BadEntry` when it is not the next one: whether an entry below the head is
    the stored one sent again, the head alone cannot tell.
    """
    header = entry.header
    if header.seq == head.seq:
        if entry.hash == head.hash:
            return head
        raise Forked(f"Entry {header.seq} of a log differs from the one already here.")
    if header.seq != head.seq + 1:
        raise BadEntry(f"Entry {header.seq} came where {head.seq + 1} was due.")
    if header.prev != head.hash:
        raise Forked(f"Entry {header.seq} continues another history than the one here.")
    return Head(seq=header.seq, hash=entry.hash)


def verify_run(
    head: Head, run: Iterable[Entry], *, fleet: bytes, author: bytes, log: int, public_key: bytes
) -> Head:
    """Check a contiguous run after `head`; return the new head.

    Checking the chain and the last signature proves every signature before it, because
    `prev` covers header and signature (docs/protocol.md, "Runs"). Raises `BadEntry`, and
    `Forked` only for an entry that its author signed: it is lasting evidence.
    """
    last: Entry | None = None
    for entry in run:
        header = entry.header
        if header.fleet != fleet or header.author != author or header.log != log:
            raise BadEntry("An entry stands in a log that is not its own.")
        try:
            head = extend(head, entry)
        except Forked:
            # Both sides of the break: a relay can spoil a signature, not make one.
            for side in (last, entry):
                if side is not None:
                    verify(side, public_key)
            raise
        last = entry
    if last is not None:
        verify(last, public_key)
    return head
