"""Old entries are written anew side by side, so that the place of words that went is used again.

Entries lie in the order they came, so nothing new ever comes in between them: what goes
leaves holes in pages that would stay half empty for ever.
"""

import sqlite3
from collections.abc import Iterable
from statistics import median_low
from typing import Any

from sync.log.hlc import COUNTER_BITS

PACKED = "packed"
"""Name of the local value: the number up to which entries were written anew."""
STRETCH = 200
"""Entries at a time: some ten milliseconds of the writer, and pages enough to save many."""
_STAMP = slice(90, 98)
"""Where a header has its stamp."""

Row = tuple[Any, ...]


def pack(connection: sqlite3.Connection, before: int) -> bool:
    """Write the next stretch anew if most of it is older; return whether it was."""
    first = _packed(connection) + 1
    found = connection.execute(
        "SELECT * FROM entry WHERE n >= ? ORDER BY n LIMIT ?", (first, STRETCH)
    )
    header = [column[0] for column in found.description].index("header")
    rows = found.fetchall()
    if len(rows) < STRETCH or _stamp(rows, header) >= before:
        return False
    last = rows[-1][0]
    _write_anew(connection, rows, last)
    connection.execute("INSERT OR REPLACE INTO local VALUES (?, ?)", (PACKED, str(last).encode()))
    return True


def pack_around(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Write what lies around these entries anew, as far as it was before.

    Writing entries anew may have left copies of words in the gaps of pages near by: pages
    that are emptied are zeroed as a whole.
    """
    packed = _packed(connection)
    done = 0
    for number in sorted(numbers):
        if done < number <= packed:
            done = number + STRETCH // 4
            rows = connection.execute(
                "SELECT * FROM (SELECT * FROM entry WHERE n <= ?1 ORDER BY n DESC LIMIT ?2)"
                " UNION ALL SELECT * FROM (SELECT * FROM entry WHERE n > ?1 ORDER BY n LIMIT ?2)"
                " ORDER BY n",
                (number, STRETCH // 2),
            ).fetchall()
            _write_anew(connection, rows, rows[-1][0])


def _write_anew(connection: sqlite3.Connection, rows: list[Row], last: int) -> None:
    connection.execute("DELETE FROM entry WHERE n BETWEEN ? AND ?", (rows[0][0], last))
    marks = ", ".join("?" * len(rows[0]))
    # One after the other from the first on: then pages are filled.
    connection.executemany(f"INSERT INTO entry VALUES ({marks})", rows)  # noqa: S608 -- ours


def _packed(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT value FROM local WHERE name = ?", (PACKED,)).fetchone()
    return 0 if row is None else int(row[0])


def _stamp(rows: list[Row], header: int) -> int:
    """Return the milliseconds in the middle of their stamps: one alone may say anything."""
    stamps = [bytes(row[header][_STAMP]) for row in rows]
    return int.from_bytes(median_low(stamps), "big") >> COUNTER_BITS
