"""The recovery words: what they end, and whom they let in."""

import hmac

from node.store.transaction import Transaction
from sync.errors import NotAllowed
from sync.log.entry import NodeKey


def recover(transaction: Transaction, key: NodeKey) -> str | None:
    """End every session here; return the owner whom the words let in, None: they are wrong.

    Raises `NotAllowed` where no owner is.
    """
    stored = transaction.row("SELECT recovery_key FROM node WHERE recovery_key NOT NULL")
    if stored is None or not hmac.compare_digest(key.public, bytes(stored[0])):
        return None
    row = transaction.row(
        "SELECT id FROM person JOIN speaks_for ON speaks_for.person = person.id"
        " WHERE role = 'owner' AND NOT ended AND live AND node = ? ORDER BY at LIMIT 1",
        transaction.identity.name,
    )
    if row is None:
        raise NotAllowed(
            "This machine speaks for no owner, so nothing could be done from here.",
            hint="Use the words on a machine of an owner.",
        )
    owner = str(row[0])
    transaction.run("DELETE FROM person_session")
    transaction.run("DELETE FROM passphrase WHERE person = ?", owner)
    transaction.run("DELETE FROM invitation")
    transaction.keep("recovered", str(transaction.now).encode())
    transaction.change("people", owner)
    return owner
