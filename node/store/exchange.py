"""What links read of the store: how far logs are held, stretches of them, missing blobs."""

import sqlite3
from collections.abc import Collection

from node.store import derive, forks
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry, decode
from sync.log.kinds import Log
from sync.log.vector import Place, Wanted


def vector(connection: sqlite3.Connection) -> dict[Place, Head]:
    """Return how far every log of our fleet is held, as far as it counts.

    What a removed node said beyond its cut, and anyone from where its log forked, is offered
    to nobody: stores that have it, and stores that do not, are equal.
    """
    held = {
        (author, log): Head(seq=seq, hash=head)
        for author, log, seq, head in connection.execute("SELECT author, log, seq, hash FROM head")
    }
    fleet = derive.fleet_of(connection)
    for (of, author), end in derive.ends(connection, fleet).items():
        for log in Log if end is not None and of == fleet else ():
            head = held.get((author, log), EMPTY)
            last = (end or {}).get(log, EMPTY.seq)
            if head.seq > last:
                del held[author, log]
            if head.seq > last > EMPTY.seq:
                held[author, log] = _head_at(connection, fleet, (author, log), last)
    for place, frozen in forks.known(connection, fleet).items():
        if held.get(place, EMPTY).seq < frozen.seq:
            continue
        if frozen.end == EMPTY:
            del held[place]
        else:
            held[place] = frozen.end
    return held


def _head_at(connection: sqlite3.Connection, fleet: bytes, place: Place, seq: int) -> Head:
    (entry_hash,) = connection.execute(
        "SELECT hash FROM entry WHERE fleet = ? AND author = ? AND log = ? AND seq = ?",
        (fleet, *place, seq),
    ).fetchone()
    return Head(seq=seq, hash=entry_hash)


def entries(
    connection: sqlite3.Connection, fleet: bytes, wanted: Wanted, *, entries: int, size: int
) -> list[Entry]:
    """Return a stretch of one log from `wanted.first` on.

    At most `entries` of them and about `size` bytes, but one where there is one.
    """
    found: list[Entry] = []
    used = 0
    for header, signature, facts, text in connection.execute(
        "SELECT header, signature, facts, text FROM entry WHERE fleet = ? AND author = ?"
        " AND log = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?",
        (fleet, wanted.author, wanted.log, wanted.first, wanted.last, entries),
    ):
        used += len(header) + len(signature) + len(facts) + len(text or b"")
        if found and used > size:
            break
        found.append(decode(header, signature, facts, text))
    return found


WANTED = (
    "ask.blob IS NOT NULL"
    " AND EXISTS (SELECT 1 FROM entry WHERE hash = ask.entry_hash AND text IS NOT NULL)"
    " AND NOT EXISTS (SELECT 1 FROM ask AS other JOIN redaction ON redaction.ask = other.id"
    "  WHERE other.blob = ask.blob)"
)
"""Asks whose blob belongs here: its words do, and no owner had that very blob erased."""
OUR_WANTED = (
    f"SELECT 1 FROM ask WHERE blob = ? AND {WANTED}"  # noqa: S608 -- a constant
    " AND fleet = (SELECT value FROM local WHERE name = 'fleet') LIMIT 1"
)
NAMED = "SELECT blob, count(*) FROM ask WHERE blob IS NOT NULL GROUP BY blob"
OPEN_BLOBS = (
    "SELECT blob FROM ask WHERE state = 'waiting' AND blob IS NOT NULL"
    " ORDER BY created DESC, number DESC"
)
Named = tuple[bytes, int]
"""A blob, and how many asks name it."""


def missing_blobs(
    connection: sqlite3.Connection, here: Collection[bytes], over: set[Named], limit: int
) -> list[bytes]:
    """Return blobs that asks of our fleet name and that are not here, those of open asks first.

    `here`: the blobs there are. `over`: blobs that were looked at before and belong here no
    more. It is added to: of a long past nothing is looked at twice.
    """
    lacking = {
        bytes(blob): asks
        for blob, asks in connection.execute(NAMED)
        if blob not in here and (blob, asks) not in over
    }
    if not lacking:
        return []
    opened = [blob for (blob,) in connection.execute(OPEN_BLOBS) if blob in lacking]
    found: list[bytes] = []
    for blob in dict.fromkeys([*opened, *lacking]):
        if len(found) == limit:
            break
        if connection.execute(OUR_WANTED, (blob,)).fetchone() is not None:
            found.append(blob)
        else:
            over.add((blob, lacking[blob]))
    return found


def is_wanted(connection: sqlite3.Connection, blob: bytes) -> bool:
    """Whether a blob belongs here."""
    sql = f"SELECT 1 FROM ask WHERE blob = ? AND {WANTED} LIMIT 1"  # noqa: S608 -- a constant
    return connection.execute(sql, (blob,)).fetchone() is not None


def wanted_blobs(connection: sqlite3.Connection) -> set[bytes]:
    """Return every blob that belongs here, fetched or not."""
    sql = f"SELECT blob FROM ask WHERE {WANTED}"  # noqa: S608 -- a constant
    return {bytes(blob) for (blob,) in connection.execute(sql)}
