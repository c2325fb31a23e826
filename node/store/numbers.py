"""The number of an ask, which its author gives it, and what has it already."""

import sqlite3

from sync.errors import BadEntry
from sync.log.entry import Entry
from sync.log.names import NUMBER_MAX, ask_name


def named(entry: Entry, number: int) -> str:
    """Return the id of an ask of the author's. Raises `BadEntry` where none can have it."""
    if not 0 < number <= NUMBER_MAX:
        raise BadEntry("An ask has a number that no ask can have.")
    return ask_name(entry.header.author, number)


def taken(connection: sqlite3.Connection, entry: Entry, number: int) -> str:
    """Return the id of a question or approval; a note that has it gives way. Raises `BadEntry`.

    Copies of one directory that take turns can use a number in either log, and fork none. So
    that every machine shows the same, the ask stands, whichever of the two came first.
    """
    ask = named(entry, number)
    connection.execute("DELETE FROM ask WHERE id = ? AND state = 'posted'", (ask,))
    return ask
