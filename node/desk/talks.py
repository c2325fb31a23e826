"""Messages between agents as a person sees them: reading along, writing, erasing."""

import sqlite3
from functools import partial

from node import limits
from node.desk import persons
from node.desk.context import Context
from node.desk.erasing import check_may, say, wipe
from node.desk.message_records import Sending
from node.desk.message_rows import MessageRow, Whereabouts, find, select, short, text_of
from node.desk.sending import TOPIC, Sender
from node.desk.session_views import project_name
from node.desk.sessions import SessionBook
from node.store import erasing
from node.store.transaction import Transaction
from sync.decide.ask import check_words
from sync.errors import Invalid
from sync.limits import TITLE_CHARACTERS
from sync.log.names import SHORT
from web.desk import Erasing, Viewer
from web.talk_views import DeliveryView, MessageView, Talk, Writing
from web.views import ErasedView, MachineView


class Talks:
    """Implements `web.talk_desk.TalkDesk`; the session proves the person."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sender = Sender(context, SessionBook())

    async def latest(
        self,
        viewer: Viewer,  # noqa: ARG002 -- proves a session
        *,
        project: str | None,
        before: int | None,
    ) -> Talk:
        """The latest messages, the newest first."""

        def read(connection: sqlite3.Connection) -> Talk:
            fleet = self._context.identity.fleet
            rows = select(
                connection,
                "WHERE fleet = ?1 AND (?2 IS NULL OR project = ?2) AND (?3 IS NULL OR n < ?3)"
                " ORDER BY n DESC LIMIT ?4",
                (fleet, project, before, limits.MESSAGES_SHOWN + 1),
            )
            projects = connection.execute(
                "SELECT DISTINCT project FROM message WHERE fleet = ? ORDER BY 1", (fleet,)
            )
            shown = rows[: limits.MESSAGES_SHOWN]
            return Talk(
                messages=self._views(connection, shown),
                projects=[name for (name,) in projects],
                more=len(rows) > len(shown),
            )

        return await self._context.reader.run(read)

    async def talk(self, viewer: Viewer, message: str) -> Talk:  # noqa: ARG002 -- proves a session
        """The whole talk of a message, the first one first."""

        def read(connection: sqlite3.Connection) -> Talk:
            row = find(self._context, connection, message)
            rows = select(
                connection,
                "WHERE thread = ? AND fleet = ? ORDER BY n DESC LIMIT ?",
                (row.thread, row.fleet, limits.MESSAGES_SHOWN),
            )
            return Talk(
                messages=self._views(connection, rows[::-1]),
                projects=[row.project],
                more=len(rows) == limits.MESSAGES_SHOWN,
            )

        return await self._context.reader.run(read)

    async def write(self, viewer: Viewer, wanted: Writing) -> MessageView:
        """Write to agents of a project."""
        sending = Sending(
            to=list(wanted.to),
            body=wanted.body,
            subject=wanted.subject,
            reply_to=wanted.reply_to,
        )
        sent = await self._sender.write(viewer, sending, wanted.project)
        return await self._context.reader.run(partial(self._view, message=sent))

    async def redact(self, viewer: Viewer, message: str, wanted: Erasing) -> MessageView:
        """Have the words of a message erased everywhere. Saying it again changes nothing."""
        check_words("reason", wanted.reason or "", TITLE_CHARACTERS)

        def job(transaction: Transaction) -> MessageView:
            row = find(self._context, transaction.connection, message)
            check_may(transaction, viewer)
            if wanted.confirm.strip().lower() not in (row.id, short(row.id)):
                raise Invalid(
                    f"{wanted.confirm[:80]!r} is not the id of this message, so nothing was"
                    " erased.",
                    hint=f"Type {short(row.id)} to have its text erased.",
                )
            if erasing.redacted(transaction.connection, row.id) is None:
                say(transaction, row.id, viewer, wanted.reason)
                transaction.change(TOPIC, row.id)
            return self._view(transaction.connection, message=row.id)

        view = await self._context.writer.run("redact", job)
        await wipe(self._context)
        return view

    def _view(self, connection: sqlite3.Connection, *, message: str) -> MessageView:
        (view,) = self._views(connection, select(connection, "WHERE id = ?", (message,)))
        return view

    def _views(self, connection: sqlite3.Connection, rows: list[MessageRow]) -> list[MessageView]:
        where = Whereabouts(self._context, connection)
        people = {one.id: one.name for one in persons.everyone(connection).values()}
        return [_view(connection, row, where, people) for row in rows]


def _view(
    connection: sqlite3.Connection, row: MessageRow, where: Whereabouts, people: dict[str, str]
) -> MessageView:
    text = text_of(connection, row)
    return MessageView(
        id=row.id,
        short=short(row.id),
        n=row.n,
        project=row.project,
        project_name=project_name(row.project),
        sender=row.agent if row.person is None else people.get(row.person, row.person),
        person=row.person is not None,
        machine=MachineView(id=row.home, short=row.home[:SHORT], name=where.machine(row.home)),
        at=row.at,
        thread=short(row.thread),
        reply_to=None if row.reply_to is None else short(row.reply_to),
        everyone=bool(row.everyone),
        subject="" if text is None else text.subject,
        body=None if text is None else text.body,
        erased=_erased(connection, row, people) if text is None else None,
        to=[
            DeliveryView(
                agent=one.agent,
                machine=one.machine,
                state=one.state,
                at=one.at,
                machine_state=one.machine_state,
            )
            for one in where.recipients(row)
        ],
    )


def _erased(connection: sqlite3.Connection, row: MessageRow, people: dict[str, str]) -> ErasedView:
    said = erasing.redacted(connection, row.id)
    if said is None:
        return ErasedView(by=None, at=None, reason=None)
    return ErasedView(by=people.get(said.person, said.person), at=said.at, reason=said.reason)
