"""Who may pair, and the jobs in which a machine is let in, or enters another fleet."""

import sqlite3

from node.desk.sign_in import JOINED
from node.fleet import addresses, joining, machines, removal, welcome
from node.store import introduced
from node.store.transaction import Transaction
from sync.decide.people import Act, Person
from sync.errors import NotAllowed
from sync.log.facts import MemberFacts
from sync.log.kinds import EntryType
from sync.log.names import node_name
from sync.net.ledger import Address
from sync.wire.pairing_failures import Why, at_joiner, at_minter
from sync.wire.pairing_steps import Candidate, Welcomed
from web.desk import Viewer


def check_may_show(transaction: Transaction, viewer: Viewer) -> None:
    """Raises `NotAllowed`, and `TooLarge` for a fleet that no machine can join."""
    machines.acting(transaction, viewer, Act.MACHINES)
    removed = removal.sentence(transaction.connection)
    if removed is not None:
        raise NotAllowed(removed)
    # Better now than when the other machine has typed the code.
    welcome.told(transaction.connection, transaction.identity.fleet)


def check_still(transaction: Transaction, viewer: Viewer, fleet: bytes) -> Person:
    """Whoever showed the code is asked again for the right to."""
    if transaction.identity.fleet != fleet or removal.removed_here(transaction.connection):
        raise NotAllowed("This machine left the fleet that the code was made for.")
    if not transaction.row("SELECT 1 FROM person_session WHERE id = ?", viewer.session_id):
        raise NotAllowed("Whoever made the code has signed out since.", hint="Make a new one.")
    return machines.acting(transaction, viewer, Act.MACHINES)


def check_may_join(connection: sqlite3.Connection, viewer: Viewer | None) -> None:
    """An owner or admin; anyone while nobody ever signed in. Raises `NotAllowed`."""
    if viewer is not None:
        machines.check_may(connection, viewer, Act.MACHINES)
    elif connection.execute(
        "SELECT 1 FROM person WHERE NOT ended UNION SELECT 1 FROM local WHERE name = ?", (JOINED,)
    ).fetchone():
        raise NotAllowed("Sign in first: this machine has an owner.")


def enter(transaction: Transaction, viewer: Viewer | None, welcomed: Welcomed) -> joining.Entered:
    """Belong to the fleet that let us in: all of it in one transaction, or nothing."""
    connection, identity = transaction.connection, transaction.identity
    check_may_join(connection, viewer)
    if welcomed.fleet == identity.fleet:
        raise at_joiner(Why.ALREADY, machine=welcomed.machine)
    if joining.used_up(connection, welcomed.fleet):
        raise at_joiner(Why.REMOVED)
    members = welcome.members(welcomed, identity.key.node_id)
    entered = joining.enter(
        transaction,
        fleet=welcomed.fleet,
        # The rest is in logs with more between; links bring those whole.
        entries=welcomed.statements[:1],
        sponsor=members[0],
        let_in_by=welcome.let_in_by(welcomed, identity.key.node_id),
    )
    introduced.keep(transaction, members)
    remember(transaction, welcomed.node, welcomed.host, welcomed.port)
    return entered


def remember(transaction: Transaction, node: bytes, host: str, port: int | None) -> None:
    """Keep where the other machine takes links, so that the first one needs no luck."""
    if port:
        at, name = Address(host=host, port=port, source="told"), node_name(node)
        fresh = addresses.fresh(transaction.connection, name, [at])
        addresses.told(transaction, name, fresh)


def state_member(transaction: Transaction, candidate: Candidate, *, by: str) -> None:
    """State that a machine that has proved itself belongs to the fleet."""
    transaction.append(
        EntryType.MEMBER,
        MemberFacts(
            node_key=candidate.node_key,
            certificate=candidate.certificate,
            machine=candidate.machine,
            by=by,
            at=transaction.now,
        ),
    )
    node = node_name(candidate.node)
    if transaction.row("SELECT 1 FROM node WHERE id = ? AND removed IS NULL", node) is None:
        raise at_minter(Why.REFUSED, machine=candidate.machine)
    transaction.change("fleet", node)
