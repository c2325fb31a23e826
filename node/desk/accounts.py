"""How accounts stand, as the tables say: who can answer, what is handed over."""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from node.desk.rows import AskRow
from sync.decide import standing
from sync.decide.ask import Outcome
from sync.decide.people import MAY, Act, Person
from sync.decide.standing import Said
from sync.decide.versions import role_of
from sync.errors import AccountHeld
from sync.log.facts import FinalFacts, VoteFacts, read

SAID = "SELECT person, source, level, remedy, reason, serial, by, at, counts, heads FROM standing"
OWNERS = b""
"""The source of what owners say."""


def said(connection: sqlite3.Connection) -> list[Said]:
    """Return the word of each source on each account."""
    return [
        Said(
            person=person or None,
            source=source,
            level=standing.level_of(level),
            remedy=remedy,
            reason=reason,
            serial=serial,
            by=by,
            at=at,
            counts=bool(counts),
            heads=hashes(heads),
        )
        for person, source, level, remedy, reason, serial, by, at, counts, heads in (
            connection.execute(SAID)
        )
    ]


def hashes(heads: str) -> tuple[bytes, ...]:
    """Return the hashes in a column `heads`."""
    return tuple(bytes.fromhex(head) for head in json.loads(heads))


def refuses(connection: sqlite3.Connection, person: str | None) -> Said | None:
    """Return the word by which answers of a person do not count; None: they do."""
    return standing.refuses(said(connection), person)


def check_answers(connection: sqlite3.Connection, person: str) -> None:
    """Raise `AccountHeld` (403) where answers of a person do not count."""
    held = refuses(connection, person)
    if held is not None:
        raise AccountHeld(standing.refusal(held), hint=hint(connection, held, person))


def held_at_home(connection: sqlite3.Connection, person: str, home: str) -> AccountHeld:
    """Return the error for an answer that its home refused: it is kept, and does not count."""
    held = refuses(connection, person)
    return AccountHeld(
        f"The account was on hold when your answer reached {home}, so it does not count.",
        hint="Answer again once that is settled."
        if held is None
        else hint(connection, held, person),
    )


def hint(connection: sqlite3.Connection, held: Said, person: str) -> str:
    """Return what to do: where it is settled for who may, else who can see to it."""
    if not standing.EFFECTS[held.level].remedy:
        return ""
    if sees_remedy(connection, person):
        why = f"{held.reason.rstrip('.')}. " if held.reason else ""
        return f"{why}Settle it at {held.remedy}" if held.remedy else why.strip()
    return standing.fixed_by(fixers(connection))


def sees_remedy(connection: sqlite3.Connection, person: str) -> bool:
    """Whether a person is shown what is to be done: owners and admins are."""
    row = connection.execute(
        "SELECT role FROM person WHERE id = ? AND NOT ended", (person,)
    ).fetchone()
    return row is not None and Act.RULES in MAY[role_of(row[0])]


def fixers(connection: sqlite3.Connection) -> list[str]:
    """Return the names of those who are shown what is to be done."""
    return [
        name
        for name, role in connection.execute(
            "SELECT DISTINCT person.name, role FROM person JOIN speaks_for"
            " ON speaks_for.person = person.id WHERE NOT ended AND live ORDER BY person.name"
        )
        if Act.RULES in MAY[role_of(role)]
    ]


def allow_held(
    connection: sqlite3.Connection, row: AskRow, known: list[Said] | None = None
) -> Said | None:
    """Return the word by which an allow is not handed over now; None: nothing holds it.

    The account of all is asked, and that of each person whose vote is in the final.
    """
    if row.outcome != Outcome.ALLOWED.value or row.final_hash is None:
        return None
    words = said(connection) if known is None else known
    if all(standing.EFFECTS[one.level].answers for one in words):
        return None
    held = [standing.refuses(words, person) for person in _voters(connection, row.final_hash)]
    return max((one for one in held if one is not None), key=standing.severity, default=None)


def on_card(
    connection: sqlite3.Connection,
    row: AskRow,
    known: list[Said],
    own: Said | None,
    people: Mapping[str, Person],
) -> dict[str, Any]:
    """Return how accounts stand as a card shows it; `own`: by what the viewer is held."""
    held = allow_held(connection, row, known)
    whose = people.get(held.person or "") if held else None
    return {
        "account": own.level if own else None,
        "account_whole": own is None or own.person is None,
        "allow_held": held.level if held else None,
        "allow_held_of": whose.name if whose else None,
    }


def _voters(connection: sqlite3.Connection, final: bytes) -> list[str]:
    record = connection.execute("SELECT facts FROM entry WHERE hash = ?", (final,)).fetchone()
    if record is None:
        return []
    return [read(VoteFacts, vote.facts).person for vote in read(FinalFacts, record[0]).votes]


def conflicts(connection: sqlite3.Connection) -> list[str]:
    """Return what owners said of accounts at the same time, for who may settle it."""
    names = dict(connection.execute("SELECT id, name FROM person"))
    found = [
        f"Two owners said at the same time how the account of {names.get(one.person or '', '?')}"
        " stands; the stricter counts until an owner says it again."
        for one in said(connection)
        if one.source == OWNERS and len(one.heads) > 1
    ]
    found += [
        f"Two owners changed the operator {name} at the same time; it counts only once an owner"
        " registers it again."
        for name, heads in connection.execute("SELECT name, heads FROM operator ORDER BY name")
        if len(hashes(heads)) > 1
    ]
    return found
