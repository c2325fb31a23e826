"""How far every log of the fleet is held here: one record for all links of a node."""

from collections.abc import Iterable, Mapping

from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry, sha256
from sync.log.fork import Frozen
from sync.log.vector import Place, Vector, place_of
from sync.wire.testimony import Said, Testimony, merged, packed

PREFIX = b"askmesh/vector/v1\0"
FORKS_PREFIX = b"askmesh/forks/v1\0"


def digest(
    vector: Vector, frozen: Mapping[Place, int] | None = None, testimony: Testimony | None = None
) -> bytes:
    """Return the hash of a vector: equal digests mean equal stores.

    Over `PREFIX`, then author, log (1 byte), number (8 bytes) and hash of each log that
    has an entry, sorted by author and log. Where forks are known (`frozen`: the first number
    that is disputed): over `FORKS_PREFIX` and author, log and number of each as well, and
    where something was stated beyond them, over that (`sync.wire.testimony.packed`).
    """
    parts = [
        b"%b%c%b%b" % (author, log, head.seq.to_bytes(8, "big"), head.hash)
        for (author, log), head in sorted(vector.items())
        if head.seq
    ]
    if frozen:
        parts.append(FORKS_PREFIX)
        parts += [
            b"%b%c%b" % (author, log, seq.to_bytes(8, "big"))
            for (author, log), seq in sorted(frozen.items())
        ]
    return sha256(PREFIX + b"".join(parts) + packed(testimony or {}))


class Held:
    """The heads as last committed. Only what is durable may be told to it.

    A log that forked counts up to the fork and no further, also where more is stored.
    """

    def __init__(self, vector: Vector | None = None) -> None:
        self._heads: dict[Place, Head] = {}
        self._frozen: dict[Place, Frozen] = {}
        self._testimony: dict[bytes, frozenset[Said]] = {}
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
    def frozen(self) -> Mapping[Place, Frozen]:
        """Every log that is known to have forked. Not to be changed."""
        return self._frozen

    @property
    def testimony(self) -> Testimony:
        """What is kept of each author whose decisions log forked. Not to be changed."""
        return self._testimony

    @property
    def digest(self) -> bytes:
        """The hash of the whole vector, of the forks that are known, and of the testimony."""
        if self._digest is None:
            frozen = {place: one.seq for place, one in self._frozen.items()}
            self._digest = digest(self._heads, frozen, self._testimony)
        return self._digest

    def head(self, place: Place) -> Head:
        """The head of one log."""
        return self._heads.get(place, EMPTY)

    def counts(self, place: Place, seq: int) -> bool:
        """Whether a number of a log lies before its fork, if it has one."""
        frozen = self._frozen.get(place)
        return frozen is None or seq < frozen.seq

    def end(self, place: Place, seq: int) -> int:
        """Return the last number up to `seq` that lies before a fork of the log."""
        frozen = self._frozen.get(place)
        return seq if frozen is None else min(seq, frozen.seq - 1)

    def moved(self, heads: Vector) -> None:
        """These heads are durable here. A head never goes back by itself."""
        for place, head in heads.items():
            if head.seq > self.head(place).seq and self.counts(place, head.seq):
                self._heads[place] = head
                self._changed(decisions=place[1] == 0)

    def froze(self, frozen: Mapping[Place, Frozen]) -> None:
        """These logs forked. Where one forked earlier than was known, it ends there."""
        for place, one in frozen.items():
            before = self._frozen.get(place)
            if before is not None and before.seq <= one.seq:
                continue
            self._frozen[place] = one
            if self.head(place).seq >= one.seq:
                self._heads.pop(place)
                if one.end.seq:
                    self._heads[place] = one.end
            self._changed(decisions=True)

    def testified(self, testimony: Testimony, *, whole: bool = False) -> None:
        """This is durable here (`whole`: and of no other author).

        Of one author it is no less than before: readings may overtake each other.
        """
        for author in self._testimony.keys() - testimony.keys() if whole else ():
            del self._testimony[author]
            self._changed(decisions=True)
        for author, said in testimony.items():
            now = merged(said, self._testimony.get(author, ()))
            if self._testimony.get(author) != now:
                self._testimony[author] = now
                self._changed(decisions=True)

    def replace(self, heads: Vector) -> None:
        """Exactly these heads count: after a removal, those of its author may be lower."""
        if dict(heads) != self._heads:
            self._heads = dict(heads)
            self._changed(decisions=True)

    def stored(self, entries: Iterable[Entry]) -> None:
        """These entries, of any logs, are durable here."""
        newest: dict[Place, Entry] = {}
        for entry in entries:
            place = place_of(entry)
            if place not in newest or entry.header.seq > newest[place].header.seq:
                newest[place] = entry
        self.moved(
            {place: Head(seq=one.header.seq, hash=one.hash) for place, one in newest.items()}
        )

    def clear(self) -> None:
        """This node belongs to another fleet: nothing is held."""
        self._heads.clear()
        self._frozen.clear()
        self._testimony.clear()
        self._changed(decisions=True)

    def _changed(self, *, decisions: bool) -> None:
        self._digest = None
        self.moves += 1
        self.decisions += decisions
