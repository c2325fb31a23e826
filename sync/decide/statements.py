"""Statements about the fleet, and the order that their `heads` give them.

Pure: hashes, authors and decoded facts come in, indices and vectors come out.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise

import msgspec

from sync.errors import BadEntry
from sync.limits import STATEMENTS_PER_AUTHOR
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
"""How many statements of each author, in the order of `Ordered.authors`."""


class Ordered(msgspec.Struct, frozen=True, kw_only=True):
    """Statements so that each comes after all that its author knew."""

    all: list[Stated]
    index: dict[bytes, int]
    """The place of each hash in `all`."""
    authors: dict[bytes, int]
    """The place of each author in a vector."""
    logs: list[list[int]]
    """Of each author, the places of its statements in `all`."""
    before: list[Vector]
    """What each statement's author knew: a statement and all before it, of each author."""
    pending: frozenset[bytes]
    """Statements that name some statement which is not here, and all that name those."""

    @property
    def whole(self) -> Vector:
        """The vector of all of them."""
        return tuple(len(log) for log in self.logs)

    def upto(self, vector: Vector, beyond: Vector | None = None) -> list[int]:
        """Return the places of all statements within `vector`, not within `beyond`."""
        starts = (0,) * len(vector) if beyond is None else beyond
        return sorted(
            place
            for log, start, end in zip(self.logs, starts, vector, strict=True)
            for place in log[start:end]
        )


Forked = Mapping[bytes, tuple[bytes, int]]
"""By hash, whose log forked at which number: the other side, which is never here."""
NOT_FORKED: Forked = {}


def order(statements: Iterable[Stated], forked: Forked = NOT_FORKED) -> Ordered:
    """Order statements by what they name; the same for whatever order they come in."""
    logs = _logs(statements)
    parents = _parents(logs, forked)
    depth = _depths(parents)
    by_hash = {one.hash: one for log in logs.values() for one in log}
    everything = [by_hash[one] for one in sorted(depth, key=lambda one: (depth[one], one))]
    authors = {author: place for place, author in enumerate(sorted(logs))}
    index = {one.hash: place for place, one in enumerate(everything)}
    ordered_logs: list[list[int]] = [[] for _ in authors]
    position: list[int] = []
    before: list[Vector] = []
    for place, one in enumerate(everything):
        vector = [0] * len(authors)
        for parent in parents[one.hash]:
            at = index[parent]
            theirs = before[at]
            vector = [max(pair) for pair in zip(vector, theirs, strict=True)]
            author = authors[everything[at].author]
            vector[author] = max(vector[author], position[at] + 1)
        before.append(tuple(vector))
        log = ordered_logs[authors[one.author]]
        position.append(len(log))
        log.append(place)
    return Ordered(
        all=everything,
        index=index,
        authors=authors,
        logs=ordered_logs,
        before=before,
        pending=frozenset(parents.keys() - depth.keys()),
    )


def _logs(statements: Iterable[Stated]) -> dict[bytes, list[Stated]]:
    """Each author's statements in their order, without repetitions."""
    logs: dict[bytes, list[Stated]] = {}
    for one in {one.hash: one for one in statements}.values():
        logs.setdefault(one.author, []).append(one)
    for log in logs.values():
        log.sort(key=lambda one: (one.seq, one.hash))
        del log[STATEMENTS_PER_AUTHOR:]
    return logs


def _parents(logs: Mapping[bytes, list[Stated]], forked: Forked) -> dict[bytes, frozenset[bytes]]:
    """What each statement comes after: the heads it names, and its own log's last one.

    For the other side of a fork stands what came before the fork: it would be waited for
    without end.
    """
    here = {one.hash for log in logs.values() for one in log}
    instead: dict[bytes, frozenset[bytes]] = {}
    for one, (author, seq) in forked.items():
        if one not in here:
            before = [other.hash for other in logs.get(author, ()) if other.seq < seq]
            instead[one] = frozenset(before[-1:])
    parents: dict[bytes, frozenset[bytes]] = {}
    for log in logs.values():
        for said in log:
            named = (instead.get(head, {head}) for head in said.facts.heads)
            parents[said.hash] = frozenset[bytes]().union(*named) - {said.hash}
    for log in logs.values():
        for earlier, later in pairwise(log):
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
