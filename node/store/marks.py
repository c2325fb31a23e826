"""How persons marked a row: of each field the last writer by (HLC, node) counts."""

import sqlite3

from sync.log.entry import Entry
from sync.log.facts import MarkFacts, read
from sync.log.hlc import newer
from sync.log.names import node_bytes, node_name


def mark(connection: sqlite3.Connection, entry: Entry) -> str:
    """Keep what a mark says, unless a later one stands; return the ask it is on.

    Each is a field of its own: whoever writes one says nothing about the other.
    """
    facts, header = read(MarkFacts, entry.facts), entry.header
    table, value = ("mark", facts.read)
    if facts.needless is not None:
        table, value = ("needless", facts.needless)
    row = connection.execute(
        f"SELECT hlc, node FROM {table} WHERE ask = ? AND person = ?",  # noqa: S608 -- ours
        (facts.ask, facts.person),
    ).fetchone()
    if row is None or newer((header.hlc, header.author), (row[0], node_bytes(row[1]))):
        connection.execute(
            f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?, ?, ?)",  # noqa: S608 -- ours
            (facts.ask, facts.person, value, header.hlc, node_name(header.author)),
        )
    return facts.ask
