"""How findings name entries and machines."""

import sqlite3

from sync.log.kinds import EntryType, Log
from sync.log.names import SHORT, node_name

_TYPES = {kind.value: kind.name.lower().replace("_", " ") for kind in EntryType}


class Names:
    """The machines by the names they have in this store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._names = {str(node): str(name) for node, name in _named(connection)}

    def machine(self, author: bytes) -> str:
        """Return a machine's name and short id."""
        node = node_name(author)
        name = self._names.get(node)
        return f"{name} ({node[:SHORT]})" if name else node[: 2 * SHORT]

    def log(self, author: bytes, log: int) -> str:
        """Return `desk (k7qf)'s decisions`."""
        word = Log(log).name.lower() if log in (Log.DECISIONS, Log.CHATTER) else f"log {log}"
        return f"{self.machine(author)}'s {word}"

    def entry(self, author: bytes, log: int, seq: int, kind: int) -> str:
        """Return `entry 12 (final) of desk (k7qf)'s decisions`."""
        return f"entry {seq} ({_TYPES.get(kind, f'type {kind}')}) of {self.log(author, log)}"


def _named(connection: sqlite3.Connection) -> list[tuple[object, object]]:
    try:
        return connection.execute("SELECT id, name FROM node").fetchall()
    except sqlite3.Error:
        # That the table cannot be read is found elsewhere; ids name the machines as well.
        return []
