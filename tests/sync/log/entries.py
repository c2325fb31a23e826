"""Small real entries: keys, chains, and what a test changes in them."""

from collections.abc import Iterator
from functools import cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry, NodeKey, seal
from sync.log.kinds import EntryType, log_of

FLEET = bytes(range(16))
SALT = b"s" * 16


@cache
def key(number: int = 1) -> NodeKey:
    """One of a few fixed keys."""
    return NodeKey(Ed25519PrivateKey.from_private_bytes(number.to_bytes(32, "big")))


def entry(
    head: Head = EMPTY,
    *,
    by: NodeKey | None = None,
    kind: int = EntryType.ASK,
    facts: bytes = b'{"number":1}',
    text: bytes = SALT + b"{}",
    hlc: int = 7 << 16,
    fleet: bytes = FLEET,
) -> Entry:
    """The next entry after `head`."""
    return seal(
        by or key(),
        fleet=fleet,
        seq=head.seq + 1,
        prev=head.hash,
        hlc=hlc,
        entry_type=kind,
        facts=facts,
        text=text,
    )


def chain(length: int, *, by: NodeKey | None = None, kind: int = EntryType.ASK) -> list[Entry]:
    """A log of so many entries."""
    return list(_chain(length, by, kind))


def _chain(length: int, by: NodeKey | None, kind: int) -> Iterator[Entry]:
    head = EMPTY
    for number in range(length):
        made = entry(head, by=by, kind=kind, facts=b'{"number":%d}' % number)
        head = Head(seq=made.header.seq, hash=made.hash)
        yield made


def head_of(made: Entry) -> Head:
    """The head of a log that ends with this entry."""
    return Head(seq=made.header.seq, hash=made.hash)


def where(made: Entry) -> tuple[bytes, int]:
    """Author and log."""
    return made.header.author, int(log_of(made.header.type))
