"""How far every log of the fleet is held here: one record for all links of a node."""

from collections.abc import Iterable, Mapping

from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry, sha256
from sync.log.vector import Place, Vector

PREFIX = b"askmesh/vector/v1\0"


def digest(vector: Vector) -> bytes:
    """Return the hash of a vector: equal digests mean equal stores.

    Over `PREFIX`, then author, log (1 byte), number (8 bytes) and hash of each log that
    has an entry, sorted by author and log.
    """
    parts = [
        b"%b%c%b%b" % (author, log, head.seq.to_bytes(8, "big"), head.hash)
        for (author, log), head in sorted(vector.items())
        if head.seq
    ]
    return sha256(PREFIX + b"".join(parts))


class Held:
    """The heads as last committed. Only what is durable may be told to it."""

    def __init__(self, vector: Vector | None = None) -> None:
        self._heads: dict[Place, Head] = {}
        self._digest: bytes | None = None
        self.moves = 0
        """Rises whenever a head moves."""
        self.decisions = 0
        """Rises whenever a head of a decisions log moves: who belongs may be known better."""
        if vector is not None:
            self.moved(vector)

    @property
    def heads(self) -> Mapping[Place, Head]:
        """Every log that has an entry. Not to be changed."""
        return self._heads

    @property
    def digest(self) -> bytes:
        """The hash of the whole vector."""
        if self._digest is None:
            self._digest = digest(self._heads)
        return self._digest

    def head(self, place: Place) -> Head:
        """The head of one log."""
        return self._heads.get(place, EMPTY)

    def moved(self, heads: Vector) -> None:
        """These heads are durable here. A head never goes back by itself."""
        for place, head in heads.items():
            if head.seq > self.head(place).seq:
                self._heads[place] = head
                self._digest = None
                self.moves += 1
                self.decisions += place[1] == 0

    def replace(self, heads: Vector) -> None:
        """Exactly these heads count: after a removal, those of its author may be lower."""
        if dict(heads) != self._heads:
            self._heads = dict(heads)
            self._digest = None
            self.moves += 1
            self.decisions += 1

    def stored(self, entries: Iterable[Entry]) -> None:
        """These entries, of any logs, are durable here."""
        newest: dict[Place, Entry] = {}
        for entry in entries:
            place = (entry.header.author, entry.header.log)
            if place not in newest or entry.header.seq > newest[place].header.seq:
                newest[place] = entry
        self.moved(
            {place: Head(seq=one.header.seq, hash=one.hash) for place, one in newest.items()}
        )

    def clear(self) -> None:
        """This node belongs to another fleet: nothing is held."""
        self._heads.clear()
        self._digest = None
        self.moves += 1
        self.decisions += 1
