"""Entries from other nodes: verified, stored in their chains, applied to the tables.

Nothing here raises for what a peer got wrong. What cannot be verified is not stored; what
was signed but makes no sense is stored and relayed, and not applied (`project`).
"""

import sqlite3
from collections.abc import Sequence
from itertools import groupby

import msgspec

from node.store.transaction import Transaction, store
from sync.errors import AskmeshError, BadEntry, Forked
from sync.log.chain import EMPTY, Head, verify_run
from sync.log.entry import Entry, sha256, verify
from sync.log.facts import (
    AskFacts,
    FinalFacts,
    GenesisFacts,
    HandoverFacts,
    MarkFacts,
    MemberFacts,
    NoteFacts,
    Part,
    ResolvedFacts,
    RulingFacts,
    VoteFacts,
    read,
)
from sync.log.kinds import STATEMENTS, EntryType
from sync.log.names import ask_name, node_name
from sync.log.vector import Place
from sync.net.ledger import Kept

SIGNED_EACH = STATEMENTS | {EntryType.FINAL}
"""Types of which every signature is checked, not only the last of a run (DESIGN §4)."""
_ABOUT: dict[int, type[Part]] = {
    EntryType.VOTE: VoteFacts,
    EntryType.RULING: RulingFacts,
    EntryType.FINAL: FinalFacts,
    EntryType.HANDOVER: HandoverFacts,
    EntryType.RESOLVED: ResolvedFacts,
    EntryType.MARK: MarkFacts,
}
_RAISED: dict[int, type[AskFacts] | type[NoteFacts]] = {
    EntryType.ASK: AskFacts,
    EntryType.NOTE: NoteFacts,
}

_INTRODUCES: dict[int, type[GenesisFacts] | type[MemberFacts]] = {
    EntryType.GENESIS: GenesisFacts,
    EntryType.MEMBER: MemberFacts,
}


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a batch, and what it asks of the node."""

    kept: Kept
    voted: list[str]
    """Asks of this home on which votes arrived: to be ruled on."""
    members_moved: bool
    """Whether a statement arrived: who belongs to the fleet may have changed."""


def keep(transaction: Transaction, run: Sequence[Entry]) -> Received:
    """Verify and store a batch; stops at the first fault of each author's log."""
    heads: dict[Place, Head] = {}
    trouble: str | None = None
    fresh: list[Entry] = []
    keys = _keys_in(run)
    for (author, log), entries in groupby(run, key=_place):
        head = heads.get((author, log)) or _head(transaction.connection, author, log)
        new = _next_ones(transaction, head, list(entries))
        key = _key(transaction.connection, author) or keys.get(author)
        good, fault = _verified(transaction, head, new, (author, log), key)
        for entry in good:
            store(transaction.connection, entry)
        fresh += good
        if good:
            heads[author, log] = Head(seq=good[-1].header.seq, hash=good[-1].hash)
        trouble = trouble or fault
    return Received(
        kept=Kept(heads=heads, trouble=trouble),
        voted=_announce(transaction, fresh),
        members_moved=any(entry.header.type in STATEMENTS for entry in fresh),
    )


def frozen(connection: sqlite3.Connection, fleet: bytes, author: bytes, log: int) -> int | None:
    """Return where an author's log forked, None while it did not."""
    (seq,) = connection.execute(
        "SELECT min(seq) FROM fork WHERE fleet = ? AND author = ? AND log = ?",
        (fleet, author, log),
    ).fetchone()
    return None if seq is None else int(seq)


def _place(entry: Entry) -> Place:
    return entry.header.author, entry.header.log


def _head(connection: sqlite3.Connection, author: bytes, log: int) -> Head:
    row = connection.execute(
        "SELECT seq, hash FROM head WHERE author = ? AND log = ?", (author, log)
    ).fetchone()
    return EMPTY if row is None else Head(seq=row[0], hash=row[1])


def _keys_in(run: Sequence[Entry]) -> dict[bytes, bytes]:
    """Keys that the batch itself brings: a new author's statement may come with its log."""
    keys: dict[bytes, bytes] = {}
    for entry in run:
        kind = _INTRODUCES.get(entry.header.type)
        if kind is None:
            continue
        try:
            key = read(kind, entry.facts).node_key
        except BadEntry:
            continue
        keys[sha256(key)] = key
    return keys


def _next_ones(transaction: Transaction, head: Head, entries: list[Entry]) -> list[Entry]:
    """Leave out what is held already; another entry in its place is kept as evidence."""
    new: list[Entry] = []
    for entry in entries:
        header = entry.header
        if header.seq > head.seq:
            new.append(entry)
            continue
        held = transaction.row(
            "SELECT hash FROM entry WHERE fleet = ? AND author = ? AND log = ? AND seq = ?",
            header.fleet,
            header.author,
            header.log,
            header.seq,
        )
        if held is not None and held[0] != entry.hash:
            new.append(entry)
    return new


def _verified(
    transaction: Transaction,
    head: Head,
    run: list[Entry],
    place: Place,
    key: bytes | None,
) -> tuple[list[Entry], str | None]:
    """Return the part of a run that may be stored, and what is wrong with the rest."""
    if not run:
        return [], None
    author, log = place
    if key is None:
        return [], f"Entries of {node_name(author)[:8]} came, who is no member known here."
    if frozen(transaction.connection, transaction.identity.fleet, author, log) is not None:
        return [], f"The history of {node_name(author)[:8]} forked; nothing after that is taken."
    fleet = transaction.identity.fleet
    try:
        verify_run(head, run, fleet=fleet, author=author, log=log, public_key=key)
        _verify_each(run, key)
    except AskmeshError as whole:
        return _good_part(transaction, head, run, key), whole.sentence
    return run, None


def _good_part(transaction: Transaction, head: Head, run: list[Entry], key: bytes) -> list[Entry]:
    """Take a faulty run entry by entry, up to the fault."""
    fleet = transaction.identity.fleet
    good: list[Entry] = []
    for entry in run:
        header = entry.header
        try:
            head = verify_run(
                head,
                [entry],
                fleet=fleet,
                author=header.author,
                log=header.log,
                public_key=key,
            )
        except Forked:
            _remember_fork(transaction, entry)
            break
        except AskmeshError:
            break
        good.append(entry)
    return good


def _remember_fork(transaction: Transaction, entry: Entry) -> None:
    """Keep the other signed entry for ever: it proves that its author has two histories."""
    header = entry.header
    transaction.run(
        "INSERT OR IGNORE INTO fork VALUES (?, ?, ?, ?, ?, ?, ?)",
        header.fleet,
        header.author,
        header.log,
        header.seq,
        entry.raw,
        entry.signature,
        transaction.now,
    )
    transaction.change("fleet", node_name(header.author))


def _verify_each(run: list[Entry], key: bytes) -> None:
    for entry in run:
        if entry.header.type in SIGNED_EACH:
            verify(entry, key)


def _key(connection: sqlite3.Connection, author: bytes) -> bytes | None:
    row = connection.execute(
        "SELECT public_key FROM node WHERE id = ?", (node_name(author),)
    ).fetchone()
    return None if row is None else bytes(row[0])


def _announce(transaction: Transaction, fresh: list[Entry]) -> list[str]:
    """Number the changes; return the asks of this home that got votes."""
    asks: dict[str, bool] = {}
    topics: set[str] = set()
    for entry in fresh:
        if entry.header.type in STATEMENTS:
            topics |= {"people", "fleet"}
            if entry.header.type == EntryType.RULES:
                topics.add("rules")
            continue
        ask = _ask_of(entry)
        if ask is not None:
            asks[ask] = asks.get(ask, False) or entry.header.type == EntryType.VOTE
    for topic in sorted(topics):
        transaction.change(topic, transaction.identity.name)
    for ask in asks:
        transaction.change("ask", ask)
    return [ask for ask, voted in asks.items() if voted and _home(ask) == transaction.identity.name]


def _home(ask: str) -> str:
    return ask.rpartition("-")[0]


def _ask_of(entry: Entry) -> str | None:
    """Return the ask an entry is about; None where it is about none, or does not read."""
    kind = entry.header.type
    try:
        if kind in _RAISED:
            return ask_name(entry.header.author, read(_RAISED[kind], entry.facts).number)
        if kind in _ABOUT:
            return str(getattr(read(_ABOUT[kind], entry.facts), "ask"))  # noqa: B009 -- by table
    except BadEntry:
        return None
    return None
