"""The tables of messages and of what became of them, from the entries that say so.

A receipt may come before its message: each finds what the other left, so the order of
arrival makes no difference.
"""

import contextlib
import sqlite3
from collections.abc import Iterable

from node.store import membership_tables
from sync.decide.message import SAID, Delivery
from sync.decide.people import Act, may
from sync.errors import BadEntry, Invalid
from sync.limits import MESSAGE_RECIPIENTS, NAME_CHARACTERS, RECEIPT_MESSAGES
from sync.log.entry import HASH_BYTES, Entry
from sync.log.facts import MessageFacts, ReceiptFacts, RedactedFacts, read
from sync.log.kinds import EntryType
from sync.log.names import NUMBER_MAX, message_name, node_name, split_message

TABLES = ("message", "message_to", "receipt")
"""What `node.store.projection` derives here and beside it."""
_STATUSES = {one.value for one in SAID}
_OVER = Delivery.ACKNOWLEDGED.value


def message(connection: sqlite3.Connection, entry: Entry, entry_hash: bytes, n: int) -> bool:
    """Keep a message; False where it rests on statements that are not here yet.

    Raises `BadEntry` for what nobody could mean, or had no right to say.
    """
    facts, header = read(MessageFacts, entry.facts), entry.header
    _check(facts)
    if facts.person is not None:
        known = membership_tables.settled_as_of(connection, header.fleet, facts.heads)
        if known is None:
            return False
        who = known.person(facts.person)
        if not known.speaks(header.author, facts.person) or not may(who, Act.ANSWER):
            raise BadEntry("A message was written for a person by who may not do so.")
    name = message_name(header.author, facts.number)
    connection.execute(
        "INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            name,
            n,
            header.fleet,
            node_name(header.author),
            facts.number,
            entry_hash,
            facts.project,
            facts.agent,
            facts.session,
            facts.person,
            facts.everyone,
            facts.reply_to,
            facts.thread or name,
            facts.at,
        ),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO message_to VALUES (?1, ?2, ?3, EXISTS ("
        "SELECT 1 FROM receipt WHERE message = ?1 AND node = ?2 AND agent = ?3 AND status = ?4))",
        [(name, node_name(one.node), one.agent, _OVER) for one in facts.to],
    )
    return True


def _check(facts: MessageFacts) -> None:
    if not 0 < facts.number <= NUMBER_MAX:
        raise BadEntry("A message has a number that no message can have.")
    if (facts.person is None) == (not facts.agent):
        raise BadEntry("A message is of nobody, or of an agent and a person at once.")
    if len(facts.to) > MESSAGE_RECIPIENTS or not all(
        len(one.node) == HASH_BYTES and 0 < len(one.agent) <= NAME_CHARACTERS for one in facts.to
    ):
        raise BadEntry("A message goes to what is no agent.")
    for named in (facts.reply_to, facts.thread):
        if named is not None and not _is_id(named):
            raise BadEntry("A message answers what is no message.")


def _is_id(text: str) -> bool:
    with contextlib.suppress(Invalid):
        prefix, _ = split_message(text)
        return len(prefix) == len(node_name(bytes(HASH_BYTES))) and text == text.strip().lower()
    return False


def receipt(connection: sqlite3.Connection, entry: Entry) -> None:
    """Keep what a node says became of messages to it; the first word of each kind counts.

    A word nobody knows is a newer node's: kept in the log, and without meaning here. Raises
    `BadEntry`.
    """
    facts, node = read(ReceiptFacts, entry.facts), node_name(entry.header.author)
    if facts.status not in _STATUSES:
        return
    if len(facts.messages) > RECEIPT_MESSAGES or not all(map(_is_id, facts.messages)):
        raise BadEntry("A receipt is of what is no message.")
    if bool(facts.agent) == (facts.status == Delivery.CARRIED.value):
        raise BadEntry("A receipt is of no agent, or of a single one where it is of all.")
    connection.executemany(
        "INSERT OR IGNORE INTO receipt VALUES (?, ?, ?, ?, ?, ?)",
        [(one, node, facts.agent, facts.status, facts.session, facts.at) for one in facts.messages],
    )
    if facts.status == _OVER:
        connection.executemany(
            "UPDATE message_to SET over = 1 WHERE message = ? AND node = ? AND agent = ?",
            [(one, node, facts.agent) for one in facts.messages],
        )


def told(connection: sqlite3.Connection, run: Iterable[Entry]) -> list[str]:
    """Return the messages that these entries, which were applied, are or speak of."""
    found: dict[str, None] = {}
    for entry in run:
        with contextlib.suppress(BadEntry):
            if entry.header.type == EntryType.MESSAGE:
                facts = read(MessageFacts, entry.facts)
                found[message_name(entry.header.author, facts.number)] = None
            elif entry.header.type == EntryType.RECEIPT:
                found |= dict.fromkeys(read(ReceiptFacts, entry.facts).messages)
            elif entry.header.type == EntryType.REDACTED:
                found[read(RedactedFacts, entry.facts).ask] = None
    return [
        one
        for one in found
        if connection.execute("SELECT 1 FROM message WHERE id = ?", (one,)).fetchone() is not None
    ]
