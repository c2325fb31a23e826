"""A node that was removed is told so, with proof, and says so on its own page."""

import datetime as dt
import sqlite3
from collections.abc import Sequence

import msgspec

from node.desk import persons
from node.store.transaction import Transaction
from sync.decide.people import Act, may
from sync.errors import BadEntry, NotAllowed
from sync.log.entry import Entry, decode, verify
from sync.log.facts import RemovedFacts, read
from sync.log.kinds import EntryType
from sync.log.names import node_name

REMOVED = "removed"
"""Name of the local value: by whom, from where and when this node was removed."""


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """What a removed node remembers."""

    by: str
    machine: str
    at: int


def proof(connection: sqlite3.Connection, fleet: bytes, node: bytes) -> list[Entry]:
    """Return the entries that state the removal of `node`."""
    found: list[Entry] = []
    for header, signature, facts, text in connection.execute(
        "SELECT header, signature, facts, text FROM entry"
        " WHERE type = ?1 AND type < 16 AND fleet = ?2"
        " UNION SELECT header, signature, facts, text FROM testimony"
        " WHERE type = ?1 AND fleet = ?2",
        (EntryType.REMOVED.value, fleet),
    ):
        entry = decode(header, signature, facts, text)
        try:
            stated = read(RemovedFacts, facts)
        except BadEntry:
            continue
        if stated.node == node:
            found.append(entry)
    return found


def accept(transaction: Transaction, entries: Sequence[Entry]) -> bool:
    """Remember that we were removed, if one of these proves it; whether it is news.

    Judged by what this node knows: it may have missed the remover's rights, and then goes
    on trying, to no effect. Nobody else can make it give up.
    """
    if transaction.value(REMOVED) is not None:
        return False
    for entry in entries:
        removed = _holds(transaction, entry)
        if removed is not None:
            transaction.keep(REMOVED, msgspec.json.encode(removed))
            transaction.change("fleet", transaction.identity.name)
            # Nothing can be answered here any more, and every card says so.
            for (ask,) in transaction.rows("SELECT id FROM ask WHERE state = 'waiting'"):
                transaction.change("ask", ask)
            return True
    return False


def _holds(transaction: Transaction, entry: Entry) -> Removed | None:
    identity = transaction.identity
    header = entry.header
    if header.fleet != identity.fleet or header.type != EntryType.REMOVED:
        return None
    author = transaction.row(
        "SELECT public_key, name FROM node WHERE id = ? AND removed IS NULL",
        node_name(header.author),
    )
    if author is None:
        return None
    try:
        verify(entry, author[0])
        facts = read(RemovedFacts, entry.facts)
    except BadEntry:
        return None
    connection = transaction.connection
    person = persons.everyone(connection).get(facts.by or "")
    if facts.node != identity.key.node_id or person is None or not may(person, Act.MACHINES):
        return None
    if not persons.speaks_for(connection, node_name(header.author), person.id):
        return None
    return Removed(by=person.name, machine=author[1], at=facts.at)


def removed_here(connection: sqlite3.Connection) -> Removed | None:
    """Return by whom and when this node was removed, None while it is a member."""
    row = connection.execute("SELECT value FROM local WHERE name = ?", (REMOVED,)).fetchone()
    return None if row is None else msgspec.json.decode(row[0], type=Removed)


def over(connection: sqlite3.Connection, here: str) -> bool:
    """Whether this node belongs to its fleet no more: a removal, or a leaving that broke off."""
    stated = connection.execute("SELECT removed FROM node WHERE id = ?", (here,)).fetchone()
    return removed_here(connection) is not None or (stated is not None and stated[0] is not None)


def check_may_begin_anew(connection: sqlite3.Connection, person: str) -> None:
    """Raises `NotAllowed` for who may not take a removed machine for a fleet of its own.

    The fleet's roles have no one to protect there any more. Only an owner who can still
    sign in here goes before the others who can.
    """
    owners = [
        (owner, name)
        for owner, name in connection.execute(
            "SELECT id, name FROM person WHERE role = 'owner' AND NOT ended AND id IN"
            " (SELECT person FROM person_session UNION SELECT person FROM passphrase)"
        )
    ]
    if owners and person not in [owner for owner, _ in owners]:
        names = " or ".join(name for _, name in owners)
        raise NotAllowed(f"Only an owner may do this: {names}.", hint=f"{names} can do it here.")


def sentence(connection: sqlite3.Connection) -> str | None:
    """Return what a removed machine's page says at its top, None while it is a member."""
    removed = removed_here(connection)
    if removed is None:
        return None
    return (
        f"This machine was removed from the fleet by {removed.by} on {removed.machine}"
        f" ({day(removed.at)}). What is answered here reaches nobody; {_way_out(connection)}"
    )


def _way_out(connection: sqlite3.Connection) -> str:
    someone = connection.execute(
        "SELECT 1 FROM person_session UNION SELECT 1 FROM passphrase LIMIT 1"
    ).fetchone()
    if someone is not None:
        return "to use askmesh here again, run: askmesh node leave, or askmesh node rejoin"
    return "to use askmesh on this machine again, run: askmesh node rejoin"


def day(milliseconds: int) -> str:
    """Return a time as it is read on this machine; a peer may have signed any number."""
    try:
        moment = dt.datetime.fromtimestamp(milliseconds / 1000, tz=dt.UTC).astimezone()
    except (OverflowError, ValueError, OSError):
        return "at an unknown time"
    return moment.strftime("%Y-%m-%d %H:%M")
