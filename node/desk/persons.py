"""Persons as the membership entries state them, and who could answer now."""

import sqlite3

from node.store import membership_tables
from sync.decide.people import Act, Person, may, reach
from sync.decide.versions import role_of


def everyone(connection: sqlite3.Connection) -> dict[str, Person]:
    """Return all persons by id, ended ones too."""
    return {
        person: Person(id=person, name=name, role=role_of(role), ended=bool(ended))
        for person, name, role, ended in connection.execute(
            "SELECT id, name, role, ended FROM person"
        )
    }


def heads(connection: sqlite3.Connection) -> list[bytes]:
    """Return the membership heads a final names: it is checked as of these."""
    return membership_tables.heads(connection)


def speaks_for(connection: sqlite3.Connection, node: str, person: str) -> bool:
    """Whether votes of `person` signed by `node` count."""
    row = connection.execute(
        "SELECT live FROM speaks_for WHERE node = ? AND person = ?", (node, person)
    ).fetchone()
    return row is not None and bool(row[0])


def with_passphrase(connection: sqlite3.Connection) -> list[tuple[str, str, bytes, bytes]]:
    """Return who signs in here by passphrase: id, name, salt and hash."""
    return connection.execute(
        "SELECT passphrase.person, name, salt, hash FROM passphrase"
        " JOIN person ON person.id = passphrase.person WHERE NOT ended ORDER BY name, person.id"
    ).fetchall()


def reachable(connection: sqlite3.Connection, role: str | None) -> tuple[int, str | None]:
    """Return how many persons could answer now, and why nobody could.

    Someone whom no machine speaks for has nowhere to answer from, and to a machine that was
    removed no answer comes.
    """
    # Told by `node.fleet.removal`, which builds on this room.
    if connection.execute("SELECT 1 FROM local WHERE name = 'removed'").fetchone() is not None:
        return 0, "this machine was removed from its fleet; no answer reaches it any more"
    everybody = everyone(connection)
    with_machine = connection.execute("SELECT DISTINCT person FROM speaks_for WHERE live")
    return reach((everybody[one] for (one,) in with_machine if one in everybody), role)


def conflicts(connection: sqlite3.Connection, viewer: Person | None) -> list[str]:
    """Return what two people changed at the same time, for who may settle it."""
    if not may(viewer, Act.RULES):
        return []
    found = [
        f"Two changes were made to {name} at the same time; the stricter counts until an owner"
        " settles it."
        for (name,) in connection.execute(
            "SELECT name FROM person WHERE split AND NOT ended"
            " UNION SELECT person.name FROM speaks_for JOIN person ON person.id = person"
            " WHERE speaks_for.split ORDER BY 1"
        )
    ]
    (rules,) = connection.execute("SELECT count(*) FROM rules WHERE in_force").fetchone()
    if rules > 1:
        found.append(
            f"{rules} rules files were applied at the same time and are all in force: the"
            " strictest counts. Apply the one that is meant, to settle it."
        )
    return found


def may_answer(person: Person) -> bool:
    """Whether this person may answer anything at all."""
    return may(person, Act.ANSWER)
