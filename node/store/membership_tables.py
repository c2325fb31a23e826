"""The tables node, cut, person, speaks_for and rules: the fleet as its statements settle.

They are rewritten from `entry` whenever a statement arrives, in whatever order that was.
"""

import sqlite3

from sync.decide.membership import Membership


def apply(connection: sqlite3.Connection, fleet: bytes) -> set[bytes]:
    """Bring the tables to what the stored statements of `fleet` say. Idempotent.

    Call it after the entry was stored. Returns the authors of whom entries stored here
    were voided by a cut just now: what was derived from those must be derived again.
    """
    raise NotImplementedError


def settled(connection: sqlite3.Connection, fleet: bytes) -> Membership:
    """Return what the stored statements of `fleet` settle to."""
    raise NotImplementedError


def heads(connection: sqlite3.Connection) -> list[bytes]:
    """Return the newest statements that count: what a statement and a final name."""
    raise NotImplementedError
