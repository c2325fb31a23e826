"""Entries from other nodes: verified, stored in their chains, applied to the tables.

Nothing here raises for what a peer got wrong. What cannot be verified is not stored; what
was signed but makes no sense is stored and relayed, and not applied (`project`).
"""

import sqlite3
from collections.abc import Sequence

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


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a batch, and what it asks of the node."""

    kept: Kept
    voted: list[str]
    """Asks of this home on which votes arrived: to be ruled on."""
    members_moved: bool
    """Whether a statement arrived: who belongs to the fleet may have changed."""


def keep(transaction: Transaction, run: Sequence[Entry]) -> Received:
    """Verify and store a batch; stops at the first fault of each author's log.

    Only logs of nodes that the stored statements name are taken. A batch may bring such a
    statement together with the log of its node, in any order.
    """
    logs: dict[Place, list[Entry]] = {}
    for entry in run:
        logs.setdefault(_place(entry), []).append(entry)
    heads: dict[Place, Head] = {}
    troubles: list[str] = []
    fresh: list[Entry] = []
    while logs:
        known = {place: key for place in logs if (key := _key(transaction, place, logs[place]))}
        for place, key in known.items():
            good, fault = _verified(transaction, logs.pop(place), place, key)
            for entry in good:
                store(transaction.connection, entry)
                heads[place] = Head(seq=entry.header.seq, hash=entry.hash)
            fresh += good
            troubles += [fault] if fault else []
        if not known:
            names = ", ".join(sorted({node_name(author)[:8] for author, _ in logs}))
            troubles.append(f"Entries of {names} came, who is no member known here.")
            break
    return Received(
        kept=Kept(heads=heads, trouble=troubles[0] if troubles else None),
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
    transaction: Transaction, entries: list[Entry], place: Place, key: bytes
) -> tuple[list[Entry], str | None]:
    """Return the part of a log that may be stored, and what is wrong with the rest."""
    author, log = place
    fleet = transaction.identity.fleet
    head = _head(transaction.connection, author, log)
    run = _next_ones(transaction, head, entries)
    if run and frozen(transaction.connection, fleet, author, log) is not None:
        return [], f"The history of {node_name(author)[:8]} forked; nothing after that is taken."
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


def _key(transaction: Transaction, place: Place, entries: list[Entry]) -> bytes | None:
    """Return the key of a member; of the founder also where nothing of the fleet is here yet."""
    author, _ = place
    row = transaction.row("SELECT public_key FROM node WHERE id = ?", node_name(author))
    if row is not None:
        return bytes(row[0])
    begun = transaction.row(
        "SELECT 1 FROM entry WHERE type = ? AND type < 16 AND fleet = ?",
        EntryType.GENESIS.value,
        transaction.identity.fleet,
    )
    if begun is not None or entries[0].header.type != EntryType.GENESIS:
        return None
    try:
        key = read(GenesisFacts, entries[0].facts).node_key
    except BadEntry:
        return None
    return key if sha256(key) == author else None


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
