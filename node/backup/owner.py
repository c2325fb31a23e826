"""Who may back up or restore: an owner, known by what a store says of its owners."""

import hmac
import sqlite3
from typing import Final

from node.desk.passphrase import same
from node.identity import recovery_from_words
from sync.errors import Invalid

WITH_WORDS: Final = "an owner with the recovery words"

_OWNERS: Final = (
    "SELECT person.name, salt, hash FROM passphrase JOIN person ON person.id = passphrase.person"
    " WHERE role = 'owner' AND NOT ended ORDER BY person.name"
)


def nobody_signed_in(store: sqlite3.Connection) -> bool:
    """Whether there is no person at all who could prove anything."""
    return store.execute("SELECT 1 FROM person LIMIT 1").fetchone() is None


def proved(store: sqlite3.Connection, typed: str) -> str | None:
    """Return the name of the owner who typed their passphrase, or the recovery words.

    None: it is neither. Takes tens of milliseconds for each owner.
    """
    found = None
    for name, salt, stored in store.execute(_OWNERS).fetchall():
        if same(typed, salt, stored):
            found = str(name)
    return found or (WITH_WORDS if _are_the_words(store, typed) else None)


def _are_the_words(store: sqlite3.Connection, typed: str) -> bool:
    row = store.execute("SELECT recovery_key FROM node WHERE recovery_key NOT NULL").fetchone()
    try:
        key = recovery_from_words(typed)
    except Invalid:
        return False
    return row is not None and hmac.compare_digest(key.public, bytes(row[0]))
