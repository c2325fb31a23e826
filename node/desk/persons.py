"""Persons as the membership entries state them, and who could answer now."""

import sqlite3
from collections.abc import Collection, Mapping

from node.desk import accounts
from node.store import membership_tables
from node.store.transaction import Transaction
from sync.decide import standing
from sync.decide.name import is_called
from sync.decide.people import Act, Person, Role, eligible, may, reach
from sync.decide.quorum import missing
from sync.decide.versions import role_of
from sync.decide.visible import quoted, visible_line
from sync.decide.vote import Vote
from sync.errors import Invalid, NotFound
from sync.log.entry import sha256
from sync.log.facts import MemberFacts, PersonFacts, Quorum, SpeaksForFacts, read
from sync.log.kinds import EntryType


def found_owner(transaction: Transaction, person: str, name: str) -> None:
    """State the fleet's first person, for whom this machine speaks."""
    node = transaction.identity.key.node_id
    now = transaction.now
    transaction.append(
        EntryType.PERSON, PersonFacts(person=person, name=name, role=Role.OWNER.value, at=now)
    )
    transaction.append(
        EntryType.SPEAKS_FOR, SpeaksForFacts(node=node, person=person, on=True, at=now)
    )
    transaction.change("people", person)


def everyone(connection: sqlite3.Connection) -> dict[str, Person]:
    """Return all persons by id, ended ones too."""
    return {
        person: Person(id=person, name=name, role=role_of(role), ended=bool(ended))
        for person, name, role, ended in connection.execute(
            "SELECT id, name, role, ended FROM person"
        )
    }


def find(connection: sqlite3.Connection, who: str) -> Person:
    """Return the living person of this id, else of this name. Raises `NotFound`, `Invalid`.

    An id is nobody's name: what an older node let somebody be called names no other person.
    """
    living = [person for person in everyone(connection).values() if not person.ended]
    typed = who.strip()
    found = [person for person in living if person.id == typed]
    found = found or [person for person in living if is_called(typed, person.name)]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(f"{visible_line(person.name)} ({person.id})" for person in found)
        raise Invalid(f"Several people are called {quoted(typed)}: {ids}.", hint="Use the id.")
    names = ", ".join(sorted(visible_line(person.name) for person in living)) or "nobody"
    hint = f"In this fleet: {names}."
    if not typed:
        raise Invalid("No person was named.", hint=hint)
    raise NotFound(f"There is no person {quoted(typed)}.", hint=hint)


def names(connection: sqlite3.Connection) -> list[str]:
    """Return the names that are taken: of everyone who was not removed."""
    return [person.name for person in everyone(connection).values() if not person.ended]


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
    said = accounts.said(connection)
    able = with_machine(connection, everyone(connection))
    count, why = reach(
        [person for person in able if standing.refuses(said, person.id) is None], role
    )
    if count == 0 and reach(able, role)[0]:
        held = (standing.refuses(said, person.id) for person in able if eligible(person, role))
        worst = max((one for one in held if one is not None), key=standing.severity)
        return 0, standing.no_reach(worst.level)
    return count, why


def with_machine(connection: sqlite3.Connection, people: Mapping[str, Person]) -> list[Person]:
    """Return those of `people` for whom some machine speaks."""
    found = connection.execute("SELECT DISTINCT person FROM speaks_for WHERE live ORDER BY 1")
    return [people[one] for (one,) in found if one in people]


def more_needed(
    connection: sqlite3.Connection, quorum: Quorum, votes: Collection[Vote]
) -> tuple[int, str | None]:
    """Return how many persons could still allow it, and why that is not enough.

    `votes` are those that count by now.
    """
    count, reason = reachable(connection, quorum.role)
    if not count or (quorum == Quorum() and not votes):
        return count, reason
    known = machines(connection, quorum.role)
    said = accounts.said(connection)
    free = {
        person: nodes for person, nodes in known.items() if standing.refuses(said, person) is None
    }
    able, short = missing(quorum, votes, free)
    if not short:
        return able, None
    if len(free) < len(known) and not missing(quorum, votes, known)[1]:
        return able, standing.NO_REACH_OF_SOME
    return able, _too_few(quorum, known)


def machines(connection: sqlite3.Connection, role: str | None) -> dict[str, set[bytes]]:
    """Return where each person who may answer what `role` guards can do so."""
    everybody = everyone(connection)
    found: dict[str, set[bytes]] = {}
    for node, person in connection.execute(
        "SELECT node, person FROM speaks_for JOIN node ON node.id = node"
        " WHERE live AND removed IS NULL"
    ):
        if eligible(everybody.get(person), role):
            found.setdefault(person, set()).add(node.encode())
    return found


def _too_few(quorum: Quorum, machines: Collection[str]) -> str:
    """Why the allows that are needed cannot come, and what would change that."""
    with_role = f" with the role {quorum.role}" if quorum.role else ""
    if not set(machines) - set(quorum.not_by):
        return (
            f"it must be allowed by someone{with_role} whose agent did not ask, and there is"
            " nobody else; an owner has to invite someone"
        )
    return (
        f"it needs {quorum.needed} people{with_role}, each on a machine of their own, and there"
        " are too few; an owner has to invite someone or assign a machine"
    )


def owners(transaction: Transaction) -> list[str]:
    """Return whose agents ask on this machine: those it speaks for, else who let it in."""
    speaks = transaction.rows(
        "SELECT person FROM speaks_for WHERE node = ? AND live ORDER BY person",
        transaction.identity.name,
    )
    if speaks:
        return [person for (person,) in speaks]
    for (facts,) in transaction.rows(
        "SELECT facts FROM entry WHERE fleet = ? AND type = ? ORDER BY n DESC",
        transaction.identity.fleet,
        EntryType.MEMBER.value,
    ):
        member = read(MemberFacts, facts)
        if sha256(member.node_key) == transaction.identity.key.node_id:
            return [member.by]
    return []


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
    found += accounts.conflicts(connection)
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
