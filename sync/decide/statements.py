"""Statements about the fleet, and the order that their `heads` give them.

Pure: hashes, authors and decoded facts come in, indices and vectors come out.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise

import msgspec

from sync.errors import BadEntry
from sync.limits import BEYOND_FORK, STATEMENTS_PER_AUTHOR
from sync.log.facts import FACTS, Statement, read
from sync.log.kinds import STATEMENTS, EntryType

TIME_MAX = 2**63
"""Stores keep times as signed 64-bit numbers."""


class Stated(msgspec.Struct, frozen=True, kw_only=True):
    """One signed statement. Its signature was checked before."""

    hash: bytes
    author: bytes
    """Node id of who signed it."""
    seq: int
    """Its number in the author's decisions log."""
    type: int
    facts: Statement
    fleet: bytes = b""
    """Whose log it stands in."""


def stated(
    *, hash: bytes, author: bytes, seq: int, type: int, facts: bytes, fleet: bytes = b""
) -> Stated | None:
    """Decode a stored entry; None for what this askmesh cannot read as a statement."""
    if type not in STATEMENTS:
        return None
    try:
        said = read(FACTS[EntryType(type)], facts)
    except BadEntry:
        return None
    if not isinstance(said, Statement) or not 0 <= said.at < TIME_MAX:
        return None
    return Stated(hash=hash, author=author, seq=seq, type=type, facts=said, fleet=fleet)


Vector = tuple[int, ...]
"""How many statements of each lane, in the order of `Ordered.lanes`."""


class Ordered(msgspec.Struct, frozen=True, kw_only=True):
    """Statements so that each comes after all that its author knew."""

    all: list[Stated]
    index: dict[bytes, int]
    """The place of each hash in `all`."""
    lanes: list[list[int]]
    """Places in `all`, each coming after those before it: one lane for each author, several
    for one whose log forked."""
    lane: list[int]
    """The lane of each statement."""
    authors: dict[bytes, list[int]]
    """The lanes of each author."""
    before: list[Vector]
    """What each statement's author knew: a statement and all before it, of each lane."""
    forks: dict[bytes, int]
    """By author, the first number that is disputed."""
    full: bool
    """Whether more may have been said beyond some fork than is kept."""
    pending: frozenset[bytes]
    """Statements that name some statement which is not here, and all that name those."""

    @property
    def whole(self) -> Vector:
        """The vector of all of them."""
        return tuple(len(lane) for lane in self.lanes)

    def last(self, vector: Vector) -> list[int]:
        """Return the place of the last statement within `vector` of each lane that has one."""
        return [lane[count - 1] for lane, count in zip(self.lanes, vector, strict=True) if count]

    def within(self, place: int, vector: Vector) -> bool:
        """Whether a statement is one of these."""
        lane = self.lane[place]
        count = vector[lane]
        return count > 0 and place <= self.lanes[lane][count - 1]

    def beyond(self, one: Stated) -> bool:
        """Whether a statement stands beyond the fork of its log."""
        return _beyond(one, self.forks.get(one.author))

    def upto(self, vector: Vector, beyond: Vector | None = None) -> list[int]:
        """Return the places of all statements within `vector`, not within `beyond`."""
        starts = (0,) * len(vector) if beyond is None else beyond
        return sorted(
            place
            for lane, start, end in zip(self.lanes, starts, vector, strict=True)
            for place in lane[start:end]
        )


Forked = Mapping[bytes, tuple[bytes, int]]
"""By hash, whose log forked at which number: both sides of each, which may not be here."""
NOT_FORKED: Forked = {}


def rank(type: int, seq: int, hash: bytes) -> tuple[bool, int, bytes]:
    """Return what decides which statements beyond a fork are kept: the lowest.

    Removals go before all others, so that no flood of those takes a removal back.
    """
    return type != EntryType.REMOVED, seq, hash


def order(
    statements: Iterable[Stated], forked: Forked = NOT_FORKED, *, full: bool = False
) -> Ordered:
    """Order statements by what they name; the same for whatever order they come in.

    `full`: these are some of which more may have been said than is kept.
    """
    forks: dict[bytes, int] = {}
    for author, seq in forked.values():
        forks[author] = min(seq, forks.get(author, seq))
    logs = _logs(statements, forks)
    full = full or _full(logs, forks)
    parents = _parents(logs, forked, forks, full=full)
    depth = _depths(parents)
    by_hash = {one.hash: one for log in logs.values() for one in log}
    everything = [by_hash[one] for one in sorted(depth, key=lambda one: (depth[one], one))]
    index = {one.hash: place for place, one in enumerate(everything)}
    lanes = _Lanes()
    for one in everything:
        lanes.add(one.author, [index[parent] for parent in parents[one.hash]])
    return Ordered(
        all=everything,
        index=index,
        lanes=lanes.lanes,
        lane=lanes.lane,
        authors=lanes.authors,
        before=lanes.vectors(),
        forks=forks,
        full=full,
        pending=frozenset(parents.keys() - depth.keys()),
    )


class _Lanes:
    """Statements laid into lanes, in the settled order."""

    def __init__(self) -> None:
        self.lanes: list[list[int]] = []
        self.lane: list[int] = []
        self.authors: dict[bytes, list[int]] = {}
        self._position: list[int] = []
        self._before: list[list[int]] = []

    def add(self, author: bytes, parents: Iterable[int]) -> None:
        """Lay the next one, which comes after these."""
        vector = [0] * len(self.lanes)
        for at in parents:
            theirs = self._before[at]
            vector[: len(theirs)] = map(max, theirs, vector)
            lane = self.lane[at]
            vector[lane] = max(vector[lane], self._position[at] + 1)
        own = self.authors.setdefault(author, [])
        # It goes on a lane of which it knows all.
        free = (lane for lane in own if vector[lane] == len(self.lanes[lane]))
        mine = next(free, len(self.lanes))
        if mine == len(self.lanes):
            self.lanes.append([])
            own.append(mine)
        self._before.append(vector)
        self._position.append(len(self.lanes[mine]))
        self.lanes[mine].append(len(self.lane))
        self.lane.append(mine)

    def vectors(self) -> list[Vector]:
        """Return what comes before each."""
        width = len(self.lanes)
        return [(*vector, *(0,) * (width - len(vector))) for vector in self._before]


def _beyond(one: Stated, fork: int | None) -> bool:
    # Which genesis began the fleet was settled when this node was let in.
    return fork is not None and one.seq >= fork and one.type != EntryType.GENESIS


def _logs(statements: Iterable[Stated], forks: Mapping[bytes, int]) -> dict[bytes, list[Stated]]:
    """Each author's statements in their order, without repetitions."""
    logs: dict[bytes, list[Stated]] = {}
    for one in {one.hash: one for one in statements}.values():
        logs.setdefault(one.author, []).append(one)
    for author, log in logs.items():
        fork = forks.get(author)
        if fork is not None:
            beyond = [one for one in log if _beyond(one, fork)]
            beyond.sort(key=lambda one: rank(one.type, one.seq, one.hash))
            log[:] = [*(one for one in log if not _beyond(one, fork)), *beyond[:BEYOND_FORK]]
        log.sort(key=lambda one: (one.seq, one.hash))
        del log[STATEMENTS_PER_AUTHOR:]
    return logs


def _full(logs: Mapping[bytes, list[Stated]], forks: Mapping[bytes, int]) -> bool:
    return any(
        sum(_beyond(one, fork) for one in logs.get(author, ())) >= BEYOND_FORK
        for author, fork in forks.items()
    )


def _parents(
    logs: Mapping[bytes, list[Stated]],
    forked: Forked,
    forks: Mapping[bytes, int],
    *,
    full: bool,
) -> dict[bytes, frozenset[bytes]]:
    """What each statement comes after: the heads it names, and its own log's last one.

    Beyond a fork that is the last one before it: what was said there follows only what it
    names. For a side of a fork that is not here stands what came before the fork, and
    nothing for what is not here where more was said beyond a fork than is kept: both would
    be waited for without end.
    """
    here = {one.hash for log in logs.values() for one in log}
    trunks = {
        author: [one for one in log if not _beyond(one, forks.get(author))]
        for author, log in logs.items()
    }
    instead: dict[bytes, frozenset[bytes]] = {}
    for one, (author, seq) in forked.items():
        if one not in here:
            before = [other.hash for other in trunks.get(author, ()) if other.seq < seq]
            instead[one] = frozenset(before[-1:])
    nothing = frozenset[bytes]()
    parents: dict[bytes, frozenset[bytes]] = {}
    for author, log in logs.items():
        trunk = trunks[author]
        before_fork = {one.hash for one in trunk[-1:]}
        for said in log:
            named = (
                nothing if full and head not in here else instead.get(head, {head})
                for head in said.facts.heads
            )
            parents[said.hash] = nothing.union(*named) - {said.hash}
            if _beyond(said, forks.get(author)):
                parents[said.hash] |= before_fork
        for earlier, later in pairwise(trunk):
            parents[later.hash] |= {earlier.hash}
    return parents


def _depths(parents: Mapping[bytes, frozenset[bytes]]) -> dict[bytes, int]:
    """The longest way back from each statement; those that wait are left out."""
    children: dict[bytes, list[bytes]] = {}
    waits = {one: len(named) for one, named in parents.items()}
    for one, named in parents.items():
        for parent in named:
            children.setdefault(parent, []).append(one)
    depth = {one: 0 for one, count in waits.items() if count == 0}
    ready = list(depth)
    while ready:
        one = ready.pop()
        for child in children.get(one, ()):
            waits[child] -= 1
            depth[child] = max(depth.get(child, 0), depth[one] + 1)
            if waits[child] == 0:
                ready.append(child)
    return {one: deep for one, deep in depth.items() if waits[one] == 0}
