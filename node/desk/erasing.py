"""An owner has the words of an ask erased: everywhere, for good, and the ask ends with them.

What the owner says is an entry like any other. Each machine that gets it erases its own
copy (`node.store.erasing`); the home closes what is still open.
"""

import asyncio
import sqlite3

from node.backup.private import COPY, sweep
from node.desk import persons
from node.desk.closing import close, void
from node.desk.context import Context
from node.desk.rows import find, select
from node.desk.views import Looking
from node.store import erasing, exchange
from node.store.transaction import Transaction
from sync import limits
from sync.decide.ask import AskState, Outcome, check_words
from sync.decide.handover import Void
from sync.decide.people import Act, may
from sync.errors import Invalid, NotAllowed
from sync.log.facts import EntryPoint, RedactedFacts, RedactedText
from sync.log.kinds import EntryType
from web.desk import Erasing, Viewer
from web.views import AskView

LEFT = (
    "home = ? AND (state = 'waiting' OR (state = 'closed' AND outcome IN ('allowed', 'answered')))"
    " AND id IN (SELECT ask FROM redaction)"
)
"""Asks that wait, and verdicts that an agent would still act on."""


async def redact(context: Context, viewer: Viewer, ask_id: str, wanted: Erasing) -> AskView:
    """Have every word on an ask erased on all machines. Persons only: owners.

    Raises `NotFound`, `NotAllowed`, and `Invalid` where what was typed is not the ask's id.
    Saying it again changes nothing.
    """
    check_words("reason", wanted.reason or "", limits.TITLE_CHARACTERS)

    def job(transaction: Transaction) -> AskView:
        row = find(transaction.connection, ask_id)
        check_may(transaction, viewer)
        if wanted.confirm.strip().lower() not in (row.id, context.short(row.id)):
            raise Invalid(
                f"{wanted.confirm[:80]!r} is not the id of this ask, so nothing was erased.",
                hint=f"Type {context.short(row.id)} to have its text erased.",
            )
        if erasing.redacted(transaction.connection, row.id) is None:
            say(transaction, row.id, viewer, wanted.reason)
            close_erased(transaction)
            transaction.change("ask", row.id)
        looking = Looking(context, transaction.connection, viewer.person)
        return looking.ask(find(transaction.connection, row.id))

    view = await context.writer.run("redact", job)
    await wipe(context)
    return view


def check_may(transaction: Transaction, viewer: Viewer) -> None:
    """Refuse who may not have words erased. Raises `NotAllowed`."""
    person = persons.everyone(transaction.connection).get(viewer.person)
    if not may(person, Act.ERASE):
        raise NotAllowed("Only an owner can have a text erased.", hint="Ask an owner of the fleet.")
    if not persons.speaks_for(transaction.connection, transaction.identity.name, viewer.person):
        raise NotAllowed(
            "This machine does not speak for you, so the others would not accept it from here.",
            hint="Do it on a machine that is yours.",
        )


def say(transaction: Transaction, about: str, viewer: Viewer, reason: str | None) -> None:
    """Record that the words of an ask, or of a message, are to be erased."""
    points = [
        EntryPoint(author=author, log=log, seq=seq, hash=entry)
        for author, log, seq, entry in transaction.rows(
            "SELECT author, log, seq, hash FROM about JOIN entry ON entry.n = about.n"
            " WHERE ask = ? OR ask IN (SELECT old FROM ask_alias WHERE new = ?)"
            " ORDER BY entry.n LIMIT ?",
            about,
            # Only this machine knows under which id it had raised it before.
            about,
            limits.REDACTED_ENTRIES,
        )
    ]
    transaction.append(
        EntryType.REDACTED,
        RedactedFacts(
            ask=about,
            entries=points,
            by=viewer.person,
            heads=persons.heads(transaction.connection),
            at=transaction.now,
        ),
        RedactedText(reason=reason),
    )


def close_erased(transaction: Transaction) -> None:
    """End asks of this machine whose words were erased, and verdicts nobody has acted on.

    While nothing may be decided here they stay as they are; the sweeper comes back to them.
    """
    if transaction.silenced is not None:
        return
    for row in select(transaction.connection, LEFT, (transaction.identity.name,)):
        if row.state == AskState.CLOSED.value:
            void(transaction, row, Void.ERASED)
        else:
            said = erasing.redacted(transaction.connection, row.id)
            person = persons.everyone(transaction.connection).get(said.person if said else "")
            by = f" by {person.name}" if person else ""
            close(transaction, row, Outcome.WITHDRAWN, reason=f"its text was erased{by}")


def left_open(connection: sqlite3.Connection, home: str) -> bool:
    """Whether `close_erased` has something to do."""
    sql = f"SELECT 1 FROM ask WHERE {LEFT} LIMIT 1"  # noqa: S608 -- a constant
    return connection.execute(sql, (home,)).fetchone() is not None


async def wipe(context: Context) -> None:
    """Remove what an owner had erased from beside the store: blobs, and copies of the store.

    A killed `askmesh backup` left those; one that is being made is left alone.
    """
    await asyncio.to_thread(sweep, context.blobs.home, COPY)
    await wipe_blobs(context)


async def wipe_blobs(context: Context) -> int:
    """Remove the files of blobs whose words were erased; return how many.

    A start after a crash removes what was left.
    """

    def read(connection: sqlite3.Connection) -> list[tuple[bytes, bool]]:
        return [
            (bytes(blob), exchange.is_wanted(connection, blob))
            for (blob,) in connection.execute(
                "SELECT blob FROM trace LIMIT ?", (limits.WIPED_AT_ONCE,)
            )
        ]

    found = await context.reader.run(read)
    if not found:
        return 0
    gone = [blob for blob, wanted in found if not wanted]
    await asyncio.to_thread(context.blobs.wipe, gone)

    def done(transaction: Transaction) -> None:
        for blob, _ in found:
            transaction.run("DELETE FROM trace WHERE blob = ?", blob)

    await context.writer.run("wiped", done)
    return len(gone)
