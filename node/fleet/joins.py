"""What joining another fleet does to this machine, who may, and the one job that does it."""

import sqlite3
from collections.abc import Sequence
from typing import Protocol

import msgspec

from node.fleet import addresses, machines, welcome
from node.store import introduced
from node.store.transaction import Identity, Transaction
from sync.decide.people import Act
from sync.errors import AskmeshError, Conflict, NotAllowed, SignInNeeded
from sync.log.entry import Entry
from sync.log.names import SHORT, node_name
from sync.net.ledger import Address
from sync.wire.pairing_failures import Why, at_joiner
from sync.wire.pairing_steps import Welcomed
from web.desk import Viewer
from web.views import Consequences, JoinedView, MachineView


class Joining(Protocol):
    """What pairing needs of `node.fleet.joining` (the module fits)."""

    def enter(
        self, transaction: Transaction, *, fleet: bytes, entries: Sequence[Entry], founder: bytes
    ) -> int:
        """Leave the fleet of now for this one; return how many open asks were raised again.

        `entries[0]` is the founder's genesis; all signatures were checked. Ends the local
        persons and their sessions. The members are kept by the caller (`introduced`).
        """
        ...

    def leave(self, transaction: Transaction, viewer: Viewer) -> None:
        """Begin a fleet of one, the viewer its owner, after `machines.leave` was stated."""
        ...


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What was so when joining began."""

    fleet: bytes
    others: list[str]
    """Names of the other members of our fleet."""
    keys: frozenset[bytes]
    """Their public keys."""


class Entered(msgspec.Struct, frozen=True, kw_only=True):
    """What became of it."""

    machines: int
    raised_again: int


def check_may(connection: sqlite3.Connection, viewer: Viewer | None) -> None:
    """Raises `SignInNeeded`, `NotAllowed` for who may not take this machine elsewhere."""
    if viewer is not None:
        machines.check_may(connection, viewer, Act.MACHINES)
    elif connection.execute("SELECT 1 FROM person").fetchone() is not None:
        raise SignInNeeded(
            "Somebody has signed in on this machine, so only an owner or an admin may let it"
            " join another fleet.",
            hint="Sign in first.",
        )


def plan(connection: sqlite3.Connection, viewer: Viewer | None, identity: Identity) -> Plan:
    """Return what joining starts from. Raises `NotAllowed`, and `Conflict` with other members."""
    check_may(connection, viewer)
    here = identity.name
    others = [name for _, name in machines.others(connection, here)]
    if others:
        raise Conflict(_with_others(others)[0], hint=_with_others(others)[1])
    keys = connection.execute(
        "SELECT public_key FROM node WHERE id != ? AND removed IS NULL", (here,)
    )
    known = frozenset(bytes(key) for (key,) in keys)
    return Plan(fleet=identity.fleet, others=others, keys=known)


def consequences(connection: sqlite3.Connection, viewer: Viewer | None, here: str) -> Consequences:
    """Say what joining will do, or why it cannot be."""
    try:
        check_may(connection, viewer)
    except AskmeshError as error:
        return Consequences(allowed=False, sentences=[error.sentence, error.hint])
    others = [name for _, name in machines.others(connection, here)]
    if others:
        return Consequences(allowed=False, sentences=_with_others(others))
    (waiting,) = connection.execute(
        "SELECT count(*) FROM ask WHERE state = 'waiting' AND home = ?", (here,)
    ).fetchone()
    persons = [
        name for (name,) in connection.execute("SELECT name FROM person WHERE NOT ended ORDER BY 1")
    ]
    sentences = [
        (
            "This machine joins the fleet of the machine that shows the code. Its own fleet, which"
            " has no other machine, ends; what was written here stays, and can only be read."
        ),
        (
            "Every member of that fleet reads everything that is asked and answered here from then"
            " on. Its rules apply, no longer those of this machine."
        ),
    ]
    if waiting:
        asks = "1 open ask is" if waiting == 1 else f"{waiting} open asks are"
        sentences.append(
            f"{asks} raised again there; agents that wait for an answer go on waiting."
        )
    if persons:
        sentences.append(
            f"The sign-in of {', '.join(persons)} here ends. This page works again once an owner"
            " there has said whose machine this is, and six digits were typed across both screens."
        )
    return Consequences(allowed=True, sentences=sentences)


def enter(
    transaction: Transaction,
    viewer: Viewer | None,
    begun: Plan,
    welcomed: Welcomed,
    joining: Joining,
) -> Entered:
    """Belong to the fleet that let us in; whole, or nothing of it."""
    connection, identity = transaction.connection, transaction.identity
    again = plan(connection, viewer, identity)
    if again.fleet != begun.fleet:
        raise NotAllowed("This machine changed its fleet meanwhile.", hint="Begin again.")
    if welcomed.fleet == identity.fleet:
        raise at_joiner(Why.ALREADY, machine=welcomed.machine)
    if transaction.row("SELECT 1 FROM fleet_left WHERE fleet = ?", welcomed.fleet):
        raise at_joiner(Why.REMOVED)
    members = welcome.members(welcomed, identity.key.node_id)
    raised = joining.enter(
        transaction,
        fleet=welcomed.fleet,
        entries=welcomed.statements,
        founder=welcomed.founder,
    )
    introduced.keep(transaction, members)
    sponsor = node_name(welcomed.node)
    if welcomed.port is not None:
        at = Address(host=welcomed.host, port=welcomed.port, source="told")
        addresses.told(transaction, sponsor, addresses.fresh(connection, sponsor, [at]))
    transaction.change("fleet", identity.name)
    return Entered(machines=len(members) + 1, raised_again=raised)


def view(welcomed: Welcomed, entered: Entered) -> JoinedView:
    """Return what is shown to who joined."""
    name = node_name(welcomed.node)
    return JoinedView(
        machine=MachineView(id=name, short=name[:SHORT], name=welcomed.machine),
        machines=entered.machines,
        raised_again=entered.raised_again,
        sentence=(
            f"This machine belongs to the fleet of {welcomed.machine} ({name[:8]}) now:"
            f" {entered.machines} machines. An owner there has to say whose machine it is:"
            " askmesh node assign."
        ),
    )


def leave_consequences(connection: sqlite3.Connection, viewer: Viewer, here: str) -> Consequences:
    """Say what leaving will do, or why it cannot be. Only an owner may: it founds a fleet."""
    try:
        machines.check_may(connection, viewer, Act.PEOPLE)
    except NotAllowed as error:
        return Consequences(allowed=False, sentences=[error.sentence, error.hint])
    others = [name for _, name in machines.others(connection, here)]
    if not others:
        return Consequences(
            allowed=False,
            sentences=["This machine is alone in its fleet: there is nothing to leave."],
        )
    return Consequences(
        allowed=True,
        sentences=[
            (
                f"This machine leaves the fleet of {', '.join(others)} and becomes a fleet of its"
                f" own, with {viewer.name} as its owner. What was written stays on all machines."
            ),
            (
                "Nothing new goes to the others, or comes from them. Open asks of this machine are"
                " raised again in its own fleet."
            ),
            (
                "It cannot come back with this key: to join that fleet again, it has to begin anew"
                " with an empty directory."
            ),
        ],
    )


def _with_others(others: Sequence[str]) -> list[str]:
    return [
        (
            f"This machine is in a fleet with {', '.join(others)} already, so it cannot join"
            " another one."
        ),
        (
            "If that is the fleet you mean, there is nothing to do. Else leave it first:"
            " askmesh node leave."
        ),
    ]
