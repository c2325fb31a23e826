"""The people of the fleet as persons act on them: roles, removing, whose machine, consents."""

import msgspec

from node.desk import persons
from node.fleet import machines
from node.store import membership_tables
from node.store.transaction import Transaction
from sync.decide.name import checked
from sync.decide.people import Act, Person, Role, gives, may
from sync.decide.visible import quoted
from sync.errors import Conflict, Invalid, NotAllowed, NotFound
from sync.log.facts import ConsentFacts, PersonFacts, SpeaksForFacts
from sync.log.kinds import EntryType
from sync.log.names import node_bytes
from web.desk import Viewer


class Guest(msgspec.Struct, frozen=True, kw_only=True):
    """Someone who is to come: a new person of this name and role."""

    name: str
    role: str
    by: str
    """Id of the person who invites."""


# --- coming -----------------------------------------------------------------------------------


def guest(transaction: Transaction, viewer: Viewer, name: str, role: str) -> Guest:
    """Return whom the viewer invites. Raises `NotAllowed`, `Invalid`, `Conflict`."""
    inviter = machines.acting(transaction, viewer, Act.INVITE)
    plain = checked("name", name, taken=persons.names(transaction.connection))
    check_gives(inviter, role, None)
    return Guest(name=plain, role=role, by=inviter.id)


def check_may_invite(transaction: Transaction, viewer: Viewer) -> None:
    """Raises `NotAllowed` for who may invite nobody."""
    machines.acting(transaction, viewer, Act.INVITE)


def check_gives(person: Person, role: str, of: Role | None) -> None:
    """Raises `Invalid` for what is no role, `NotAllowed` for one this person may not give."""
    known = [one.value for one in Role]
    if role not in known:
        raise Invalid(f"There is no role {quoted(role)}.", hint=f"Roles: {', '.join(known)}.")
    if role not in [one.value for one in gives(person, of)]:
        raise NotAllowed(
            "Only an owner may make owners and admins, or change them."
            if may(person, Act.INVITE)
            else "Only an owner or an admin may do this.",
            hint="Ask an owner of the fleet.",
        )


def bring_in(transaction: Transaction, coming: Guest, person: str, node: str) -> bool:
    """State a person whom somebody invited, and whose machine it is; whether that counts.

    Judged anew: who invited may have lost the right since. An admin's word does not say
    whose machine it is; then an owner has to. Raises `NotAllowed`, `Conflict`.
    """
    connection = transaction.connection
    inviter = persons.everyone(connection).get(coming.by)
    here = persons.speaks_for(connection, transaction.identity.name, coming.by)
    if inviter is None or not may(inviter, Act.INVITE) or not here:
        raise NotAllowed(
            "Whoever invited you may not do so any more.", hint="Ask for a new invitation."
        )
    check_gives(inviter, coming.role, None)
    name = checked("name", coming.name, taken=persons.names(connection))
    transaction.append(
        EntryType.PERSON,
        PersonFacts(person=person, name=name, role=coming.role, by=inviter.id, at=transaction.now),
    )
    if may(inviter, Act.PEOPLE):
        transaction.append(
            EntryType.SPEAKS_FOR,
            SpeaksForFacts(
                node=node_bytes(node), person=person, on=True, by=inviter.id, at=transaction.now
            ),
        )
    transaction.change("people", person)
    transaction.change("fleet", node)
    return persons.speaks_for(connection, node, person)


# --- changing ---------------------------------------------------------------------------------


def set_role(transaction: Transaction, viewer: Viewer, who: str, role: str) -> Person:
    """State what a person is from now on; settles what others changed at the same time.

    Raises `NotFound`, `NotAllowed`, `Conflict`.
    """
    actor = machines.acting(transaction, viewer, Act.INVITE)
    person = persons.find(transaction.connection, who)
    check_gives(actor, role, person.role)
    row = transaction.row("SELECT split FROM person WHERE id = ?", person.id)
    if person.role.value == role and not (row and row[0]):
        raise Conflict(f"{person.name} is {_a(role)} already.")
    return _state(transaction, actor, person, role=role, ended=False)


def remove(transaction: Transaction, viewer: Viewer, who: str) -> Person:
    """State that a person is ended: their sessions and their votes with them."""
    actor = machines.acting(transaction, viewer, Act.PEOPLE)
    person = persons.find(transaction.connection, who)
    return _state(transaction, actor, person, role=person.role.value, ended=True)


def _state(
    transaction: Transaction, actor: Person, person: Person, *, role: str, ended: bool
) -> Person:
    settled = membership_tables.settled(transaction.connection, transaction.identity.fleet)
    heads = settled.persons[person.id].heads
    transaction.append(
        EntryType.PERSON,
        PersonFacts(
            person=person.id,
            name=person.name,
            role=role,
            ended=ended,
            replaces=heads[0],
            also=list(heads[1:]),
            by=actor.id,
            at=transaction.now,
        ),
    )
    now = persons.everyone(transaction.connection)[person.id]
    if (now.role.value, now.ended) != (role, ended):
        raise Conflict(
            f"{person.name} is the only owner who has a machine, and a fleet needs one."
            if person.role is Role.OWNER
            else f"What others changed of {person.name} at the same time outweighs it.",
            hint="Make someone else an owner first, with a machine of their own: askmesh people"
            " role NAME owner"
            if person.role is Role.OWNER
            else "Ask an owner to settle it.",
        )
    transaction.change("people", person.id)
    # Their votes count no more, and cards say who could answer.
    for (ask,) in transaction.rows("SELECT id FROM ask WHERE state = 'waiting'"):
        transaction.change("ask", ask)
    return now


def _a(role: str) -> str:
    return f"{'an' if role[0] in 'aeiou' else 'a'} {role}"


# --- whose machine ----------------------------------------------------------------------------


def assign(transaction: Transaction, viewer: Viewer, node: str, who: str) -> bool:
    """State that a machine speaks for a person; whether it does, or waits for their consent.

    Raises `NotFound`, `NotAllowed`, and `Conflict` when it does already.
    """
    connection = transaction.connection
    owner = machines.acting(transaction, viewer, Act.PEOPLE)
    machine = machines.find(connection, node)
    if machine.removed:
        raise NotAllowed(f"{machine.name} was removed from the fleet.")
    person = persons.find(connection, who)
    if persons.speaks_for(connection, machine.id, person.id):
        raise Conflict(f"{machine.name} speaks for {person.name} already.")
    if transaction.row("SELECT 1 FROM naming WHERE node = ? AND person = ?", machine.id, person.id):
        raise Conflict(f"{machine.name} waits for {person.name} to agree already.")
    _state_pair(transaction, owner, machine.id, person.id, on=True)
    return persons.speaks_for(connection, machine.id, person.id)


def release(transaction: Transaction, viewer: Viewer, node: str, who: str) -> None:
    """State that a machine speaks for a person no longer: by themself, or by an owner."""
    connection = transaction.connection
    actor = machines.acting(transaction, viewer, Act.SEE)
    machine, person = machines.find(connection, node), persons.find(connection, who)
    if person.id != actor.id and not may(actor, Act.PEOPLE):
        raise NotAllowed("Only an owner may do this.", hint="Ask an owner of the fleet.")
    pair = machine.id, person.id
    if not persons.speaks_for(connection, *pair) and not transaction.row(
        "SELECT 1 FROM naming WHERE node = ? AND person = ?", *pair
    ):
        raise Conflict(f"{machine.name} does not speak for {person.name}.")
    _state_pair(transaction, actor, *pair, on=False)
    if persons.speaks_for(connection, *pair):
        raise Conflict(
            f"{person.name} is the only owner, and {machine.name} their only machine.",
            hint="Give them another machine, or make someone else an owner first.",
        )
    if machine.id == transaction.identity.name:
        transaction.run("DELETE FROM person_session WHERE person = ?", person.id)


def consent(transaction: Transaction, viewer: Viewer, node: str, *, accept: bool) -> None:
    """The viewer agrees that a machine is theirs, as an owner said, or refuses it.

    Raises `NotFound` where nobody named it as theirs, `NotAllowed`.
    """
    connection = transaction.connection
    person = machines.acting(transaction, viewer, Act.SEE)
    machine = machines.find(connection, node)
    row = transaction.row(
        "SELECT entry FROM naming WHERE node = ? AND person = ?", machine.id, person.id
    )
    if row is None:
        raise NotFound(f"Nobody asks whether {machine.name} is yours, or it was settled.")
    if not accept:
        _state_pair(transaction, person, machine.id, person.id, on=False)
        return
    transaction.append(
        EntryType.CONSENT,
        ConsentFacts(
            node=node_bytes(machine.id), person=person.id, named=row[0], at=transaction.now
        ),
    )
    if not persons.speaks_for(connection, machine.id, person.id):
        raise NotAllowed(f"{machine.name} cannot become yours.", hint="Ask an owner why.")
    transaction.change("people", person.id)
    transaction.change("fleet", machine.id)


def _state_pair(transaction: Transaction, by: Person, node: str, person: str, *, on: bool) -> None:
    settled = membership_tables.settled(transaction.connection, transaction.identity.fleet)
    pair = settled.speaks_for.get((node_bytes(node), person))
    heads = () if pair is None else pair.heads
    transaction.append(
        EntryType.SPEAKS_FOR,
        SpeaksForFacts(
            node=node_bytes(node),
            person=person,
            on=on,
            replaces=heads[0] if heads else None,
            also=list(heads[1:]),
            by=by.id,
            at=transaction.now,
        ),
    )
    transaction.change("people", person)
    transaction.change("fleet", node)
