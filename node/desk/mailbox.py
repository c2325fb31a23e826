"""An agent's messages: looking changes nothing, handing leases, acknowledging ends.

What an agent reads is put between marks with a random number (`sync.decide.message`).
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from functools import partial

from node import limits
from node.desk.context import Context
from node.desk.message_records import Acknowledged, Inbox, InboxRow, Sending, Sent
from node.desk.message_rows import MessageRow, Whereabouts, find, select, short, text_of
from node.desk.persons import everyone
from node.desk.protocols import Progress
from node.desk.requests import Asker
from node.desk.sending import TOPIC, Sender, inbox_ref
from node.desk.sessions import SessionBook, hear
from node.store.transaction import Transaction
from sync.decide.message import Delivery, Shown, fenced
from sync.errors import Invalid, NotAllowed
from sync.limits import RECEIPT_MESSAGES
from sync.log.facts import ReceiptFacts
from sync.log.kinds import EntryType

OPEN = (
    "JOIN message_to ON message_to.message = message.id WHERE node = ? AND message_to.agent = ?"
    " AND over = 0 AND project = ? AND fleet = ? AND NOT (home = ? AND session = ?)"
    " ORDER BY n LIMIT ?"
)
"""Messages to an agent that are not over, but for those of the session that looks."""
SENT = "WHERE home = ? AND message.agent = ? AND project = ? AND fleet = ? ORDER BY n DESC"


class Mailbox:
    """What an agent can do with messages. Nothing here answers or closes an ask."""

    def __init__(self, context: Context, book: SessionBook) -> None:
        self._context = context
        self._book = book
        self.sender = Sender(context, book)

    async def send(self, who: Asker, wanted: Sending, *, request: str) -> Sent:
        """Send to agents of the caller's project."""
        return await self.sender.send(who, wanted, request=request)

    async def inbox(
        self,
        who: Asker,
        *,
        sent: bool = False,
        thread: str | None = None,
        wait_s: float = 0.0,
        progress: Progress | None = None,
    ) -> Inbox:
        """Show what waits for the caller; with `wait_s`, wait for it. Marks nothing."""
        await self._heard(who)
        read = partial(self._look, who=who, sent=sent, thread=thread)
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            with self._context.signals.of(inbox_ref(who.project, who.agent)) as changed:
                found = await self._context.reader.run(read)
                left = began + wait_s - loop.time()
                if found.messages or left <= 0:
                    return found
                if progress is not None:
                    await progress(loop.time() - began)
                try:
                    await asyncio.wait_for(changed.wait(), min(left, limits.PROGRESS_EVERY_S))
                except TimeoutError:
                    await self._heard(who)

    async def hand(self, who: Asker, *, most: int = limits.INBOX_SHOWN) -> Inbox:
        """Give the caller what waits, and say so to the senders: a lease, not an end.

        What another session got within `MESSAGE_LEASE_MS`, and which lives, is left to it.
        """

        def job(transaction: Transaction) -> Inbox:
            hear(transaction, who)
            connection = transaction.connection
            rows = [row for row in self._open(connection, who) if self._free(transaction, who, row)]
            found = self._shown(connection, rows[:most], who, left=len(rows))
            given = rows[: len(found.messages)]
            for row in given:
                transaction.run(
                    "INSERT INTO message_lease VALUES (?1, ?2, ?3, ?4, 1) ON CONFLICT"
                    " (message, agent) DO UPDATE SET session = ?3, until = ?4, times = times + 1",
                    row.id,
                    who.agent,
                    who.session,
                    transaction.now + limits.MESSAGE_LEASE_MS,
                )
            self._receive(transaction, who, given, Delivery.HANDED)
            return found

        return await self._context.writer.run("hand", job)

    async def ack(self, who: Asker, ids: Sequence[str]) -> Acknowledged:
        """Say that these are over: all of them or, where one cannot be, none."""
        if not 0 < len(ids) <= RECEIPT_MESSAGES:
            raise Invalid(
                f"{len(ids)} messages were named.", hint=f"Name 1 to {RECEIPT_MESSAGES} by id."
            )

        def job(transaction: Transaction) -> Acknowledged:
            hear(transaction, who)
            rows = {
                row.id: row for row in (self._mine(transaction.connection, who, one) for one in ids)
            }
            self._receive(transaction, who, list(rows.values()), Delivery.ACKNOWLEDGED)
            for message in rows:
                transaction.run(
                    "DELETE FROM message_lease WHERE message = ? AND agent = ?", message, who.agent
                )
            return Acknowledged(acknowledged=[short(message) for message in rows])

        return await self._context.writer.run("ack", job)

    def _receive(
        self, transaction: Transaction, who: Asker, rows: Sequence[MessageRow], status: Delivery
    ) -> None:
        """Say what became of messages, of those that it was not said of before."""
        here = transaction.identity.name
        said = "SELECT 1 FROM receipt WHERE message = ? AND node = ? AND agent = ? AND status = ?"
        fresh = [
            row.id
            for row in rows
            if transaction.row(said, row.id, here, who.agent, status.value) is None
        ]
        for start in range(0, len(fresh), RECEIPT_MESSAGES):
            transaction.append(
                EntryType.RECEIPT,
                ReceiptFacts(
                    status=status.value,
                    messages=fresh[start : start + RECEIPT_MESSAGES],
                    agent=who.agent,
                    session=who.session,
                    at=transaction.now,
                ),
            )
        transaction.change_all(TOPIC, fresh)

    def _open(self, connection: sqlite3.Connection, who: Asker) -> list[MessageRow]:
        identity = self._context.identity
        here = identity.name
        session = (here, who.session)
        values = (here, who.agent, who.project, identity.fleet, *session, limits.INBOX_COUNTED)
        return select(connection, OPEN, values)

    def _mine(self, connection: sqlite3.Connection, who: Asker, typed: str) -> MessageRow:
        row = find(self._context, connection, typed)
        to_me = connection.execute(
            "SELECT 1 FROM message_to WHERE message = ? AND node = ? AND agent = ?",
            (row.id, self._context.identity.name, who.agent),
        ).fetchone()
        if to_me is None or row.project != who.project:
            raise NotAllowed(
                f"{short(row.id)} is not a message to you, so you cannot acknowledge it.",
                hint="List those that are.",
                tool="inbox",
            )
        return row

    def _free(self, transaction: Transaction, who: Asker, row: MessageRow) -> bool:
        held = transaction.row(
            "SELECT session, until, last_heard, ended FROM message_lease LEFT JOIN agent_session"
            " ON agent_session.id = session WHERE message = ? AND message_lease.agent = ?",
            row.id,
            who.agent,
        )
        if held is None:
            return True
        session, until, heard, ended = held
        if session == who.session:
            return bool(until <= transaction.now)
        alive = not ended and (heard or 0) + limits.MESSAGE_LEASE_MS > transaction.now
        return not alive or bool(until <= transaction.now)

    def _look(
        self, connection: sqlite3.Connection, *, who: Asker, sent: bool, thread: str | None
    ) -> Inbox:
        identity = self._context.identity
        if thread is not None:
            first = find(self._context, connection, thread).thread
            rows = [
                row
                for row in select(
                    connection,
                    "WHERE thread = ? AND project = ? AND fleet = ? ORDER BY n DESC LIMIT ?",
                    (first, who.project, identity.fleet, limits.MESSAGES_SHOWN),
                )
                if self._known(connection, who, row)
            ][::-1]
        elif sent:
            values = (identity.name, who.agent, who.project, identity.fleet)
            rows = select(connection, f"{SENT} LIMIT {limits.INBOX_SHOWN}", values)[::-1]
        else:
            rows = self._open(connection, who)
        return self._shown(connection, rows[: limits.INBOX_SHOWN], who, left=len(rows))

    def _known(self, connection: sqlite3.Connection, who: Asker, row: MessageRow) -> bool:
        here = self._context.identity.name
        if (row.home, row.agent) == (here, who.agent):
            return True
        to_me = "SELECT 1 FROM message_to WHERE message = ? AND node = ? AND agent = ?"
        return connection.execute(to_me, (row.id, here, who.agent)).fetchone() is not None

    def _shown(
        self, connection: sqlite3.Connection, rows: Sequence[MessageRow], who: Asker, *, left: int
    ) -> Inbox:
        """Return as many of these as one reply takes; one always fits."""
        where = Whereabouts(self._context, connection)
        people = {one.id: one.name for one in everyone(connection).values()}
        shown: list[InboxRow] = []
        size = 0
        for row in rows:
            one = self._row(connection, row, who, where, people)
            size += len(one.text)
            if shown and size > limits.INBOX_CHARACTERS:
                break
            shown.append(one)
        return Inbox(messages=shown, more=left - len(shown))

    def _row(
        self,
        connection: sqlite3.Connection,
        row: MessageRow,
        who: Asker,
        where: Whereabouts,
        people: dict[str, str],
    ) -> InboxRow:
        here = self._context.identity.name
        to = where.recipients(row)
        own = (row.home, row.agent) == (here, who.agent)
        mine = [one for one in to if one.agent == who.agent and one.machine_state == "here"]
        sender = f"{row.agent}@{where.machine(row.home)}"
        if row.person is not None:
            sender = people.get(row.person, row.person)
        return InboxRow(
            id=short(row.id),
            full_id=row.id,
            sender=sender,
            person=row.person is not None,
            at=row.at,
            thread=short(row.thread),
            reply_to=None if row.reply_to is None else short(row.reply_to),
            everyone=bool(row.everyone),
            state=mine[0].state if mine else Delivery.CARRIED.value,
            times=_times(connection, row, who),
            to=to if own else [],
            text=self._fenced(connection, row, sender),
        )

    def _fenced(self, connection: sqlite3.Connection, row: MessageRow, sender: str) -> str:
        text = text_of(connection, row)
        shown = Shown(
            id=short(row.id),
            sender=sender,
            person=row.person is not None,
            subject="" if text is None else text.subject,
            body=None if text is None else text.body,
        )
        return fenced(shown, self._context.random(limits.NONCE_BYTES).hex())

    async def _heard(self, who: Asker) -> None:
        if self._book.due(who, self._context.clock.now()):
            try:
                await self._context.writer.run("heard", lambda job: hear(job, who))
            except Exception:
                self._book.forget(who.session)
                raise


def _times(connection: sqlite3.Connection, row: MessageRow, who: Asker) -> int:
    """Return how often a message was handed out to an agent."""
    lease = connection.execute(
        "SELECT times FROM message_lease WHERE message = ? AND agent = ?", (row.id, who.agent)
    ).fetchone()
    return 0 if lease is None else int(lease[0])
