"""Who belongs to the fleet and what they may do: a pure function of the statements.

`settle` gives the same for any order of arrival. A statement is judged as of what its
author knew (`heads`, and the author's own log before it), so every node judges alike
(docs/protocol.md, "Membership"). A removal stands for good; what a removed node said
beyond the cut counts nowhere, and neither does what rests on it.
"""

from collections.abc import Iterable

import msgspec

from sync.decide.name import fits
from sync.decide.people import Person, Role
from sync.decide.rights import Fleet
from sync.decide.settling import Settling
from sync.decide.standing import Said, refuses
from sync.decide.standings import OperatorState
from sync.decide.statements import NOT_FORKED, Forked, Ordered, Stated, order
from sync.decide.versions import Heads, role_of, strictest
from sync.limits import NAME_CHARACTERS
from sync.log import facts as say
from sync.log.chain import EMPTY, Head


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """That a node was removed, or left."""

    at: int
    by: str | None
    """The person; None: not said."""
    on: bytes
    """The node that signed it; the node itself: it left."""


class NodeState(msgspec.Struct, frozen=True, kw_only=True):
    """A node that is, or was, in the fleet."""

    id: bytes
    public_key: bytes
    name: str
    certificate: bytes | None
    """DER; None: not stated yet."""
    recovery_key: bytes | None
    """Of the genesis, on its author."""
    joined: int
    removed: Removal | None = None
    cut: dict[int, Head] = {}
    """Of a removed node: the last entry of each log that counts; no other log counts."""


class PersonState(msgspec.Struct, frozen=True, kw_only=True):
    """A person as the versions in force say; where siblings stand, the stricter."""

    id: str
    name: str
    role: str
    """The word as stated; one that this askmesh does not know may only see."""
    ended: bool
    at: int
    heads: tuple[bytes, ...]
    """Hashes of the versions in force; several: a conflict."""
    kept: bool = False
    """Still an owner only because what took that from all owners crossed: a conflict too."""

    @property
    def split(self) -> bool:
        """Whether someone has to settle it."""
        return self.kept or len(self.heads) > 1


class SpeaksForState(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a node's votes of a person count; where siblings stand, only if all say so."""

    node: bytes
    person: str
    live: bool
    heads: tuple[bytes, ...]
    contested: bool = False
    """Several owners gave the person a first machine, none knowing of the other."""

    @property
    def split(self) -> bool:
        """Whether someone has to settle it."""
        return self.contested or len(self.heads) > 1


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """An owner has said that a node is a person's, who has to consent from another one."""

    node: bytes
    person: str
    named: bytes
    """Hash of the owner's word: what the consent names."""
    by: str
    at: int


class RulesVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of the rules that counts."""

    hash: bytes
    name: str
    version: str
    by: str
    at: int
    in_force: bool
    """Several in force: siblings; of all of them the strictest action counts."""


class Membership(msgspec.Struct, frozen=True, kw_only=True):
    """The fleet as a set of statements makes it."""

    nodes: dict[bytes, NodeState] = {}
    persons: dict[str, PersonState] = {}
    speaks_for: dict[tuple[bytes, str], SpeaksForState] = {}
    waiting: tuple[Waiting, ...] = ()
    """What persons have not consented to yet."""
    rules: tuple[RulesVersion, ...] = ()
    """Every version that counts, earliest first."""
    operators: tuple[OperatorState, ...] = ()
    said: tuple[Said, ...] = ()
    """The word of each source on each account."""
    heads: tuple[bytes, ...] = ()
    """The newest statements that count: what a new statement and a final name."""
    pending: frozenset[bytes] = frozenset()
    """Statements that wait for others that they name."""

    def person(self, person: str) -> Person | None:
        """Return a person as deciding needs it."""
        known = self.persons.get(person)
        if known is None:
            return None
        return Person(id=known.id, name=known.name, role=role_of(known.role), ended=known.ended)

    def speaks(self, node: bytes, person: str) -> bool:
        """Whether votes of `person` signed by `node` count."""
        pair = self.speaks_for.get((node, person))
        return pair is not None and pair.live

    def held(self, person: str) -> Said | None:
        """Return the word by which answers of a person do not count; None: they do."""
        return refuses(self.said, person)

    def counts(self, author: bytes, log: int, seq: int) -> bool:
        """Whether an entry of `author` counts: a node of the fleet, not beyond a cut."""
        node = self.nodes.get(author)
        if node is None:
            return False
        return node.removed is None or seq <= node.cut.get(log, EMPTY).seq


def settle(
    statements: Iterable[Stated],
    *,
    founder: bytes | None = None,
    forked: Forked = NOT_FORKED,
    full: bool = False,
) -> Membership:
    """Return the fleet as these statements make it. Never raises for what they say.

    `founder` is the author of the fleet's genesis; without it there must be one genesis.
    `full`: beyond some fork more may have been stated than these.
    """
    return _settled(order(statements, forked, full=full), founder)


def counted(
    statements: Iterable[Stated],
    *,
    founder: bytes | None = None,
    forked: Forked = NOT_FORKED,
    full: bool = False,
) -> frozenset[bytes]:
    """Return the hashes of those statements that count; what nobody might say does not."""
    if founder is None:
        return frozenset()
    settling = Settling(order(statements, forked, full=full), founder)
    return frozenset(placed.stated.hash for placed in settling.counting())


def as_of(
    statements: Iterable[Stated],
    heads: Iterable[bytes],
    *,
    founder: bytes | None = None,
    forked: Forked = NOT_FORKED,
    full: bool = False,
) -> Membership | None:
    """Return the fleet as who named `heads` knew it; None while one of them is not here."""
    ordered = order(statements, forked, full=full)
    wanted: set[int] = set()
    for head in heads:
        place = ordered.index.get(head)
        if place is not None:
            wanted |= {place, *ordered.upto(ordered.before[place])}
        elif not ordered.full:
            return None
    known = order((ordered.all[place] for place in wanted), forked, full=ordered.full)
    return _settled(known, founder)


def _settled(ordered: Ordered, founder: bytes | None) -> Membership:
    if founder is None:
        authors = {one.author for one in ordered.all if isinstance(one.facts, say.GenesisFacts)}
        if len(authors) != 1:
            return Membership(pending=ordered.pending)
        (founder,) = authors
    settling = Settling(ordered, founder)
    fleet = settling.fleet
    return Membership(
        nodes=_nodes(settling),
        persons={
            person: _person(person, heads, kept=fleet.kept(person))
            for person, heads in fleet.persons.items()
        },
        speaks_for={
            (node, person): SpeaksForState(
                node=node,
                person=person,
                live=fleet.speaks(node, person),
                heads=tuple(held.stated.hash for held in heads),
                contested=fleet.contested(node, person),
            )
            for (node, person), heads in fleet.speaks_for.items()
        },
        waiting=_waiting(fleet),
        rules=_rules(settling),
        operators=fleet.standings.operators(),
        said=fleet.standings.said(),
        heads=settling.heads(),
        pending=ordered.pending,
    )


def _waiting(fleet: Fleet) -> tuple[Waiting, ...]:
    return tuple(
        Waiting(node=node, person=person, named=last.stated.hash, by=facts.by, at=facts.at)
        for node, person in fleet.named
        for last in fleet.waiting(node, person)[-1:]
        if isinstance(facts := last.stated.facts, say.SpeaksForFacts) and facts.by is not None
    )


def _person(person: str, heads: Heads, *, kept: bool) -> PersonState:
    word, ended = strictest(heads)
    shown = next(
        facts
        for facts in (held.stated.facts for held in heads)
        if isinstance(facts, say.PersonFacts) and facts.role == word
    )
    return PersonState(
        id=person,
        name=shown.name[:NAME_CHARACTERS],
        role=Role.OWNER.value if kept else word,
        ended=ended and not kept,
        at=shown.at,
        heads=tuple(held.stated.hash for held in heads),
        kept=kept,
    )


def _rules(settling: Settling) -> tuple[RulesVersion, ...]:
    in_force = {held.place for held in settling.fleet.rules}
    return tuple(
        RulesVersion(
            hash=one.hash,
            name=one.facts.name[:NAME_CHARACTERS],
            version=one.facts.version[:NAME_CHARACTERS],
            by=one.facts.by,
            at=one.facts.at,
            in_force=place in in_force,
        )
        for place, one in settling.counting()
        if isinstance(one.facts, say.RulesFacts)
    )


def _names(settling: Settling) -> dict[bytes, str]:
    """Return what nodes are called, as the last word of each on its own name has it."""
    fleet = settling.fleet
    names = {node: joined.machine[:NAME_CHARACTERS] for node, joined in fleet.nodes.items()}
    said: dict[bytes, str] = {}
    for _, one in settling.counting():
        if isinstance(one.facts, say.CertificateFacts) and one.facts.machine is not None:
            # Again at the end: in the order of these last words.
            said.pop(one.author, None)
            said[one.author] = one.facts.machine
    for node, name in said.items():
        beside = [
            other
            for known, other in names.items()
            if known != node and known not in fleet.removed and node not in fleet.removed
        ]
        if node in names and fits(name, beside):
            names[node] = name
    return names


def _nodes(settling: Settling) -> dict[bytes, NodeState]:
    fleet, let_in = settling.fleet, settling.let_in()
    names = _names(settling)
    nodes: dict[bytes, NodeState] = {}
    for node, joined in (let_in | fleet.nodes).items():
        removed = fleet.removed.get(node)
        cut = {} if removed is None else removed.cut
        if node not in fleet.nodes:
            # Let in by a removed node beyond its cut: it goes with that one.
            removed, cut = settling.removal_behind(node, let_in), {}
            if removed is None:
                continue
        nodes[node] = NodeState(
            id=node,
            public_key=joined.key,
            name=names.get(node, joined.machine[:NAME_CHARACTERS]),
            certificate=fleet.certificates.get(node, joined.certificate) or None,
            recovery_key=joined.recovery_key,
            joined=joined.stated.facts.at,
            removed=(
                None if removed is None else Removal(at=removed.at, by=removed.by, on=removed.on)
            ),
            cut=cut,
        )
    return nodes
