"""Deriving the tables from the log: all of them anew, or what counts only since now.

What of a log counts follows from who belongs to its fleet. A machine that is let in, or
removed, after entries of it came makes those count, or count no more.
"""

import sqlite3
from collections.abc import Iterable, Mapping

import msgspec

from node.store import erasing, membership_tables
from node.store.projection import APPLIED, project
from sync.decide.handover import Void
from sync.decide.membership import NodeState
from sync.log.chain import EMPTY
from sync.log.entry import Entry, unpack
from sync.log.names import SHORT, node_bytes

NODE = "node"
"""Name of the local value with our own node id: what we said ourselves always counts here."""
FLEET = "fleet"
"""Name of the local value with the fleet this node belongs to."""
FORMER = "former"
"""Name of the local value with the node ids of ours that are used up, as JSON."""
ALL = 1 << 62
"""More entries than a store can have."""

End = Mapping[int, int] | None
"""Where what counts of an author's logs ends; None: it does not."""
_NOTHING: End = {}
_NAME = 52
"""Characters of a node's name, with which an ask's id begins."""


class Ends(dict[tuple[bytes, bytes], End]):
    """By fleet and author, where what counts ends; nothing of anyone else counts."""

    def of(self, fleet: bytes, author: bytes) -> End:
        """Return where an author's logs end."""
        return self.get((fleet, author), _NOTHING)

    def count(self, entry: Entry) -> bool:
        """Whether an entry counts."""
        header = entry.header
        return _within(self.of(header.fleet, header.author), header.log, header.seq)


def _within(end: End, log: int, seq: int) -> bool:
    return end is None or seq <= end.get(log, EMPTY.seq)


def ends(connection: sqlite3.Connection, fleet: bytes) -> Ends:
    """Return where what counts ends in our fleet."""
    found = _present(connection, fleet)
    own = _local(connection, NODE)
    if own is not None:
        found[fleet, own] = None
    return found


def ends_of_all(connection: sqlite3.Connection, fleet: bytes) -> Ends:
    """Return where what counts ends, in our fleet and in those this node left."""
    found = ends(connection, fleet)
    own = {_local(connection, NODE), *former(connection)}
    for (left,) in connection.execute("SELECT fleet FROM fleet_left WHERE fleet != ?", (fleet,)):
        for node in membership_tables.settled(connection, left).nodes.values():
            found[left, node.id] = None if node.id in own else end_of(node)
    return found


def former(connection: sqlite3.Connection) -> list[bytes]:
    """Return the node ids this node had before it took on a new key, oldest first."""
    value = _local(connection, FORMER)
    return [] if value is None else [node_bytes(name) for name in msgspec.json.decode(value)]


def end_of(node: NodeState) -> End:
    """Return where what counts of a node's logs ends."""
    return None if node.removed is None else {log: head.seq for log, head in node.cut.items()}


def _present(connection: sqlite3.Connection, fleet: bytes) -> Ends:
    cuts: dict[str, dict[int, int]] = {}
    for node, log, seq in connection.execute("SELECT node, log, seq FROM cut"):
        cuts.setdefault(node, {})[log] = seq
    return Ends({
        (fleet, node_bytes(node)): None if removed is None else cuts.get(node, {})
        for node, removed in connection.execute("SELECT id, removed FROM node")
    })  # fmt: skip


def _local(connection: sqlite3.Connection, name: str) -> bytes | None:
    row = connection.execute("SELECT value FROM local WHERE name = ?", (name,)).fetchone()
    return None if row is None else bytes(row[0])


def fleet_of(connection: sqlite3.Connection) -> bytes:
    """Return the fleet this node belongs to."""
    return _local(connection, FLEET) or b""


def settle(connection: sqlite3.Connection, fleet: bytes, *, before: int = ALL) -> set[str]:
    """Bring the tables to what the statements say by now; call it after one was stored.

    Entries from number `before` on are left alone: they are still to be applied. Returns
    the asks that changed by it, also those that are no more.
    """
    old = _present(connection, fleet)
    moved = membership_tables.apply(connection, fleet) - {_local(connection, NODE)}
    now = ends(connection, fleet)
    if any(_shrunk(old.of(fleet, author), now.of(fleet, author)) for author in moved):
        return rebuild_in_place(connection, fleet, before=before)
    changed: set[str] = set()
    for author in moved:
        beyond = old.of(fleet, author)
        later = (
            one
            for one in _stored(connection, before, fleet, author)
            if not _within(beyond, one[0].header.log, one[0].header.seq)
        )
        changed |= replay(connection, later, now)
    changed |= _prove(connection, before, now)
    return {ask for ask in changed if is_here(connection, ask)}


def _prove(connection: sqlite3.Connection, before: int, counting: Ends) -> set[str]:
    """Try again what rests on finals that named statements which were not here."""
    waiting = connection.execute(
        "SELECT n, hash FROM unproven JOIN entry USING (hash) WHERE n < ? ORDER BY n", (before,)
    ).fetchall()
    asks: set[str] = set()
    for n, entry_hash in waiting:
        connection.execute("DELETE FROM unproven WHERE hash = ?", (entry_hash,))
        asks |= replay(connection, stored_at(connection, n), counting)
    return asks


def _shrunk(old: End, new: End) -> bool:
    if new is None:
        return False
    return old is None or any(seq > new.get(log, EMPTY.seq) for log, seq in old.items())


Stored = tuple[Entry, bytes, int]
"""A stored entry, its hash, its place in the order of arrival."""


def _stored(
    connection: sqlite3.Connection,
    before: int,
    fleet: bytes | None = None,
    author: bytes | None = None,
) -> Iterable[Stored]:
    where = "" if author is None else " AND fleet = ?2 AND author = ?3"
    values = (before,) if author is None else (before, fleet, author)
    return _decoded(connection, f"type >= 16 AND n < ?1{where} ORDER BY n", values)


def stored_at(connection: sqlite3.Connection, n: int) -> Iterable[Stored]:
    """Return the entry with this number, if there is one."""
    return _decoded(connection, "n = ?1", (n,))


def _decoded(
    connection: sqlite3.Connection, where: str, values: tuple[int | bytes | None, ...]
) -> Iterable[Stored]:
    for n, entry_hash, header, signature, facts, text in connection.execute(
        f"SELECT n, hash, header, signature, facts, text FROM entry WHERE {where}",  # noqa: S608
        values,
    ):
        # It was checked when it was stored; `node.store.rebuild` checks what the disk kept.
        entry = Entry(
            header=unpack(header), raw=header, signature=signature, facts=facts, text=text
        )
        yield entry, entry_hash, n


def replay(connection: sqlite3.Connection, stored: Iterable[Stored], counting: Ends) -> set[str]:
    """Apply stored entries that count and are not held out of merges; return the asks."""
    out = held(connection)
    asks: set[str] = set()
    for entry, entry_hash, n in stored:
        if n not in out and counting.count(entry):
            ask = project(connection, entry, entry_hash, n)
            if ask is not None:
                asks.add(ask)
    return asks


def held(connection: sqlite3.Connection) -> set[int]:
    """Return the numbers of entries that are held out of merges."""
    return {n for (n,) in connection.execute("SELECT n FROM held")}


def rebuild_in_place(
    connection: sqlite3.Connection, fleet: bytes | None = None, *, before: int = ALL
) -> set[str]:
    """Drop what is derived and tell the log again, in order of arrival, in this transaction.

    Returns the asks that are not as they were, also those that are no more.
    """
    fleet = fleet or fleet_of(connection)
    was, there = _prints(connection), _asks(connection)
    for table in APPLIED:
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 -- names of ours
    erasing.note_all(connection)
    connection.execute("DELETE FROM head")
    # The last entry of a log is the one with the highest number.
    connection.execute(
        "INSERT INTO head SELECT author, log, max(seq), hash FROM entry WHERE fleet = ?"
        " GROUP BY author, log",
        (fleet,),
    )
    membership_tables.apply(connection, fleet)
    replay(connection, _stored(connection, before), ends_of_all(connection, fleet))
    close_left(connection)
    now = _prints(connection)
    return {ask for ask, _ in was ^ now if ask in there or is_here(connection, ask)}


def is_here(connection: sqlite3.Connection, ask: str) -> bool:
    """Whether there is such an ask: what a vote names may be anything."""
    return connection.execute("SELECT 1 FROM ask WHERE id = ?", (ask,)).fetchone() is not None


def _asks(connection: sqlite3.Connection) -> set[str]:
    return {ask for (ask,) in connection.execute("SELECT id FROM ask")}


def _prints(connection: sqlite3.Connection) -> set[tuple[str, int]]:
    """One mark for each row that a card is made of."""
    return {
        (row[place], hash(row))
        for table, place in (("ask", 0), ("vote", 2))
        for row in connection.execute(f"SELECT * FROM {table}")  # noqa: S608 -- names of ours
    }


_OF_FORMER = (
    "home IN (SELECT value FROM json_each((SELECT CAST(value AS TEXT) FROM local"
    " WHERE name = 'former')))"
)
_VOID_LEFT = (
    "UPDATE ask SET state = 'void', handover = 'void', handover_at = fleet_left.at,"  # noqa: S608 -- ours
    " handover_why = ?1 FROM fleet_left WHERE fleet_left.fleet = ask.fleet"
    f" AND state = 'closed' AND outcome = 'allowed' AND kind = 'approval' AND {_OF_FORMER}"
)
_CLOSE_LEFT = (
    "UPDATE ask SET state = 'closed', outcome = 'withdrawn', closed = fleet_left.at,"  # noqa: S608 -- ours
    " reason = coalesce('raised again as ' || (SELECT substr(new, 1, ?1)"
    "  || substr(new, ?2) FROM ask_alias WHERE old = ask.id),"
    f" CASE WHEN kind = 'approval' AND {_OF_FORMER} THEN"
    "  'this machine has joined again with a new key, and an approval is asked anew' END,"
    "  'this machine left the fleet in which it was raised')"
    " FROM fleet_left WHERE fleet_left.fleet = ask.fleet AND state = 'waiting'"
)


def close_left(connection: sqlite3.Connection) -> None:
    """Close what was open in fleets this node left: nobody there can answer it any more.

    Our own was raised again, but approvals not under a new key: another copy of this machine
    may have decided them. No entry says so; for the fleets that were left it still stands as
    it was.
    """
    connection.execute(_VOID_LEFT, (Void.MOVED.value,))
    connection.execute(_CLOSE_LEFT, (SHORT, _NAME + 1))
