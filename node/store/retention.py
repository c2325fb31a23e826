"""How long words are kept here: those on what is over go by age, decisions stay.

Each machine does this for itself; no entry says so, and nothing is proved by it. A store
holds contiguous logs, so what it let go is never fetched again.
"""

import sqlite3
from collections.abc import Iterable

from node.store import erasing
from sync.log.hlc import COUNTER_BITS

_STAMP_BYTES = 8
_LATEST = (1 << 8 * _STAMP_BYTES - COUNTER_BITS) - 1
"""The last millisecond that a stamp can name."""

_DUE = """
SELECT about.ask FROM about LEFT JOIN ask ON ask.id = about.ask
WHERE CASE
    WHEN ask.id IS NULL THEN NOT EXISTS (
        SELECT 1 FROM about AS one JOIN entry ON entry.n = one.n WHERE one.ask = about.ask
        AND substr(entry.header, 91, 8) >= ?2)  -- its stamp
    WHEN ask.state = 'posted' THEN ask.created < ?1 AND NOT EXISTS (
        SELECT 1 FROM entry WHERE hash = ask.entry_hash AND substr(header, 91, 8) >= ?2)
    WHEN ask.state = 'waiting' THEN EXISTS (
        SELECT 1 FROM node WHERE node.id = ask.home AND node.removed < ?1)
    ELSE ask.closed < ?1 AND NOT EXISTS (
        SELECT 1 FROM entry WHERE hash = ask.final_hash AND substr(header, 91, 8) >= ?2)
END
GROUP BY about.ask LIMIT ?3
"""


def due(connection: sqlite3.Connection, before: int, limit: int) -> list[str]:
    """Return asks whose words are here and that were over before this time, by their machine.

    What is open is never among them, unless its machine was removed before. What is over is
    so by its machine's clock and by the stamp: that clock may be years behind, but stamps are
    not behind those of the others once it has met them. Words on what is no ask here go by
    the stamp of their entries.
    """
    stamp = (min(max(before, 0), _LATEST) << COUNTER_BITS).to_bytes(_STAMP_BYTES, "big")
    return [ask for (ask,) in connection.execute(_DUE, (before, stamp, limit))]


def let_go(connection: sqlite3.Connection, asks: Iterable[str]) -> None:
    """Drop the words on these asks, and what is only of use while somebody may act on them."""
    for ask in asks:
        erasing.erase_ask(connection, ask)
        for table in ("ask_key", "gate_call"):
            connection.execute(f"DELETE FROM {table} WHERE ask = ?", (ask,))  # noqa: S608 -- ours
