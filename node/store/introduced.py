"""Who lets this node in: members that a pairing named, until the log itself says so.

A node that joins a fleet has nothing of its log yet, and must know whom to link to and
whose entries to take. What is kept here came through a pairing that both sides proved.
"""

import sqlite3
from collections.abc import Sequence

import msgspec

from node.store import derive
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


def listed(connection: sqlite3.Connection) -> list[Introduced]:
    """Return all whom the pairing named."""
    row = connection.execute("SELECT value FROM local WHERE name = ?", (INTRODUCED,)).fetchone()
    return [] if row is None else msgspec.json.decode(row[0], type=list[Introduced])


def known(connection: sqlite3.Connection) -> list[Introduced]:
    """Return those whom the log does not name yet: to be linked to, and their entries taken.

    Who let this node in stated so knowing all whom it named: once that statement counts
    here, nobody belongs whom the log does not name, whatever the pairing said. Then only a
    certificate that the log still lacks is taken from here.
    """
    members = listed(connection)
    if not members:
        return []
    stated = {
        bytes(public_key): bool(complete)
        for public_key, complete in connection.execute(
            "SELECT public_key, certificate IS NOT NULL OR removed IS NOT NULL FROM node"
        )
    }
    here = connection.execute("SELECT value FROM local WHERE name = ?", (derive.NODE,)).fetchone()
    settled = here is not None and any(sha256(public_key) == here[0] for public_key in stated)
    return [member for member in members if not stated.get(member.public_key, settled)]


def key(connection: sqlite3.Connection, author: bytes) -> bytes | None:
    """Return the public key of someone whom the log does not name yet."""
    return next((one.public_key for one in known(connection) if one.node == author), None)
