"""What was stated beyond forks, as links compare it: by author, the same lowest ones everywhere.

Merging keeps the lowest of both, so stores come to the same in whatever order they meet.
"""

from collections.abc import Iterable, Mapping

from sync.limits import BEYOND_FORK
from sync.log.entry import sha256

PREFIX = b"askmesh/testimony/v1\0"

Said = tuple[bool, int, bytes]
"""One statement as `sync.decide.statements.rank` orders them; the hash comes last."""
Testimony = Mapping[bytes, frozenset[Said]]
"""By author: of all whose decisions log forked, also where nothing is known of it."""


def merged(one: Iterable[Said], other: Iterable[Said]) -> frozenset[Said]:
    """Return what is kept of two that are known: the lowest."""
    return frozenset(sorted({*one, *other})[:BEYOND_FORK])


def packed(testimony: Testimony) -> bytes:
    """Return what a digest covers of it: nothing where nothing was stated.

    `PREFIX`, then author and SHA-256 of all hashes, sorted, of each author of whom there is
    something, sorted by author.
    """
    parts = [
        author + sha256(b"".join(sorted(entry_hash for _, _, entry_hash in said)))
        for author, said in sorted(testimony.items())
        if said
    ]
    return b"".join([PREFIX, *parts]) if parts else b""
