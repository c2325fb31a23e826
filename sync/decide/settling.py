"""Which statements count, however the removals among them cut each other.

A statement counts when its author had the right as of what it knew. Once a removal is
known whose cut has something beyond it, all is judged again without that: one `_World` for
each set of such cuts (nearly always one, the empty one, where everything is judged once).
"""

from sync.decide.rights import Fleet, Joined, Removed, cut_of, joined_by
from sync.decide.statements import Ordered, Stated, Vector
from sync.decide.versions import Grant, Placed
from sync.log import facts as say
from sync.log.chain import EMPTY, Head
from sync.log.entry import sha256
from sync.log.kinds import Log

Cuts = frozenset[tuple[bytes, int, Vector]]
"""(node, the last number of its decisions log that counts, how much of each of its lanes its
removers knew), where some statement is beyond."""

NEAR = 3
"""Authors whose fleet is tried as the beginning of another's."""


class Settling:
    """Every statement, judged."""

    def __init__(self, ordered: Ordered, founder: bytes) -> None:
        self.ordered = ordered
        self.founder = founder
        self.grants: list[Grant | None] = []
        """As of what each author knew."""
        self.under: list[Cuts] = []
        """The cuts that each was judged under."""
        self._removals: list[tuple[int, bytes, int, Vector]] = []
        self._worlds: dict[Cuts, _World] = {}
        for place, one in enumerate(ordered.all):
            known = ordered.before[place]
            cuts = self._cuts(known)
            grant = self._world(cuts).fleet(known, one.author).judge(one)
            if grant is not None and isinstance(one.facts, say.RemovedFacts):
                grant = grant._replace(floor=self._floor(known, one.facts.node))
                self._note(place, one, one.facts, grant.floor)
            self.under.append(cuts)
            self.grants.append(grant)
        self._final = self._world(self._cuts(ordered.whole))
        self.fleet: Fleet = self._final.fleet(ordered.whole, b"")

    def counting(self) -> list[Placed]:
        """Return all statements that count, in their order."""
        return [
            Placed(place, one)
            for place, one in enumerate(self.ordered.all)
            if self._final.stands[place]
        ]

    def heads(self) -> tuple[bytes, ...]:
        """Return those that count and that no other that counts comes after."""
        ordered = self.ordered
        last = {ordered.lane[place]: place for place, _ in self.counting()}
        return tuple(
            sorted(
                ordered.all[place].hash
                for lane, place in last.items()
                if not any(
                    ordered.within(place, ordered.before[theirs])
                    for other, theirs in last.items()
                    if other != lane
                )
            )
        )

    def let_in(self) -> dict[bytes, Joined]:
        """Return all nodes that were ever let in, also by what no longer counts."""
        found: dict[bytes, Joined] = {}
        for place, one in enumerate(self.ordered.all):
            joined = joined_by(Placed(place, one))
            if joined is not None and self.grants[place] is not None:
                found.setdefault(sha256(joined.key), joined)
        return found

    def removal_behind(self, node: bytes, let_in: dict[bytes, Joined]) -> Removed | None:
        """Return the removal with which a node is out that was let in beyond a cut."""
        seen: set[bytes] = set()
        while node not in self.fleet.removed and node in let_in and node not in seen:
            seen.add(node)
            node = let_in[node].stated.author
        return self.fleet.removed.get(node)

    def _world(self, cuts: Cuts) -> "_World":
        world = self._worlds.get(cuts)
        if world is None:
            world = self._worlds[cuts] = _World(self, cuts)
        return world

    def _cuts(self, known: Vector) -> Cuts:
        """The cuts among these statements that something lies beyond."""
        lowest: dict[bytes, tuple[int, Vector]] = {}
        for place, node, seq, knew in self._removals:
            if self.ordered.within(place, known):
                end, least = lowest.get(node, (seq, knew))
                lowest[node] = min(end, seq), tuple(map(min, least, knew))
        return frozenset((node, *cut) for node, cut in lowest.items())

    def _floor(self, known: Vector, node: bytes) -> Head:
        """The last statement of a node that its remover knew."""
        ordered = self.ordered
        knew = [
            ordered.all[ordered.lanes[lane][known[lane] - 1]]
            for lane in ordered.authors.get(node, ())
            if known[lane]
        ]
        return max(
            (Head(seq=one.seq, hash=one.hash) for one in knew),
            key=lambda head: (head.seq, head.hash),
            default=EMPTY,
        )

    def _note(self, place: int, one: Stated, facts: say.RemovedFacts, floor: Head) -> None:
        ordered = self.ordered
        lanes = ordered.authors.get(facts.node, [])
        end = cut_of(facts, one, floor).get(Log.DECISIONS, EMPTY).seq
        knew = tuple(ordered.before[place][lane] for lane in lanes)
        said = [ordered.all[other] for lane in lanes for other in ordered.lanes[lane]]
        if any(other.seq > end or ordered.beyond(other) for other in said):
            self._removals.append((place, facts.node, end, knew))


class _World:
    """The statements as they stand under some cuts."""

    def __init__(self, settling: Settling, cuts: Cuts) -> None:
        self._settling = settling
        self._cuts = cuts
        self._last = {node: (end, knew) for node, end, knew in cuts}
        self.stands: list[bool] = []
        """By place, as far as anyone asked."""
        self._fleets: dict[bytes, tuple[Vector, Fleet]] = {}

    def fleet(self, known: Vector, author: bytes) -> Fleet:
        """Return the fleet after these statements. It is not to be changed."""
        ordered = self._settling.ordered
        end = max(ordered.last(known), default=-1)
        for place in range(len(self.stands), end + 1):
            self.stands.append(self._judge(place, ordered.all[place]))
        return self._fold(known, author)

    def _judge(self, place: int, one: Stated) -> bool:
        settling = self._settling
        if settling.grants[place] is None:
            return False
        if isinstance(one.facts, say.GenesisFacts | say.RemovedFacts):
            # A removal stands for good, even of those who removed each other.
            return True
        if self._is_cut(place, one):
            return False
        if settling.under[place] == self._cuts:
            return True
        return self._fold(settling.ordered.before[place], one.author).judge(one) is not None

    def _is_cut(self, place: int, one: Stated) -> bool:
        """Whether it lies beyond a cut: by its number or, beyond a fork, as nobody knew it.

        Numbers tell nothing there: what those who removed its author knew of it stays.
        """
        cut = self._last.get(one.author)
        if cut is None:
            return False
        end, knew = cut
        ordered = self._settling.ordered
        lane = ordered.lane[place]
        kept = knew[ordered.authors[one.author].index(lane)]
        hidden = ordered.beyond(one) and place not in ordered.lanes[lane][:kept]
        return one.seq > end or hidden

    def _fold(self, known: Vector, author: bytes) -> Fleet:
        """Add what is missing to the nearest fleet that was made before."""
        ordered = self._settling.ordered
        near = [author, *self._nearest(known)]
        held, fleet = (0,) * len(known), None
        for other in near:
            candidate = self._fleets.get(other)
            if (
                candidate is not None
                and sum(candidate[0]) > sum(held)
                and all(have <= want for have, want in zip(candidate[0], known, strict=True))
            ):
                held, fleet = candidate
        fleet = Fleet(self._settling.founder) if fleet is None else fleet.copy()
        for place in ordered.upto(known, held):
            grant = self._settling.grants[place]
            if self.stands[place] and grant is not None:
                fleet.apply(Placed(place, ordered.all[place]), grant, self._follows(grant))
        self._fleets[author] = (known, fleet)
        return fleet

    def _nearest(self, known: Vector) -> list[bytes]:
        """Who said the latest of these."""
        ordered = self._settling.ordered
        places = sorted(ordered.last(known), reverse=True)
        return [ordered.all[place].author for place in places[:NEAR]]

    def _follows(self, grant: Grant) -> list[int]:
        """The versions that end: where one does not stand, those that it had ended."""
        found: list[int] = []
        todo = list(grant.replaced)
        while todo:
            place = todo.pop()
            behind = self._settling.grants[place]
            if self.stands[place] or behind is None:
                found.append(place)
            else:
                todo += behind.replaced
        return found
