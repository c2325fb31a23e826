"""The recovery words: what they end, on every machine, and whom they let in."""

import hmac
import json
import sqlite3

from node.desk.closing import close
from node.desk.rows import select
from node.store import hold, membership_tables
from node.store.transaction import Transaction
from sync.decide import recovery
from sync.decide.ask import Outcome
from sync.errors import BadEntry, NotAllowed
from sync.log.entry import NodeKey, sha256
from sync.log.facts import GenesisFacts, MemberFacts, PersonFacts, read
from sync.log.kinds import EntryType

RECOVERED = "recovered"
"""Name of the local value: when this machine last heard that the words were used."""
CARRIED_OUT = "recoveries"
"""Name of the local value: the statements of it that were carried out here."""
OWED = "recovery_owed"
"""Name of the local value: open approvals are to end as soon as this machine decides again."""
OPEN = "kind = 'approval' AND state = 'waiting' AND home = ?"
WHY = "the recovery words were used"


def recover(transaction: Transaction, key: NodeKey) -> str | None:
    """End every session here; return the owner whom the words let in, None: they are wrong.

    Raises `NotAllowed` where no owner is.
    """
    stored = _key(transaction.connection)
    if stored is None or not hmac.compare_digest(key.public, stored):
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
    _end(transaction, owner)
    return owner


def tell(transaction: Transaction, key: NodeKey, owner: str) -> None:
    """State that the words were used, for every other machine; this one has done its part.

    Call it once this machine decides, and after `recover`.
    """
    settled = membership_tables.settled(transaction.connection, transaction.identity.fleet)
    known, here = settled.persons[owner], transaction.identity
    facts = PersonFacts(
        person=owner,
        name=known.name,
        role=known.role,
        replaces=known.heads[0],
        also=list(known.heads[1:]),
        by=owner,
        recovered=recovery.sign(
            key, fleet=here.fleet, author=here.key.node_id, person=owner, at=transaction.now
        ),
        at=transaction.now,
    )
    _count(transaction, transaction.append(EntryType.PERSON, facts).hash)
    withdraw(transaction)


def hear(transaction: Transaction) -> None:
    """Carry out, once, what the words that were used on other machines ask of this one."""
    for entry_hash, person in _news(transaction):
        _end(transaction, person)
        _count(transaction, entry_hash)
        if hold.kept(transaction.connection) is None:
            withdraw(transaction)
        else:
            transaction.keep(OWED, b"1")


def withdraw(transaction: Transaction) -> None:
    """End the open approvals of this home: none of them may be decided any more."""
    transaction.keep(OWED, None)
    for row in select(transaction.connection, OPEN, (transaction.identity.name,)):
        close(transaction, row, Outcome.WITHDRAWN, reason=WHY)


def withdraw_owed(transaction: Transaction) -> None:
    """The same where the words were used while this machine decided nothing."""
    if transaction.value(OWED) is not None:
        withdraw(transaction)


def forget(transaction: Transaction) -> None:
    """Another fleet has other words."""
    for name in (RECOVERED, CARRIED_OUT, OWED):
        transaction.keep(name, None)


def heard(connection: sqlite3.Connection) -> int | None:
    """Return when this machine last heard that the words were used; None: never."""
    row = connection.execute("SELECT value FROM local WHERE name = ?", (RECOVERED,)).fetchone()
    return None if row is None else int(row[0])


def _end(transaction: Transaction, owner: str) -> None:
    transaction.run("DELETE FROM person_session")
    transaction.run("DELETE FROM passphrase WHERE person = ?", owner)
    transaction.run("DELETE FROM invitation")
    transaction.keep(RECOVERED, str(transaction.now).encode())
    transaction.change("people", owner)


def _key(connection: sqlite3.Connection) -> bytes | None:
    row = connection.execute("SELECT recovery_key FROM node WHERE recovery_key NOT NULL").fetchone()
    return None if row is None else bytes(row[0])


def _carried_out(transaction: Transaction) -> list[str]:
    value = transaction.value(CARRIED_OUT)
    return [] if value is None else list(json.loads(value))


def _count(transaction: Transaction, entry_hash: bytes) -> None:
    done = [*_carried_out(transaction), entry_hash.hex()]
    transaction.keep(CARRIED_OUT, json.dumps(done).encode())


def _news(transaction: Transaction) -> list[tuple[bytes, str]]:
    """Return each use of the words that was not carried out here, with whom it let in."""
    fleet, key = transaction.identity.fleet, _key(transaction.connection)
    done = set(_carried_out(transaction))
    found = []
    for entry_hash, author, raw in transaction.rows(
        "SELECT hash, author, facts FROM entry WHERE fleet = ? AND type = ? AND type < 16"
        " AND instr(facts, CAST('recovered' AS BLOB)) ORDER BY n",
        fleet,
        EntryType.PERSON.value,
    ):
        try:
            facts = read(PersonFacts, raw)
        except BadEntry:
            continue
        used = key is not None and recovery.holds(facts, fleet=fleet, author=author, key=key)
        if used and entry_hash.hex() not in done:
            found.append((bytes(entry_hash), facts.person))
    return [one for one in found if _concerns(transaction, one[0])] if found else []


def _concerns(transaction: Transaction, entry_hash: bytes) -> bool:
    """Whether this machine was there: who was let in by someone who knew of it was not."""
    here = transaction.identity.key.node_id
    ordered = membership_tables.ordered(transaction.connection, transaction.identity.fleet)
    place = ordered.index.get(entry_hash)
    ours = [
        at
        for at, one in enumerate(ordered.all)
        if isinstance(one.facts, GenesisFacts | MemberFacts) and sha256(one.facts.node_key) == here
    ]
    # Until it is known when this machine was let in, nothing is known of what was before.
    return (
        place is not None
        and bool(ours)
        and not any(ordered.within(place, ordered.before[at]) for at in ours)
    )
