"""Who belongs to the fleet and what they may do: a pure function of the statements.

`settle` gives the same for any order of arrival. A statement is judged as of what its
author knew (`heads`, and the author's own log before it), so every node judges alike
(docs/protocol.md, "Membership"). A removal stands for good; what a removed node said
beyond the cut counts nowhere, and neither does what rests on it.
"""

from collections.abc import Iterable

import msgspec

from sync.decide.people import Person
from sync.decide.statements import Stated
from sync.log.chain import Head


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


class SpeaksForState(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a node's votes of a person count; where siblings stand, only if all say so."""

    node: bytes
    person: str
    live: bool
    heads: tuple[bytes, ...]


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
    rules: tuple[RulesVersion, ...] = ()
    """Every version that counts, earliest first."""
    heads: tuple[bytes, ...] = ()
    """The newest statements that count: what a new statement and a final name."""
    pending: frozenset[bytes] = frozenset()
    """Statements that wait for others that they name."""

    def person(self, person: str) -> Person | None:
        """Return a person as deciding needs it."""
        raise NotImplementedError

    def speaks(self, node: bytes, person: str) -> bool:
        """Whether votes of `person` signed by `node` count."""
        raise NotImplementedError

    def counts(self, author: bytes, log: int, seq: int) -> bool:
        """Whether an entry of `author` counts: a node of the fleet, not beyond a cut."""
        raise NotImplementedError


def settle(
    statements: Iterable[Stated], *, founder: bytes | None = None, known: Iterable[bytes] = ()
) -> Membership:
    """Return the fleet as these statements make it. Never raises for what they say.

    `founder` is the author of the fleet's genesis; without it there must be one genesis.
    `known` are hashes of statements that will never be here (the other side of a fork).
    """
    raise NotImplementedError


def as_of(
    statements: Iterable[Stated],
    heads: Iterable[bytes],
    *,
    founder: bytes | None = None,
    known: Iterable[bytes] = (),
) -> Membership | None:
    """Return the fleet as who named `heads` knew it; None while one of them is not here."""
    raise NotImplementedError
