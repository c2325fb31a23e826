"""Persons as the membership entries state them, and who could answer now."""

import sqlite3

from sync.decide.people import Act, Person, Role, may, reach


def everyone(connection: sqlite3.Connection) -> dict[str, Person]:
    """Return all persons by id, ended ones too."""
    return {
        person: Person(id=person, name=name, role=_role(role), ended=bool(ended))
        for person, name, role, ended in connection.execute(
            "SELECT id, name, role, ended FROM person"
        )
    }


def _role(word: str) -> Role:
    """Return a role; one that only a newer askmesh knows may see and nothing else."""
    return next((role for role in Role if role.value == word), Role.VIEWER)


def heads(connection: sqlite3.Connection) -> list[bytes]:
    """Return the membership heads a final names: it is checked as of these."""
    return [
        bytes(head)
        for (head,) in connection.execute(
            "SELECT head FROM person UNION SELECT head FROM speaks_for ORDER BY 1"
        )
    ]


def speaks_for(connection: sqlite3.Connection, node: str, person: str) -> bool:
    """Whether votes of `person` signed by `node` count."""
    row = connection.execute(
        "SELECT live FROM speaks_for WHERE node = ? AND person = ?", (node, person)
    ).fetchone()
    return row is not None and bool(row[0])


def reachable(connection: sqlite3.Connection, role: str | None) -> tuple[int, str | None]:
    """Return how many persons could answer now, and why nobody could."""
    return reach((person for person in everyone(connection).values() if not person.ended), role)


def may_answer(person: Person) -> bool:
    """Whether this person may answer anything at all."""
    return may(person, Act.ANSWER)
