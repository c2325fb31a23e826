"""Messages as rows of the store: finding one, its words, and how far it has come."""

import sqlite3
from typing import Any

import msgspec

from node.desk import far
from node.desk.context import Context
from node.desk.message_records import Recipient
from sync.decide.message import Delivery, reached
from sync.errors import BadEntry, Invalid, NotFound
from sync.log.facts import MessageText, read_text
from sync.log.names import SHORT, split_message


class MessageRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table `message`, column by column."""

    id: str
    n: int
    fleet: bytes
    home: str
    number: int
    entry_hash: bytes
    project: str
    agent: str
    session: str
    person: str | None
    everyone: int
    reply_to: str | None
    thread: str
    at: int


COLUMNS = ", ".join(f"message.{name}" for name in MessageRow.__struct_fields__)


def select(
    connection: sqlite3.Connection, tail: str, values: tuple[Any, ...] = ()
) -> list[MessageRow]:
    """Return messages; `tail` (joins and conditions) is ours, `values` come from outside."""
    sql = f"SELECT {COLUMNS} FROM message {tail}"  # noqa: S608 -- see the contract
    names = MessageRow.__struct_fields__
    return [
        MessageRow(**dict(zip(names, record, strict=True)))
        for record in connection.execute(sql, values)
    ]


def find(context: Context, connection: sqlite3.Connection, typed: str) -> MessageRow:
    """Return the message that somebody named, by full or short id; a bare number is of here.

    Raises `Invalid` for what is no id or names several, `NotFound` for none.
    """
    prefix, number = split_message(typed)
    # `prefix` is [a-z2-7]* by its grammar, so it holds no wildcard.
    here = context.identity.name
    found = select(
        connection,
        "WHERE number = ? AND home LIKE ? || '%' AND fleet = ? ORDER BY home = ? DESC LIMIT 3",
        (number, prefix, context.identity.fleet, here),
    )
    if not found:
        raise NotFound(
            f"There is no message {typed[:80]}.", hint="List those to you.", tool="inbox"
        )
    if len(found) > 1 and found[0].home != here:
        ids = ", ".join(row.id for row in found)
        raise Invalid(f"{typed[:80]} names several messages: {ids}.")
    return found[0]


def short(message: str) -> str:
    """Return a message's short id."""
    home, _, number = message.rpartition("-")
    return f"{home[:SHORT]}-{number}"


def text_of(connection: sqlite3.Connection, row: MessageRow) -> MessageText | None:
    """Return the words; None where they were erased, or are no words of a message."""
    record = connection.execute(
        "SELECT text FROM entry WHERE hash = ?", (row.entry_hash,)
    ).fetchone()
    try:
        return read_text(MessageText, None if record is None else record[0])
    except BadEntry:
        return None


class Whereabouts:
    """How far messages have come, in one reading of one snapshot."""

    def __init__(self, context: Context, connection: sqlite3.Connection) -> None:
        self._context = context
        self._connection = connection
        self.names = {
            node: str(name) for node, name in connection.execute("SELECT id, name FROM node")
        }
        self._states: dict[str, str] = {}

    def machine(self, node: str) -> str:
        """A machine's name; of one that is not known, its short id."""
        return self.names.get(node, node[:SHORT])

    def recipients(self, row: MessageRow) -> list[Recipient]:
        """Return to whom a message goes, and how far it is there."""
        return [
            self._recipient(row, node, agent)
            for node, agent in self._connection.execute(
                "SELECT node, agent FROM message_to WHERE message = ? ORDER BY agent, node",
                (row.id,),
            )
        ]

    def _recipient(self, row: MessageRow, node: str, agent: str) -> Recipient:
        said = dict(
            self._connection.execute(
                "SELECT status, min(at) FROM receipt WHERE message = ? AND node = ?"
                " AND agent IN (?, '') GROUP BY status",
                (row.id, node, agent),
            )
        )
        delivery = reached(said, here=node == row.home)
        at = said.get(delivery.value)
        if at is None and delivery is Delivery.CARRIED:
            at = row.at
        return Recipient(
            agent=agent,
            machine=self.machine(node),
            state=delivery.value,
            at=at,
            machine_state=self._state(node),
        )

    def _state(self, node: str) -> str:
        if node not in self._states:
            sight = far.sight(self._context, self._connection, node)
            self._states[node] = sight.state.value
        return self._states[node]
