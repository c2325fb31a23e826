"""The cells of boards, from the entries that set them: of each the last writer counts."""

import contextlib
import sqlite3
from collections.abc import Iterable

from sync.decide.board import check_facts
from sync.errors import BadEntry
from sync.log.board_facts import BoardFacts
from sync.log.entry import Entry
from sync.log.facts import read
from sync.log.hlc import newer
from sync.log.kinds import EntryType
from sync.log.names import node_bytes, node_name

TABLES = ("board_cell",)
"""What `node.store.projection` derives here and beside it."""


def cells(connection: sqlite3.Connection, entry: Entry, entry_hash: bytes) -> None:
    """Set the cells that an entry names, unless a later word on one stands.

    Raises `BadEntry` for what nobody could mean.
    """
    facts, header = read(BoardFacts, entry.facts), entry.header
    check_facts(facts)
    for field in dict.fromkeys(facts.fields):
        place = (facts.board, facts.row, field)
        row = connection.execute(
            "SELECT hlc, node FROM board_cell WHERE board = ? AND row = ? AND field = ?", place
        ).fetchone()
        stamp = (header.hlc, header.author)
        if row is None or newer(stamp, (row[0], node_bytes(row[1]))):
            connection.execute(
                "INSERT OR REPLACE INTO board_cell VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *place,
                    header.fleet,
                    facts.project,
                    header.hlc,
                    node_name(header.author),
                    entry_hash,
                    facts.agent,
                    facts.at,
                ),
            )


def told(run: Iterable[Entry]) -> list[str]:
    """Return the boards that these entries speak of."""
    found: dict[str, None] = {}
    for entry in run:
        if entry.header.type == EntryType.BOARD:
            with contextlib.suppress(BadEntry):
                found[read(BoardFacts, entry.facts).board] = None
    return list(found)
