"""What a machine that joins is told of the fleet: picked at one end, checked at the other."""

import sqlite3

import msgspec

from node.store import forks, testimony
from node.store.introduced import Introduced
from sync.decide.membership import NodeState, settle
from sync.decide.statements import Forked, Stated, stated
from sync.errors import AskmeshError, BadEntry, PairingFailed
from sync.limits import BEYOND_FORK, PAIR_FORKS
from sync.log import fork
from sync.log.entry import Entry, decode, sha256, verify
from sync.log.facts import GenesisFacts, MemberFacts, read
from sync.log.kinds import EntryType, Log
from sync.wire.pairing_steps import Welcomed
from sync.wire.pairing_welcome import parts

STATEMENTS = (
    "SELECT header, signature, facts, text, type, author, seq FROM entry"
    " WHERE type < 16 AND fleet = ? AND log = ? ORDER BY n"
)
TESTIMONY = (
    "SELECT header, signature, facts, text, type FROM testimony WHERE fleet = ? ORDER BY seq, hash"
)


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What goes into a welcome."""

    founder: bytes
    statements: tuple[Entry, ...]
    """The founder's genesis first."""
    forks: tuple[bytes, ...] = ()
    """Evidence of those of decisions logs."""


def told(connection: sqlite3.Connection, fleet: bytes) -> Told:
    """Return all statements of the fleet. Raises `TooLarge` when no welcome holds them.

    The words of rules stay behind: they settle nothing, and the log brings them.
    """
    begins = testimony.begins(connection, fleet)
    rows = [
        row
        for *row, author, seq in connection.execute(STATEMENTS, (fleet, Log.DECISIONS.value))
        if seq < begins.get(author, seq + 1) or row[-1] == EntryType.GENESIS
    ]
    rows += connection.execute(TESTIMONY, (fleet,)).fetchall()
    found = [
        decode(header, signature, facts, None if kind == EntryType.RULES else text)
        for header, signature, facts, text, kind in rows
    ]
    first = next(entry for entry in found if entry.header.type == EntryType.GENESIS)
    statements = (first, *(entry for entry in found if entry is not first))
    # Raises before anybody is let in whom nothing could be told.
    parts(statements)
    return Told(founder=first.header.author, statements=statements, forks=_forks(connection, fleet))


def _forks(connection: sqlite3.Connection, fleet: bytes) -> tuple[bytes, ...]:
    """Evidence of the forks that tell most: those beyond which something was stated come first."""
    said = testimony.said(connection, fleet)
    proofs = [
        (author not in said or not said[author], author, frozen.evidence.pack())
        for (author, log), frozen in forks.known(connection, fleet).items()
        if log == Log.DECISIONS
    ]
    return tuple(proof for _, _, proof in sorted(proofs)[:PAIR_FORKS])


def let_in_by(welcomed: Welcomed, us: bytes) -> str | None:
    """Return the person who let `us` (a node id) in, by the latest statement of that."""
    said = [
        read(MemberFacts, entry.facts)
        for entry in welcomed.statements
        if entry.header.type == EntryType.MEMBER
    ]
    return next((one.by for one in reversed(said) if sha256(one.node_key) == us), None)


def members(welcomed: Welcomed, us: bytes) -> list[Introduced]:
    """Return the members of the fleet that let `us` (a node id) in, who did so first.

    Raises `PairingFailed` when the statements do not bear it out.
    """
    nodes = _settled(welcomed)
    sponsor, here = nodes.get(welcomed.node), nodes.get(us)
    if sponsor is None or sponsor.removed or here is None or here.removed:
        raise _unsound(welcomed)
    others = [
        Introduced(public_key=one.public_key, certificate=one.certificate, name=one.name)
        for one in nodes.values()
        if one.certificate and not one.removed and one.id not in (us, welcomed.node)
    ]
    # What TLS showed was proved by the code.
    first = Introduced(
        public_key=welcomed.node_key, certificate=welcomed.certificate, name=sponsor.name
    )
    return [first, *others]


def _settled(welcomed: Welcomed) -> dict[bytes, NodeState]:
    keys = _keys(welcomed.statements)
    said: list[Stated] = []
    for entry in welcomed.statements:
        key = keys.get(entry.header.author)
        if key is None:
            raise _unsound(welcomed)
        try:
            verify(entry, key)
        except AskmeshError:
            raise _unsound(welcomed) from None
        header = entry.header
        one = stated(
            hash=entry.hash,
            author=header.author,
            seq=header.seq,
            type=header.type,
            facts=entry.facts,
            fleet=header.fleet,
        )
        if one is not None:
            said.append(one)
    return settle(
        said,
        founder=welcomed.founder,
        forked=_forked(welcomed, keys),
        # Where so much was stated beyond a fork, more was than anyone keeps.
        full=len(welcomed.statements) >= BEYOND_FORK and bool(welcomed.forks),
    ).nodes


def _forked(welcomed: Welcomed, keys: dict[bytes, bytes]) -> Forked:
    """Raises `PairingFailed` for a fork that is not proved."""
    found: dict[bytes, tuple[bytes, int]] = {}
    for raw in welcomed.forks:
        try:
            proof = fork.decode(raw)
            proof.verify(keys.get(proof.author, b""))
        except BadEntry:
            raise _unsound(welcomed) from None
        if proof.fleet != welcomed.fleet or proof.log != Log.DECISIONS:
            raise _unsound(welcomed)
        found |= {one.hash: (proof.author, proof.seq) for one in (proof.first, proof.second)}
    return found


def _keys(statements: tuple[Entry, ...]) -> dict[bytes, bytes]:
    """The key of each node that is named; a key proves itself by its hash."""
    keys: dict[bytes, bytes] = {}
    for entry in statements:
        try:
            if entry.header.type == EntryType.GENESIS:
                key = read(GenesisFacts, entry.facts).node_key
            elif entry.header.type == EntryType.MEMBER:
                key = read(MemberFacts, entry.facts).node_key
            else:
                continue
        except BadEntry:
            continue
        keys[sha256(key)] = key
    return keys


def _unsound(welcomed: Welcomed) -> PairingFailed:
    return PairingFailed(
        f"What {welcomed.machine} says of its fleet does not hold together. Nothing was stored"
        " here.",
        hint="Bring askmesh up to date on both machines, then try again with a new code.",
    )
