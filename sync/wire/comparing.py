"""What each side of a link tells the other that it holds.

That nothing stays missing rests on this alone: vectors are compared when a link opens and
every half minute, and what moved here by another link is told within a second.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

from sync.limits import BLOBS_WANTED, HAVE_MS, PLACES
from sync.log.chain import EMPTY, Head
from sync.log.fork import Evidence
from sync.log.kinds import Log
from sync.log.vector import Place, Vector
from sync.wire import frames
from sync.wire.actions import Action, Convict, FindBlobs, Recount, Send
from sync.wire.conduct import EARLIER, VECTORS, Conduct, Misconduct, known
from sync.wire.held import Held
from sync.wire.pulling import Pulling
from sync.wire.testifying import Testifying

Said = frames.Have | frames.Proofs | frames.Testified | frames.Testimony
"""What a peer says of its store as a whole."""


class Sight(Enum):
    """How far a peer has the logs of this very node."""

    UNTOLD = "untold"
    """It has not said, or has less, or another history."""
    SAME = "same"
    """It knows our last entries, and they are those we have."""
    AHEAD = "ahead"
    """It has more of them than we have: our store is an old copy."""


class Comparing:
    """One link's vectors. `theirs` is what the peer says it holds; the session shares it."""

    def __init__(
        self,
        theirs: dict[Place, Head],
        held: Held,
        pulling: Pulling,
        conduct: Conduct,
        chance: Callable[[], float],
        *,
        testifying: Testifying,
    ) -> None:
        self._theirs = theirs
        self._held = held
        self._pulling = pulling
        self._conduct = conduct
        self._chance = chance
        self._testifying = testifying
        self._greeting: Vector = {}
        self._greeting_digest = b""
        self._moves_told = -1
        self._forks_told: dict[Place, int] = {}
        """Forks that were proved to the peer since the link opened."""
        self._compared = (b"", b"")
        """Digests of both that were found to differ last; nothing is new while they stay."""
        self._have_at = 0
        self._whole = False
        """Whether the peer has told all that it holds."""

    def greet(self) -> bytes:
        """Return the digest for HELLO; both sides compare these two and no later ones."""
        self._greeting = dict(self._held.heads)
        self._greeting_digest = self._held.digest
        self._testifying.greet()
        return self._greeting_digest

    def opened(self, digest: bytes, now: int) -> list[Action]:
        """The peer's HELLO came with this digest."""
        self._plan(now)
        if digest != self._greeting_digest:
            return self._all()
        # Both hold the same: neither needs to say what.
        self._agree(self._greeting)
        self._testifying.agree(greeting=True)
        return []

    def took(self, frame: Said, fleet: bytes, now: int) -> list[Action]:
        """The peer says what it holds, and of forks. Raises `Misconduct`."""
        match frame:
            case frames.Have():
                return self._told(frame, now)
            case frames.Proofs():
                return self._proved(frame.evidence, fleet, now)
            case _:
                return self._testifying.took(frame, now)

    def sight(self, node: bytes) -> Sight:
        """How far the peer has the logs of `node`, against how far they are held here."""
        if not self._whole:
            return Sight.UNTOLD
        places = [(node, log.value) for log in Log]
        heads = [(self._theirs.get(one, EMPTY), self._held.head(one)) for one in places]
        if any(theirs.seq > ours.seq for theirs, ours in heads):
            return Sight.AHEAD
        return Sight.SAME if all(theirs == ours for theirs, ours in heads) else Sight.UNTOLD

    def tick(self, now: int) -> list[Action]:
        """Tell what moved here and the peer does not know of; at times, compare everything."""
        if now >= self._have_at:
            self._plan(now)
            # The store is asked, so that nothing that was missed stays missed.
            return [Recount(), FindBlobs(limit=BLOBS_WANTED), self._have(())]
        if self._held.moves == self._moves_told:
            return []
        self._moves_told = self._held.moves
        forked = self._unproved()
        news = [
            place
            for place, head in self._held.heads.items()
            if head.seq > self._knows(place) or place in forked
        ]
        return [*self._prove(forked), *([self._have(news)] if news else [])]

    def _unproved(self) -> set[Place]:
        """Logs of which the peer was not told that they forked, or that they did so early."""
        told = self._forks_told
        return {
            place for place, one in self._held.frozen.items() if told.get(place, 1 << 64) > one.seq
        }

    def _prove(self, places: Iterable[Place]) -> list[Action]:
        """Send what proves these forks."""
        frozen = self._held.frozen
        evidence = [frozen[place].evidence for place in sorted(places)]
        self._forks_told |= {one.place: one.seq for one in evidence}
        return [Send(frame=frames.encode(frame)) for frame in frames.proofs(evidence)]

    def _proved(self, evidence: Sequence[Evidence], fleet: bytes, now: int) -> list[Action]:
        """Have the store look at what is not known here."""
        news = tuple([one for one in evidence if self._held.counts(one.place, one.seq)])
        if any(one.fleet != fleet for one in news):
            raise Misconduct("It sends evidence of another fleet.")
        if any(one.place in self._held.frozen for one in news):
            self._conduct.count(EARLIER, now)
        return [Convict(evidence=news)] if news else []

    def _told(self, have: frames.Have, now: int) -> list[Action]:
        ours = self._held.digest
        if have.whole:
            self._whole = True
            self._theirs.clear()
        self._know({(row.author, row.log): Head(seq=row.seq, hash=row.hash) for row in have.heads})
        actions: list[Action] = []
        if have.digest == ours:
            self._theirs.clear()
            self._agree(self._held.heads)
            self._testifying.agree()
        elif have.ask:
            self._conduct.count(VECTORS, now)
            actions += self._all()
        elif not have.whole and not have.heads and self._compared != (ours, have.digest):
            self._compared = (ours, have.digest)
            self._conduct.count(VECTORS, now)
            actions += self._all(ask=True)
        return actions + self._pulling.wants(now)

    def _plan(self, now: int) -> None:
        self._have_at = now + int(HAVE_MS * (0.5 + self._chance()))

    def _knows(self, place: Place) -> int:
        """Return how far the peer has a log, or knows that we have it."""
        return max(self._pulling.told.get(place, 0), self._theirs.get(place, EMPTY).seq)

    def _know(self, vector: Vector) -> None:
        for place, head in vector.items():
            known(self._theirs, place, head, limit=PLACES)

    def _agree(self, vector: Vector) -> None:
        """Both sides hold this."""
        self._whole = True
        self._know(vector)
        for place, head in vector.items():
            self._pulling.told[place] = max(self._pulling.told.get(place, 0), head.seq)

    def _all(self, *, ask: bool = False) -> list[Action]:
        """Tell everything. The proofs of forks go first: what lies beyond is not asked for."""
        self._moves_told = self._held.moves
        return [
            *self._prove(self._held.frozen),
            *self._testifying.tell(),
            self._have(self._held.heads, whole=True, ask=ask),
        ]

    def _have(self, places: Iterable[Place], *, whole: bool = False, ask: bool = False) -> Send:
        rows = [self._pulling.row(place) for place in places][:PLACES]
        have = frames.Have(digest=self._held.digest, heads=rows, whole=whole, ask=ask)
        return Send(frame=frames.encode(have))
