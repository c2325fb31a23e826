"""Sending a message: whom it is for, its limits, and the signed entry.

A message is words. Nothing here touches an ask.
"""

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable

import msgspec

from node import limits as node_limits
from node.desk import persons, seats
from node.desk.context import Context
from node.desk.message_records import Sending, Sent
from node.desk.message_rows import MessageRow, Whereabouts, find, select, short, text_of
from node.desk.replies import another_call, name, recall, remember
from node.desk.requests import Asker
from node.desk.sessions import SessionBook, hear
from node.store.transaction import Transaction
from sync import limits
from sync.decide.ask import check_words
from sync.decide.message import Seat, resolve
from sync.decide.people import Act, may
from sync.errors import NotAllowed, TooMany
from sync.log.facts import MessageFacts, MessageText, Recipient
from sync.log.kinds import EntryType
from sync.log.names import message_name, node_bytes
from web.desk import Viewer

MINUTE_S = 60.0
ADDRESS_CHARACTERS = 2 * limits.NAME_CHARACTERS + 1
"""An agent, an @ and a machine."""
NUMBER = "message"
"""Name of the local value: the number of the last message of this node."""
TOPIC = "message"
"""Topic of changes of messages; `ref` is the message's id, or `inbox_ref`."""


def inbox_ref(project: str, agent: str) -> str:
    """Return under what who waits for messages to an agent is woken."""
    return f"inbox\0{project}\0{agent}"


class MinutePace:
    """Writes a minute, by session; on the event loop only."""

    def __init__(self, most: int, seconds: Callable[[], float], what: str, hint: str) -> None:
        self._most = most
        self._what = what
        self._hint = hint
        self._seconds = seconds
        self._recent: dict[str, deque[float]] = {}

    def check(self, session: str) -> None:
        """Count one. Raises `TooMany` that names the limit."""
        now = self._seconds()
        self._recent = {
            name: times for name, times in self._recent.items() if times[-1] > now - MINUTE_S
        }
        recent = self._recent.setdefault(session, deque())
        while recent and recent[0] <= now - MINUTE_S:
            recent.popleft()
        if len(recent) >= self._most:
            raise TooMany(
                f"This session may {self._what.format(most=self._most)} a minute; nothing was"
                " recorded.",
                hint=self._hint,
            )
        recent.append(now)


class Writing(msgspec.Struct, frozen=True, kw_only=True):
    """Who writes, and in which project: an agent's session, or a person."""

    project: str
    me: Seat | None = None
    session: str = ""
    person: str | None = None


class Sender:
    """Sends for agents and for persons."""

    def __init__(self, context: Context, book: SessionBook) -> None:
        self._context = context
        self._book = book
        self._pace = MinutePace(
            node_limits.MESSAGES_PER_MINUTE,
            asyncio.get_running_loop().time,
            "send {most} messages",
            "Put what you have to say into one message. Thanks need none.",
        )

    async def send(self, who: Asker, wanted: Sending, *, request: str) -> Sent:
        """Record an agent's message. Raises `NotFound` where nobody is called so."""
        check(wanted)
        stored = name("send", who.session, request)
        self._book.due(who, self._context.clock.now())
        paced = False
        try:
            self._pace.check(who.session)
        except TooMany:
            # A retry of what is recorded already is answered even so.
            paced = True

        def job(transaction: Transaction) -> Sent:
            known = recall(transaction, stored, Sent)
            if known is not None:
                self._check_same(transaction.connection, known, wanted)
                return known
            if paced:
                self._pace.check(who.session)
            hear(transaction, who)
            row = self._record(transaction, wanted, self._writer(who))
            sent = self._sent(transaction.connection, row)
            remember(transaction, stored, sent, row.id)
            return sent

        try:
            return await self._context.writer.run("send", job)
        except Exception:
            self._book.forget(who.session)
            raise

    async def write(self, viewer: Viewer, wanted: Sending, project: str) -> str:
        """Record a person's message to agents of a project; return its id."""
        check(wanted)
        check_words("project", project, limits.PROJECT_CHARACTERS, needed=True)

        def job(transaction: Transaction) -> str:
            connection = transaction.connection
            if not may(persons.everyone(connection).get(viewer.person), Act.ANSWER):
                raise NotAllowed("You may read along, but not write to agents.")
            if not persons.speaks_for(connection, transaction.identity.name, viewer.person):
                raise NotAllowed(
                    "This machine does not speak for you, so others would not take it from here.",
                    hint="Write on a machine of yours, or an owner can say that this is one.",
                )
            by = Writing(project=project, person=viewer.person)
            return self._record(transaction, wanted, by).id

        self._pace.check(f"person {viewer.person}")
        return await self._context.writer.run("write", job)

    def _writer(self, who: Asker) -> Writing:
        here = self._context
        me = Seat(agent=who.agent, machine=here.machine, node=here.identity.name)
        return Writing(project=who.project, me=me, session=who.session)

    def _record(self, transaction: Transaction, wanted: Sending, by: Writing) -> MessageRow:
        connection = transaction.connection
        seats.remember(self._context, transaction)
        before = self._answered(connection, wanted.reply_to, by)
        to, everyone = self._recipients(connection, wanted, before, by)
        self._check_room(connection, to, by)
        number = int.from_bytes(transaction.value(NUMBER) or b"", "big") + 1
        transaction.keep(NUMBER, number.to_bytes(8, "big"))
        transaction.append(
            EntryType.MESSAGE,
            MessageFacts(
                number=number,
                project=by.project,
                to=[Recipient(node=node_bytes(seat.node), agent=seat.agent) for seat in to],
                agent="" if by.me is None else by.me.agent,
                session=by.session,
                person=by.person,
                heads=[] if by.person is None else persons.heads(connection),
                everyone=everyone,
                reply_to=None if before is None else before.id,
                thread=None if before is None else before.thread,
                at=transaction.now,
            ),
            MessageText(body=wanted.body, subject=wanted.subject),
        )
        sent = message_name(transaction.identity.key.node_id, number)
        transaction.change(TOPIC, sent)
        for seat in to:
            if seat.node == transaction.identity.name:
                transaction.change(TOPIC, inbox_ref(by.project, seat.agent))
        (row,) = select(connection, "WHERE id = ?", (sent,))
        return row

    def _answered(
        self, connection: sqlite3.Connection, typed: str | None, by: Writing
    ) -> MessageRow | None:
        """Return the message that is answered: one of this project that the sender can know."""
        if typed is None:
            return None
        row = find(self._context, connection, typed)
        if row.project != by.project:
            raise NotAllowed(f"{short(row.id)} belongs to another project.")
        if by.me is not None and not _knows(connection, row, by.me):
            raise NotAllowed(
                f"{short(row.id)} was not sent to you, so you cannot answer it.",
                hint="Send a message of your own.",
            )
        return row

    def _recipients(
        self,
        connection: sqlite3.Connection,
        wanted: Sending,
        before: MessageRow | None,
        by: Writing,
    ) -> tuple[list[Seat], bool]:
        seen = seats.known(self._context, connection, by.project)
        if wanted.to:
            lately = seats.lately(seen, self._context.clock.now())
            return resolve(wanted.to, seen, me=by.me, lately=lately)
        if before is None:
            return resolve([], [])
        if before.person is not None:
            # Its writer reads the answer on the page.
            return [], False
        machine = Whereabouts(self._context, connection).machine(before.home)
        return [Seat(agent=before.agent, machine=machine, node=before.home)], False

    def _check_room(self, connection: sqlite3.Connection, to: list[Seat], by: Writing) -> None:
        for seat in to:
            (unread,) = connection.execute(
                "SELECT count(*) FROM message_to JOIN message ON message.id = message_to.message"
                " WHERE message_to.node = ? AND message_to.agent = ? AND over = 0"
                " AND home = ? AND message.agent = ?",
                (seat.node, seat.agent, self._context.identity.name, by.me.agent if by.me else ""),
            ).fetchone()
            if unread >= node_limits.MESSAGES_UNREAD:
                raise TooMany(
                    f"{seat.address} has not acknowledged {unread} messages of yours, the most"
                    " there is room for; this one was not sent.",
                    hint="Wait until it does, or tell a person.",
                    tool="flag",
                )

    def _sent(self, connection: sqlite3.Connection, row: MessageRow) -> Sent:
        to = Whereabouts(self._context, connection).recipients(row)
        return Sent(
            id=short(row.id),
            full_id=row.id,
            thread=short(row.thread),
            to=to,
            read_by_people=not to,
        )

    def _check_same(self, connection: sqlite3.Connection, known: Sent, wanted: Sending) -> None:
        """Refuse a retry that says something else than the first time. Raises `Conflict`."""
        row = find(self._context, connection, known.full_id)
        text = text_of(connection, row)
        if text is not None and (text.body, text.subject) != (wanted.body, wanted.subject):
            raise another_call(known.id)


def check(wanted: Sending) -> None:
    """Check a message before anything is stored. Raises `Invalid` that names the field."""
    check_words("body", wanted.body, limits.MESSAGE_CHARACTERS, needed=True)
    check_words("subject", wanted.subject, limits.TITLE_CHARACTERS)
    if len(wanted.to) > limits.MESSAGE_RECIPIENTS:
        raise TooMany(
            f"{len(wanted.to)} recipients were given; at most {limits.MESSAGE_RECIPIENTS} fit.",
            hint="`everyone` is a recipient as well.",
        )
    for address in wanted.to:
        check_words("recipient", address, ADDRESS_CHARACTERS)


def _knows(connection: sqlite3.Connection, row: MessageRow, me: Seat) -> bool:
    """Whether an agent wrote a message or was sent it."""
    if (row.home, row.agent) == (me.node, me.agent):
        return True
    got = "SELECT 1 FROM message_to WHERE message = ? AND node = ? AND agent = ?"
    return connection.execute(got, (row.id, me.node, me.agent)).fetchone() is not None
