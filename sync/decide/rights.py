"""Who may state what, and what each statement changes (DESIGN §3).

`Fleet` is the fleet after some statements that count; `Fleet.judge` says whether one more,
made by someone who knew exactly those, counts as well.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from sync.decide.people import MAY, RANK, Act, Role
from sync.decide.standings import Standings
from sync.decide.statements import TIME_MAX, Stated
from sync.decide.takings import Takings
from sync.decide.versions import (
    Grant,
    Heads,
    Held,
    Placed,
    invites,
    is_on,
    role_of,
    strictest,
    version,
    with_one,
)
from sync.log import facts as say
from sync.log.chain import Head
from sync.log.entry import sha256
from sync.log.kinds import Log

KEY_BYTES = 32
"""Of a raw Ed25519 public key."""


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
        self.named: dict[tuple[bytes, str], Heads] = {}
        """Where an owner has said whose machine it is, and the person must agree."""
        self.given: dict[str, dict[int, frozenset[int]]] = {}
        """By person, each word that gave them a machine, with those its author knew."""
        self.takings = Takings()
        self.rules: Heads = ()
        self.standings = Standings()

    def copy(self) -> "Fleet":
        """Return one that changes alone."""
        other = Fleet(self.founder)
        other.nodes = dict(self.nodes)
        other.certificates = dict(self.certificates)
        other.removed = dict(self.removed)
        other.persons = dict(self.persons)
        other.speaks_for = dict(self.speaks_for)
        other.named = dict(self.named)
        other.given = dict(self.given)
        other.takings = self.takings
        other.rules = self.rules
        other.standings = self.standings.copy()
        return other

    # --- what stands ------------------------------------------------------------------

    def member(self, node: bytes) -> bool:
        """Whether this node is in the fleet."""
        return node in self.nodes and node not in self.removed

    def speaks(self, node: bytes, person: str) -> bool:
        """Whether a node may sign for a person: all versions in force say so."""
        heads = self.speaks_for.get((node, person), ())
        return (
            self.member(node)
            and bool(heads)
            and all(is_on(held) for held in heads)
            and not self.contested(node, person)
        )

    def contested(self, node: bytes, person: str) -> bool:
        """Whether a first word for this pair crossed another word on machines of the person.

        Else an owner who claims not to know of the person's machine could give them one
        without their consent.
        """
        given = self.given.get(person, {})
        return any(
            held.first
            and any(
                other != held.place
                and other not in given.get(held.place, ())
                and held.place not in knew
                for other, knew in given.items()
            )
            for held in self.speaks_for.get((node, person), ())
        )

    def waiting(self, node: bytes, person: str) -> Heads:
        """Return the words of owners that this machine is theirs, which await their consent."""
        live = self.member(node) and self.role(person) is not None
        return self.named.get((node, person), ()) if live and not self.speaks(node, person) else ()

    def role(self, person: str) -> Role | None:
        """Return what a person is by the strictest version; None: nobody, or ended."""
        role = self._stated_role(person)
        return Role.OWNER if role is not Role.OWNER and self.kept(person) else role

    def kept(self, person: str) -> bool:
        """Whether they stay an owner because what took that from all crossed (`Takings`)."""
        last = self.takings.last()
        if person not in last or self._acting(self._stated_role):
            return False
        return any(self.speaks(node, whose) for node, whose in self.speaks_for if whose == person)

    def owners(self) -> frozenset[str]:
        """Return the owners for whom some machine speaks: who can act as such."""
        return self._acting(self.role)

    def _stated_role(self, person: str) -> Role | None:
        heads = self.persons.get(person)
        if heads is None:
            return None
        word, ended = strictest(heads)
        return None if ended else role_of(word)

    def _acting(self, role: Callable[[str], Role | None]) -> frozenset[str]:
        return frozenset(
            person
            for node, person in self.speaks_for
            if role(person) is Role.OWNER and self.speaks(node, person)
        )

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
        elif isinstance(facts, say.ConsentFacts):
            grant = self._consent(one, facts)
        elif isinstance(facts, say.RulesFacts):
            role = self._may(one, facts.by, Act.RULES)
            grant = None if role is None else version(self.rules, facts, role)
        else:
            grant = self._standing(one, facts)
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
            return None if self._owners_only_here(facts.node) else Grant(RANK[Role.VIEWER])
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
        if role is Role.OWNER or (role is Role.ADMIN and invites(heads, facts)):
            gone = facts.ended or role_of(facts.role) is not Role.OWNER
            takes = gone and self.role(facts.person) is Role.OWNER
            if takes and self.owners() == {facts.person}:
                return None
            grant = version(heads, facts, role)
            return grant._replace(takes=takes, knew=self.takings.places())
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
        grant = version(self.speaks_for.get(key, ()), facts, role)
        named = self.named.get(key, ())
        if not facts.on:
            if self._last_of_the_owners(facts.node, facts.person):
                return None
            return grant._replace(replaced=(*grant.replaced, *(held.place for held in named)))
        if not self.member(facts.node) or self.role(facts.person) is None:
            return None
        grant = grant._replace(knew=frozenset(self.given.get(facts.person, ())))
        if own:
            # Said from a node that speaks for them, so it is their consent as well.
            return grant if named or Act.MACHINES in MAY[role] else None
        first = not self._has_node(facts.person)
        return grant._replace(effective=first, first=first)

    def _consent(self, one: Stated, facts: say.ConsentFacts) -> Grant | None:
        role = self._may(one, facts.person, Act.SEE)
        key = (facts.node, facts.person)
        named = any(held.stated.hash == facts.named for held in self.named.get(key, ()))
        if role is None or not named or not self.member(facts.node):
            return None
        heads, rank = self.speaks_for.get(key, ()), RANK[role]
        over = [held.place for held in heads if len(heads) == 1 or held.rank <= rank]
        return Grant(rank, tuple(over), knew=frozenset(self.given.get(facts.person, ())))

    def _standing(self, one: Stated, facts: say.Statement) -> Grant | None:
        if isinstance(facts, say.OperatorFacts):
            role = self._may(one, facts.by, Act.STANDING)
            return self.standings.judge_operator(facts, role)
        if not isinstance(facts, say.StandingFacts):
            return None
        if facts.operator is not None:
            return self.standings.judge_word(one, facts)
        role = self._may(one, facts.by, Act.STANDING)
        return self.standings.judge_owner(facts, role) if facts.person in self.persons else None

    def _last_of_the_owners(self, node: bytes, person: str) -> bool:
        """Whether this is the only machine of the only owner who has one."""
        return (
            self.owners() == {person}
            and self.speaks(node, person)
            and not any(
                self.speaks(other, whose)
                for other, whose in self.speaks_for
                if whose == person and other != node
            )
        )

    def _owners_only_here(self, node: bytes) -> bool:
        """Whether no owner has another machine than this, and others would stay without one."""
        owned = {
            where
            for where, whose in self.speaks_for
            if self.role(whose) is Role.OWNER and self.speaks(where, whose)
        }
        return owned == {node} and any(self.member(other) for other in self.nodes if other != node)

    def _has_node(self, person: str) -> bool:
        return any(whose == person and self.speaks(node, person) for node, whose in self.speaks_for)

    # --- applying ---------------------------------------------------------------------

    def apply(self, placed: Placed, grant: Grant, follows: Iterable[int]) -> None:
        """Change what a statement that counts changes; `follows`: versions it ends."""
        facts, author = placed.stated.facts, placed.stated.author
        held, over = Held(*placed, grant.rank, grant.first), frozenset(follows)
        self.standings.apply(held, over)
        joined = joined_by(placed)
        if joined is not None:
            node = sha256(joined.key)
            self.nodes[node] = min(joined, self.nodes.get(node, joined), key=_place)
        elif isinstance(facts, say.CertificateFacts):
            self.certificates[author] = facts.certificate
        elif isinstance(facts, say.RemovedFacts):
            self._cut(placed, facts, grant.floor)
        elif isinstance(facts, say.PersonFacts):
            self.persons[facts.person] = with_one(self.persons.get(facts.person, ()), held, over)
            if grant.takes and facts.by is not None:
                self.takings = self.takings.after(placed.place, facts.by, grant.knew)
        elif isinstance(facts, say.RulesFacts):
            self.rules = with_one(self.rules, held, over)
        elif isinstance(facts, say.SpeaksForFacts | say.ConsentFacts):
            key = (facts.node, facts.person)
            named = tuple(one for one in self.named.get(key, ()) if one.place not in over)
            if grant.effective:
                self.speaks_for[key] = with_one(self.speaks_for.get(key, ()), held, over)
                if is_on(held):
                    given = self.given.get(facts.person, {})
                    self.given[facts.person] = {**given, placed.place: grant.knew}
            else:
                named = with_one(named, held, over)
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


def _is_key(key: bytes, node: bytes) -> bool:
    return len(key) == KEY_BYTES and sha256(key) == node
