"""Machines of the fleet as persons act on them: whose they are, removing them."""

import sqlite3

import msgspec

from node.desk import persons
from node.store.transaction import Transaction
from sync.decide.name import checked, is_called
from sync.decide.people import Act, Person, may
from sync.decide.visible import quoted, visible_line
from sync.errors import Conflict, Invalid, NotAllowed, NotFound
from sync.log.facts import CertificateFacts, CutPoint, RemovedFacts
from sync.log.kinds import EntryType
from sync.log.names import SHORT, node_bytes
from sync.net.certificate import certificate_of
from web.desk import Viewer


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table `node`, as acting on it needs it."""

    id: str
    name: str
    removed: bool


def find(connection: sqlite3.Connection, typed: str) -> Machine:
    """Return the machine a person named by full id, short id or name.

    A member is found before one that was removed. Raises `NotFound`, `Invalid`.
    """
    text = typed.strip()
    found = [
        Machine(id=node, name=name, removed=removed is not None)
        for node, name, removed in connection.execute(
            "SELECT id, name, removed FROM node ORDER BY removed IS NOT NULL, id"
        )
        if (len(text) >= SHORT and node.startswith(text.lower())) or is_called(text, name)
    ]
    # A machine may call itself by another one's id.
    found = [machine for machine in found if machine.id == text.lower()] or found
    members = [machine for machine in found if not machine.removed]
    if len(members or found) > 1:
        ids = ", ".join(
            f"{visible_line(machine.name)} ({machine.id[:8]})" for machine in members or found
        )
        raise Invalid(f"{quoted(text)} names several machines: {ids}.", hint="Use the id.")
    if not found:
        hint = "Run: askmesh node list"
        if not text:
            raise Invalid("No machine was named.", hint=hint)
        raise NotFound(f"There is no machine {quoted(text)}.", hint=hint)
    return (members or found)[0]


def acting(transaction: Transaction, viewer: Viewer, act: Act) -> Person:
    """Return the viewer, who may do this from here. Raises `NotAllowed`."""
    person = check_may(transaction.connection, viewer, act)
    if not persons.speaks_for(transaction.connection, transaction.identity.name, person.id):
        raise NotAllowed(
            "This machine does not speak for you, so the others would not accept it from here.",
            hint="Do it on a machine that is yours.",
        )
    return person


def check_may(connection: sqlite3.Connection, viewer: Viewer, act: Act) -> Person:
    """Return the viewer as the statements name them. Raises `NotAllowed`."""
    person = persons.everyone(connection).get(viewer.person)
    if person is None or not may(person, act):
        who = "an owner" if act is Act.PEOPLE else "an owner or an admin"
        if act is Act.SEE:
            raise NotAllowed("You were removed from the fleet.")
        raise NotAllowed(f"Only {who} may do this.", hint=f"Ask {who} of the fleet.")
    return person


def rename(transaction: Transaction, viewer: Viewer, node: str, name: str) -> str:
    """State what this machine is called from now on, and return that.

    Whoever's machine it is says so, on it. Raises `NotAllowed`, `Invalid`, `Conflict`.
    """
    connection, here = transaction.connection, transaction.identity
    person = persons.everyone(connection).get(viewer.person)
    if not may(person, Act.ANSWER) or not persons.speaks_for(connection, here.name, viewer.person):
        raise NotAllowed(
            "Only who may answer on a machine may rename it.",
            hint="Whoever's machine it is can.",
        )
    machine = find(connection, node)
    if machine.id != here.name:
        raise Conflict(
            f"{visible_line(machine.name)} says itself what it is called.",
            hint="Rename it on that machine: askmesh node rename NAME",
        )
    called = checked(
        "machine's name", name, taken=[other for _, other in others(connection, machine.id)]
    )
    if called == machine.name:
        raise Conflict(f"This machine is called {called} already.")
    facts = CertificateFacts(
        certificate=certificate_of(here.key), machine=called, by=viewer.person, at=transaction.now
    )
    transaction.append(EntryType.CERTIFICATE, facts)
    if find(connection, here.name).name != called:
        raise Conflict(
            "This machine is in no fleet any more, so nobody would hear of its name.",
            hint="Give it a new identity first: askmesh node rejoin",
        )
    # Its asks and its agents' sessions are shown with it.
    for (ask,) in transaction.rows(
        "SELECT id FROM ask WHERE home = ? AND state = 'waiting'", here.name
    ):
        transaction.change("ask", ask)
    transaction.change("fleet", here.name)
    return called


def remove(transaction: Transaction, viewer: Viewer, node: str) -> Machine:
    """State that a machine is removed, and up to where its entries count."""
    person = acting(transaction, viewer, Act.MACHINES)
    machine = find(transaction.connection, node)
    if machine.id == transaction.identity.name:
        raise NotAllowed(
            "A machine cannot remove itself.",
            hint="To take it out of the fleet, run: askmesh node leave",
        )
    if machine.removed:
        raise Conflict(f"{machine.name} was removed before.")
    _check_rank(transaction, person, machine)
    _state_removed(transaction, machine.id, person.id, cut=_cut(transaction, machine.id))
    return machine


def _check_rank(transaction: Transaction, person: Person, machine: Machine) -> None:
    """An admin must not be able to lock an owner out."""
    if may(person, Act.PEOPLE):
        return
    owners = transaction.row(
        "SELECT 1 FROM speaks_for JOIN person ON person.id = speaks_for.person"
        " WHERE node = ? AND live AND role = 'owner' AND NOT ended",
        machine.id,
    )
    if owners is not None:
        raise NotAllowed(f"{machine.name} is an owner's machine; only an owner may remove it.")


def leave(transaction: Transaction, viewer: Viewer) -> None:
    """State that this very machine leaves; the decisions log ends with that."""
    here = transaction.identity.name
    if transaction.row("SELECT 1 FROM node WHERE id = ? AND removed IS NOT NULL", here):
        # A leaving that was interrupted, or a removal: there is nothing more to state.
        return
    check_owner_stays(transaction.connection, here)
    chatter = [point for point in _cut(transaction, here) if point.log != 0]
    _state_removed(transaction, here, viewer.person, cut=chatter)


def check_owner_stays(connection: sqlite3.Connection, here: str) -> None:
    """Raises `Conflict` where the others would be left without an owner who has a machine."""
    owned = [
        node
        for (node,) in connection.execute(
            "SELECT DISTINCT node FROM speaks_for JOIN person ON person.id = speaks_for.person"
            " WHERE live AND role = 'owner' AND NOT ended"
        )
    ]
    staying = [name for _, name in others(connection, here)]
    if owned == [here] and staying:
        raise Conflict(
            f"No other machine is an owner's, so {', '.join(staying)} would be left without one.",
            hint="First say that one of them is a machine of an owner (askmesh node assign), or"
            " remove them (askmesh node remove).",
        )


def _cut(transaction: Transaction, node: str) -> list[CutPoint]:
    return [
        CutPoint(log=log, seq=seq, hash=head)
        for log, seq, head in transaction.rows(
            "SELECT log, seq, hash FROM head WHERE author = ? ORDER BY log", node_bytes(node)
        )
    ]


def _state_removed(transaction: Transaction, node: str, by: str, *, cut: list[CutPoint]) -> None:
    transaction.append(
        EntryType.REMOVED,
        RemovedFacts(node=node_bytes(node), cut=cut, by=by, at=transaction.now),
    )
    # Its asks show it as well.
    for (ask,) in transaction.rows("SELECT id FROM ask WHERE home = ? AND state = 'waiting'", node):
        transaction.change("ask", ask)
    transaction.change("fleet", node)


def others(connection: sqlite3.Connection, here: str) -> list[tuple[str, str]]:
    """Return (id, name) of every other member, by name."""
    return [
        (node, name)
        for node, name in connection.execute(
            "SELECT id, name FROM node WHERE id != ? AND removed IS NULL ORDER BY name, id",
            (here,),
        )
    ]
