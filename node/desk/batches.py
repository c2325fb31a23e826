"""Several answers at once: each its own vote, on what was seen of that one ask."""

import asyncio
import sqlite3
from collections.abc import Sequence

import msgspec

from node.desk.answers import Answers
from node.desk.context import Context
from node.desk.rows import AskRow, find, words
from sync.decide.vote import Decision
from sync.errors import AskmeshError, Invalid, NotFound
from sync.log.entry import sha256
from web.desk import Ballot, Viewer
from web.together_views import BallotFor, Ballots
from web.views import VoteReceipt


async def vote_together(
    answers: Answers, viewer: Viewer, ballots: Ballots
) -> list[VoteReceipt | AskmeshError]:
    """Give several answers; return what became of each. One that fails stops no other.

    Raises `Invalid`, with nothing recorded, for an ask that is named twice, and where calls
    that are not identical are to be allowed together: nobody has read those one by one.
    """
    context = answers.context
    asks = await context.reader.run(lambda connection: _asks(context, connection, ballots.votes))

    async def one(ask: str | AskmeshError, ballot: BallotFor) -> VoteReceipt | AskmeshError:
        if isinstance(ask, AskmeshError):
            return ask
        fields = {name: getattr(ballot, name) for name in _BALLOT}
        try:
            return await answers.vote(viewer, ask, Ballot(**fields, wait_s=ballots.wait_s))
        except AskmeshError as error:
            return error

    given = zip(asks, ballots.votes, strict=True)
    # All are carried to their end, also where a fault of ours ends one of them.
    done = await asyncio.gather(*(one(*each) for each in given), return_exceptions=True)
    outcomes: list[VoteReceipt | AskmeshError] = []
    for outcome in done:
        if isinstance(outcome, BaseException) and not isinstance(outcome, AskmeshError):
            raise outcome
        outcomes.append(outcome)
    return outcomes


_BALLOT = tuple(name for name in BallotFor.__struct_fields__ if name != "ask")


def _asks(
    context: Context, connection: sqlite3.Connection, ballots: Sequence[BallotFor]
) -> list[str | AskmeshError]:
    """Return the full id of each, or why there is none. Raises `Invalid`, see above."""
    found: list[str | AskmeshError] = []
    calls: dict[bytes, str] = {}
    for ballot in ballots:
        try:
            row = find(connection, ballot.ask)
            if ballot.decision == Decision.ALLOW.value:
                calls.setdefault(call_of(context, connection, row), ballot.ask)
        except AskmeshError as error:
            found.append(error)
            continue
        if row.id in found:
            raise Invalid(
                f"{context.short(row.id)} is named twice; nothing was recorded.",
                hint="Name each ask once.",
            )
        found.append(row.id)
    if len(calls) > 1:
        one, other, *_ = calls.values()
        raise Invalid(
            f"{one} and {other} ask for different calls, so they are not allowed together;"
            " nothing was recorded.",
            hint="Only identical calls can be allowed at once. Allow the others one by one.",
        )
    return found


def call_of(context: Context, connection: sqlite3.Connection, row: AskRow) -> bytes:
    """Return what is the same for two approvals only where they ask for the same thing.

    The exact call with folder and files, or the words where there is none. Raises `NotFound`
    for a call that cannot be read here.
    """
    if row.blob is not None:
        return sha256(context.blobs.get(row.blob))
    said = words(connection, row)
    if not said.here:
        raise NotFound("The text of this ask is not here, so it cannot be allowed here.")
    return sha256(msgspec.json.encode([row.kind, row.project, said.title, said.detail]))
