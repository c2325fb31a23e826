"""Asks of other machines: how their home stands, and when their sessions were last heard.

What the tables say (removed, forked) goes before what the links say.
"""

import contextlib
import sqlite3

from node.desk.context import Context
from node.desk.rows import AskRow
from node.desk.sight import Sight
from node.store import hold
from node.store.transaction import Transaction
from sync.decide.card_state import HomeState
from sync.errors import BadEntry
from sync.log.facts import AskFacts, FinalFacts, HandoverFacts, ResolvedFacts, read
from sync.log.kinds import EntryType
from sync.log.names import node_bytes, node_name

DISPUTED_READ = 10_000
"""Entries behind a fork that are looked through: far more than a copy says before it is found."""
OF_ASKS: dict[int, type[AskFacts | FinalFacts | HandoverFacts | ResolvedFacts]] = {
    EntryType.ASK: AskFacts,
    EntryType.FINAL: FinalFacts,
    EntryType.HANDOVER: HandoverFacts,
    EntryType.RESOLVED: ResolvedFacts,
}
CARDS_TOLD = 500
"""Asks of one machine whose cards are told anew when the machine comes or goes."""


def sight(context: Context, connection: sqlite3.Connection, node: str) -> Sight:
    """Return how a machine stands, by its full id; one that is no member counts as removed."""
    if node == context.identity.name:
        split = node in forked(connection)
        return Sight(state=HomeState.MUST_REJOIN if split else HomeState.HERE)
    row = connection.execute(
        "SELECT removed, coalesce(person.name, removed_by) FROM node"
        " LEFT JOIN person ON person.id = removed_by WHERE node.id = ?",
        (node,),
    ).fetchone()
    if row is None or row[0] is not None:
        at, by = (None, None) if row is None else row
        return Sight(state=HomeState.REMOVED, at=at, by=by)
    if node in forked(connection):
        return Sight(state=HomeState.MUST_REJOIN)
    return context.fleet.seen(connection, node)


def silenced(context: Context, connection: sqlite3.Connection) -> str | None:
    """Return why nothing may be decided on this machine now, None while all may."""
    identity = context.identity
    return hold.silenced(connection, identity.fleet, identity.key.node_id)


def gone(context: Context, connection: sqlite3.Connection) -> set[str]:
    """Return the homes of open asks that cannot be answered any more."""
    members = {node for (node,) in connection.execute("SELECT id FROM node WHERE removed IS NULL")}
    members.add(context.identity.name)
    members -= forked(connection)
    homes = connection.execute("SELECT DISTINCT home FROM ask WHERE state = 'waiting'")
    return {home for (home,) in homes if home not in members}


def forked(connection: sqlite3.Connection) -> set[str]:
    """Return the nodes whose log has two histories."""
    found = connection.execute(
        "SELECT DISTINCT author FROM fork"
        " WHERE fleet = (SELECT value FROM local WHERE name = 'fleet')"
    )
    return {node_name(author) for (author,) in found}


def disputed(connection: sqlite3.Connection, node: str) -> set[str]:
    """Return the asks of a machine that it said something of after its history split."""
    author = node_bytes(node)
    found: set[str] = set()
    for kind, facts in connection.execute(
        "SELECT entry.type, facts FROM entry JOIN fork ON fork.fleet = entry.fleet"
        " AND fork.author = entry.author AND fork.log = entry.log AND entry.seq >= fork.seq"
        " WHERE entry.fleet = (SELECT value FROM local WHERE name = 'fleet')"
        " AND entry.author = ? ORDER BY entry.seq DESC LIMIT ?",
        (author, DISPUTED_READ),
    ):
        if kind not in OF_ASKS:
            continue
        with contextlib.suppress(BadEntry):
            said = read(OF_ASKS[kind], facts)
            found.add(said.ask if not isinstance(said, AskFacts) else f"{node}-{said.number}")
    return found


def last_heard(context: Context, connection: sqlite3.Connection, row: AskRow) -> int | None:
    """Return when the session that has an ask was last heard, None for one of our own asks.

    Of a session elsewhere only its machine's presence and its own later asks tell.
    """
    if row.home == context.identity.name:
        return None
    (raised,) = connection.execute(
        "SELECT coalesce(max(created), 0) FROM ask WHERE session = ? AND home = ?",
        (row.handed_to, row.home),
    ).fetchone()
    told = [
        session.last_heard
        for session in context.fleet.sessions()
        if session.node == row.home and session.id == row.handed_to
    ]
    return max([int(raised), *told])


def tell_cards(transaction: Transaction, node: str) -> None:
    """A machine came or went: number a change of each ask of it that is not settled."""
    for (ask,) in transaction.rows(
        "SELECT id FROM ask WHERE home = ? AND state IN ('waiting', 'closed', 'handed')"
        " ORDER BY created DESC LIMIT ?",
        node,
        CARDS_TOLD,
    ):
        transaction.change("ask", ask)
