"""Who lets this node in: members that a pairing named, until the log itself says so.

A node that joins a fleet has nothing of its log yet, and must know whom to link to and
whose entries to take. What is kept here came through a pairing that both sides proved.
"""

import sqlite3
from collections.abc import Sequence

import msgspec

from node.store.transaction import Transaction
from sync.log.entry import sha256

INTRODUCED = "introduced"
"""Name of the local value."""


class Introduced(msgspec.Struct, frozen=True, kw_only=True):
    """One member of the fleet that is joined."""

    public_key: bytes
    certificate: bytes
    """DER."""
    name: str

    @property
    def node(self) -> bytes:
        """The node id."""
        return sha256(self.public_key)


def keep(transaction: Transaction, members: Sequence[Introduced]) -> None:
    """Remember the members of the fleet that is joined; none: forget all."""
    transaction.keep(INTRODUCED, msgspec.json.encode(members) if members else None)


def known(connection: sqlite3.Connection) -> list[Introduced]:
    """Return those whom the log does not name yet."""
    row = connection.execute("SELECT value FROM local WHERE name = ?", (INTRODUCED,)).fetchone()
    if row is None:
        return []
    stated = {
        public_key
        for (public_key,) in connection.execute(
            "SELECT public_key FROM node WHERE certificate IS NOT NULL OR removed IS NOT NULL"
        )
    }
    members = msgspec.json.decode(row[0], type=list[Introduced])
    return [member for member in members if member.public_key not in stated]


def key(connection: sqlite3.Connection, author: bytes) -> bytes | None:
    """Return the public key of someone whom the log does not name yet."""
    return next((one.public_key for one in known(connection) if one.node == author), None)
