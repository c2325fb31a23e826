"""Who may state what, and what each statement changes (DESIGN §3).

`Fleet` is the fleet after some statements that count; `Fleet.judge` says whether one more,
made by someone who knew exactly those, counts as well.
"""

from collections.abc import Iterable
from typing import NamedTuple

from sync.decide.people import MAY, RANK, Act, Role
from sync.decide.statements import TIME_MAX, Stated
from sync.log import facts as say
from sync.log.chain import Head
from sync.log.entry import sha256
from sync.log.kinds import Log

KEY_BYTES = 32
"""Of a raw Ed25519 public key."""


class Held(NamedTuple):
    """A version in force, and the rank of who stated it."""

    place: int
    stated: Stated
    rank: int


Heads = tuple[Held, ...]
Version = say.PersonFacts | say.SpeaksForFacts | say.RulesFacts


class Grant(NamedTuple):
    """That a statement counts as of what its author knew."""

    rank: int
    replaced: tuple[int, ...] = ()
    """Places of the versions it follows."""
    floor: Head = Head()
    """Of a removal: the last statement of the removed node that its author knew."""
    effective: bool = True
    """False: it only names whose machine it is; the person still has to agree."""


class Placed(NamedTuple):
    """A statement and its place among all."""

    place: int
    stated: Stated


class Joined(NamedTuple):
    """A node as the statement at `place` let it in."""

    place: int
    stated: Stated
    key: bytes
    certificate: bytes
    machine: str
    recovery_key: bytes | None = None


class Removed(NamedTuple):
    """A node as it was removed: by the first removal, and the lowest cut of all."""

    place: int
    at: int
    by: str | None
    on: bytes
    cut: dict[int, Head]


def joined_by(placed: Placed) -> Joined | None:
    """Return the node that this statement lets in; None for other statements."""
    place, one = placed
    facts = one.facts
    if isinstance(facts, say.GenesisFacts):
        key, recovery = facts.node_key, facts.recovery_key
        return Joined(place, one, key, facts.certificate, facts.machine, recovery)
    if isinstance(facts, say.MemberFacts):
        return Joined(place, one, facts.node_key, facts.certificate, facts.machine)
    return None


def role_of(word: str) -> Role:
    """Return a role; one that only a newer askmesh knows may see and nothing else."""
    return next((role for role in Role if role.value == word), Role.VIEWER)


def strictest(heads: Heads) -> tuple[str, bool]:
    """Return the lowest role of the versions in force, and whether one ends the person."""
    versions = [held.stated.facts for held in heads]
    persons = [facts for facts in versions if isinstance(facts, say.PersonFacts)]
    words = sorted((facts.role for facts in persons), key=lambda word: (RANK[role_of(word)], word))
    return words[0], any(facts.ended for facts in persons)


class Fleet:
    """What some statements add up to. The same for every order that respects `heads`."""

    def __init__(self, founder: bytes) -> None:
        self.founder = founder
        self.nodes: dict[bytes, Joined] = {}
        """Each node with the first statement that let it in."""
        self.certificates: dict[bytes, bytes] = {}
        """What nodes last said of their own."""
        self.removed: dict[bytes, Removed] = {}
        self.persons: dict[str, Heads] = {}
        self.speaks_for: dict[tuple[bytes, str], Heads] = {}
        self.named: dict[tuple[bytes, str], frozenset[int]] = {}
        """Where an owner has said whose machine it is, and the person must agree."""
        self.rules: Heads = ()

    def copy(self) -> "Fleet":
        """Return one that changes alone."""
        other = Fleet(self.founder)
        other.nodes = dict(self.nodes)
        other.certificates = dict(self.certificates)
        other.removed = dict(self.removed)
        other.persons = dict(self.persons)
        other.speaks_for = dict(self.speaks_for)
        other.named = dict(self.named)
        other.rules = self.rules
        return other

    # --- what stands ------------------------------------------------------------------

    def member(self, node: bytes) -> bool:
        """Whether this node is in the fleet."""
        return node in self.nodes and node not in self.removed

    def speaks(self, node: bytes, person: str) -> bool:
        """Whether a node may sign for a person: all versions in force say so."""
        heads = self.speaks_for.get((node, person), ())
        return self.member(node) and bool(heads) and all(_on(held) for held in heads)

    def role(self, person: str) -> Role | None:
        """Return what a person is by the strictest version; None: nobody, or ended."""
        heads = self.persons.get(person)
        if heads is None:
            return None
        word, ended = strictest(heads)
        return None if ended else role_of(word)

    # --- judging ----------------------------------------------------------------------

    def judge(self, one: Stated) -> Grant | None:
        """Say whether a statement counts, made by who knew this; None: it does not."""
        facts = one.facts
        grant: Grant | None = None
        if isinstance(facts, say.GenesisFacts):
            grant = self._genesis(one, facts)
        elif not self.member(one.author):
            grant = None
        elif isinstance(facts, say.MemberFacts):
            grant = self._member(one, facts)
        elif isinstance(facts, say.CertificateFacts):
            grant = Grant(RANK[Role.VIEWER]) if facts.certificate else None
        elif isinstance(facts, say.RemovedFacts):
            grant = self._remove(one, facts)
        elif isinstance(facts, say.PersonFacts):
            grant = self._person(one, facts)
        elif isinstance(facts, say.SpeaksForFacts):
            grant = self._speaks_for(one, facts)
        elif isinstance(facts, say.RulesFacts):
            role = self._may(one, facts.by, Act.RULES)
            grant = None if role is None else _version(self.rules, facts, role)
        return grant

    def _may(self, one: Stated, person: str | None, act: Act) -> Role | None:
        """The role by which `person` may do this from the author's node."""
        role = None if person is None else self.role(person)
        if role is None or person is None or act not in MAY[role]:
            return None
        return role if self.speaks(one.author, person) else None

    def _genesis(self, one: Stated, facts: say.GenesisFacts) -> Grant | None:
        first = not self.nodes and one.author == self.founder and one.seq == 1
        return Grant(RANK[Role.OWNER]) if first and _is_key(facts.node_key, one.author) else None

    def _member(self, one: Stated, facts: say.MemberFacts) -> Grant | None:
        role = self._may(one, facts.by, Act.MACHINES)
        # A removed key never comes back: who returns makes a new one.
        removed = sha256(facts.node_key) in self.removed
        if role is None or removed or len(facts.node_key) != KEY_BYTES:
            return None
        return Grant(RANK[role])

    def _remove(self, one: Stated, facts: say.RemovedFacts) -> Grant | None:
        if facts.node == one.author:
            return Grant(RANK[Role.VIEWER])
        role = self._may(one, facts.by, Act.MACHINES)
        if role is None or facts.node not in self.nodes:
            return None
        if role is not Role.OWNER and self._of_an_owner(facts.node):
            return None
        return Grant(RANK[role])

    def _of_an_owner(self, node: bytes) -> bool:
        """Whether a node is an owner's: an admin must not lock owners out."""
        return any(
            where == node and self.role(whose) is Role.OWNER and self.speaks(node, whose)
            for where, whose in self.speaks_for
        )

    def _person(self, one: Stated, facts: say.PersonFacts) -> Grant | None:
        if facts.by is None:
            first = one.author == self.founder and not self.persons and not facts.ended
            return Grant(RANK[Role.OWNER]) if first else None
        role = self._may(one, facts.by, Act.ANSWER)
        heads = self.persons.get(facts.person, ())
        if role is Role.OWNER or (role is Role.ADMIN and _invites(heads, facts)):
            return _version(heads, facts, role)
        return None

    def _speaks_for(self, one: Stated, facts: say.SpeaksForFacts) -> Grant | None:
        if facts.node not in self.nodes or facts.person not in self.persons:
            return None
        if facts.by is None:
            first = facts.node == one.author == self.founder and facts.on and not self.speaks_for
            return Grant(RANK[Role.OWNER]) if first else None
        role = self._may(one, facts.by, Act.SEE)
        own = facts.by == facts.person
        if role is None or not (own or role is Role.OWNER):
            return None
        key = (facts.node, facts.person)
        grant = _version(self.speaks_for.get(key, ()), facts, role)
        named = self.named.get(key, frozenset())
        if not facts.on:
            return grant._replace(replaced=(*grant.replaced, *named))
        if not self.member(facts.node) or self.role(facts.person) is None:
            return None
        if own:
            return grant if named or Act.MACHINES in MAY[role] else None
        return grant._replace(effective=not self._has_node(facts.person))

    def _has_node(self, person: str) -> bool:
        return any(whose == person and self.speaks(node, person) for node, whose in self.speaks_for)

    # --- applying ---------------------------------------------------------------------

    def apply(self, placed: Placed, grant: Grant, follows: Iterable[int]) -> None:
        """Change what a statement that counts changes; `follows`: versions it ends."""
        facts, author = placed.stated.facts, placed.stated.author
        held, over = Held(*placed, grant.rank), frozenset(follows)
        joined = joined_by(placed)
        if joined is not None:
            node = sha256(joined.key)
            self.nodes[node] = min(joined, self.nodes.get(node, joined), key=_place)
        elif isinstance(facts, say.CertificateFacts):
            self.certificates[author] = facts.certificate
        elif isinstance(facts, say.RemovedFacts):
            self._cut(placed, facts, grant.floor)
        elif isinstance(facts, say.PersonFacts):
            self.persons[facts.person] = _with(self.persons.get(facts.person, ()), held, over)
        elif isinstance(facts, say.RulesFacts):
            self.rules = _with(self.rules, held, over)
        elif isinstance(facts, say.SpeaksForFacts):
            key = (facts.node, facts.person)
            named = self.named.get(key, frozenset()) - over
            if grant.effective:
                self.speaks_for[key] = _with(self.speaks_for.get(key, ()), held, over)
            else:
                named |= {placed.place}
            self.named[key] = named

    def _cut(self, placed: Placed, facts: say.RemovedFacts, floor: Head) -> None:
        cut = cut_of(facts, placed.stated, floor)
        removed = Removed(placed.place, facts.at, facts.by, placed.stated.author, cut)
        before = self.removed.get(facts.node)
        if before is not None:
            logs = before.cut.keys() & cut.keys()
            lowest = {log: min(before.cut[log], cut[log], key=_by_place) for log in logs}
            removed = min(removed, before, key=_place)._replace(cut=lowest)
        self.removed[facts.node] = removed


def cut_of(facts: say.RemovedFacts, one: Stated, floor: Head) -> dict[int, Head]:
    """Return where the logs of a removed node end; a log that is missing counts nowhere.

    What the remover knew of the decisions as statements stays (`floor`): a cut below it
    would take back what everyone has acted on, down to who the remover is.
    """
    cut: dict[int, Head] = {}
    for point in facts.cut:
        if point.log in (Log.DECISIONS, Log.CHATTER) and 0 < point.seq < TIME_MAX:
            head = Head(seq=point.seq, hash=point.hash)
            cut[point.log] = min(cut.get(point.log, head), head, key=_by_place)
    if facts.node == one.author:
        cut[Log.DECISIONS] = Head(seq=one.seq, hash=one.hash)
    elif cut.get(Log.DECISIONS, Head()).seq < floor.seq:
        cut[Log.DECISIONS] = floor
    return cut


def _place(placed: Joined | Removed) -> int:
    return placed.place


def _by_place(head: Head) -> tuple[int, bytes]:
    return head.seq, head.hash


def _on(held: Held) -> bool:
    return isinstance(held.stated.facts, say.SpeaksForFacts) and held.stated.facts.on


def _is_key(key: bytes, node: bytes) -> bool:
    return len(key) == KEY_BYTES and sha256(key) == node


def _invites(heads: Heads, facts: say.PersonFacts) -> bool:
    """Whether this is what an admin may do: make members and viewers."""
    low = {Role.MEMBER.value, Role.VIEWER.value}
    standing = all(
        isinstance(held.stated.facts, say.PersonFacts)
        and held.stated.facts.role in low
        and not held.stated.facts.ended
        for held in heads
    )
    return standing and facts.role in low and not facts.ended


def _version(heads: Heads, facts: Version, role: Role) -> Grant:
    """Grant a new version, and say which it follows.

    Where siblings stand, only a class at least as high as its author's ends one.
    """
    named = {facts.replaces, *facts.also}
    rank = RANK[role]
    replaced = [
        held.place
        for held in heads
        if held.stated.hash in named and (len(heads) == 1 or held.rank <= rank)
    ]
    return Grant(rank, tuple(replaced))


def _with(heads: Heads, held: Held, over: frozenset[int]) -> Heads:
    kept = (other for other in heads if other.place not in over)
    return tuple(sorted((*kept, held), key=lambda one: one.place))
