"""The people of the fleet as one of them is shown them."""

import sqlite3

from node.desk import persons
from node.store import membership_tables
from sync.decide.people import Act, Person, Role, gives, may
from sync.log.names import SHORT
from web.desk import Viewer
from web.people_views import ConsentRow, InvitationRow, PeopleView, PersonRow
from web.views import MachineView


def view(connection: sqlite3.Connection, viewer: Viewer, *, fleet: bytes, now: int) -> PeopleView:
    """Return everyone as this viewer is shown them."""
    everyone = persons.everyone(connection)
    me = everyone.get(viewer.person)
    names = {person.id: person.name for person in everyone.values()}
    split = {one for (one,) in connection.execute("SELECT id FROM person WHERE split")}
    theirs = _machines(connection)
    here = membership_tables.settled(connection, fleet).persons
    last = _last_owner(everyone, theirs)
    signed_in = _places(connection, None if may(me, Act.PEOPLE) else viewer.person)
    none = 0 if may(me, Act.PEOPLE) else None
    rows = [
        PersonRow(
            id=one.id,
            name=one.name,
            role=one.role.value,
            you=one.id == viewer.person,
            ended=one.ended,
            split=one.id in split,
            machines=[] if one.ended else theirs.get(one.id, []),
            roles=(
                []
                if one.ended or (one.id == last and one.id not in split)
                else [role.value for role in gives(me, one.role)]
            ),
            removable=not one.ended and may(me, Act.PEOPLE) and one.id != last,
            last_owner=one.id == last,
            places=signed_in.get(one.id, (none, None))[0],
            used=signed_in.get(one.id, (none, None))[1],
        )
        for one in sorted(everyone.values(), key=lambda one: (one.ended, one.name.casefold()))
        # Those of fleets that this machine left are kept for their names only.
        if not one.ended or one.id in here
    ]
    return PeopleView(
        people=rows,
        consents=_consents(connection, viewer, names, all_of_them=may(me, Act.PEOPLE)),
        invitations=_invitations(connection, me, names, now),
        may_invite=[role.value for role in gives(me, None)],
        owner=may(me, Act.PEOPLE),
    )


def _machines(connection: sqlite3.Connection) -> dict[str, list[MachineView]]:
    found: dict[str, list[MachineView]] = {}
    for person, node, name in connection.execute(
        "SELECT person, node.id, node.name FROM speaks_for JOIN node ON node.id = node"
        " WHERE live AND removed IS NULL ORDER BY node.name, node.id"
    ):
        machine = MachineView(id=node, short=node[:SHORT], name=name)
        found.setdefault(person, []).append(machine)
    return found


def _last_owner(everyone: dict[str, Person], machines: dict[str, list[MachineView]]) -> str | None:
    """Return the only owner who has a machine; None: there are several, or none."""
    owners = [
        one.id
        for one in everyone.values()
        if one.role is Role.OWNER and not one.ended and machines.get(one.id)
    ]
    return owners[0] if len(owners) == 1 else None


def _places(
    connection: sqlite3.Connection, only: str | None
) -> dict[str, tuple[int | None, int | None]]:
    """Return in how many places each person is signed in here, and when one was last used."""
    return {
        person: (count, used)
        for person, count, used in connection.execute(
            "SELECT person, count(*), max(last_used) FROM person_session"
            " WHERE kind = 'page' GROUP BY person"
        )
        if only in (None, person)
    }


def _consents(
    connection: sqlite3.Connection, viewer: Viewer, names: dict[str, str], *, all_of_them: bool
) -> list[ConsentRow]:
    return [
        ConsentRow(
            machine=MachineView(id=node, short=node[:SHORT], name=machine),
            person=person,
            name=names.get(person, ""),
            by=names.get(by, ""),
            at=at,
            yours=person == viewer.person,
        )
        for node, machine, person, by, at in connection.execute(
            "SELECT naming.node, node.name, person, naming.by, naming.at FROM naming"
            " JOIN node ON node.id = naming.node ORDER BY naming.at, naming.node"
        )
        if all_of_them or person == viewer.person
    ]


def _invitations(
    connection: sqlite3.Connection, me: Person | None, names: dict[str, str], now: int
) -> list[InvitationRow]:
    if not gives(me, None):
        return []
    return [
        InvitationRow(id=one, name=name, role=role, by=names.get(by, ""), expires=expires)
        for one, name, role, by, expires in connection.execute(
            "SELECT id, name, role, by, expires FROM invitation WHERE expires > ? ORDER BY expires",
            (now,),
        )
    ]
