"""A call on its way into the store, and out again: whole at its home, elsewhere what may travel."""

import asyncio
import sqlite3
from collections.abc import Sequence

from node.desk.context import Context
from node.desk.raising import CallContent
from node.desk.rows import AskRow
from node.gate.call import Call
from node.gate.hiding import SECRET_BYTES, hide
from sync import limits


async def content_of(context: Context, call: Call, hidden: Sequence[str] = ()) -> CallContent:
    """Store what of a call travels; `hidden` are the arguments that do not."""
    secret = context.random(SECRET_BYTES) if hidden else b""
    travelling = await asyncio.to_thread(hide, call, hidden, secret) if hidden else None
    canonical = call.canonical if travelling is None else travelling.canonical
    salt = context.random(limits.SALT_BYTES)
    blob = await asyncio.to_thread(context.blobs.put, canonical, salt)
    return CallContent(
        tool=call.tool,
        summary=call.summary if travelling is None else travelling.summary,
        canonical=canonical,
        digest=call.digest,
        blob=blob,
        diff=call.diff,
        whole=None if travelling is None else call.canonical,
        secret=secret,
        hidden=0 if travelling is None else travelling.hidden,
    )


def whole(context: Context, connection: sqlite3.Connection, row: AskRow) -> bytes | None:
    """The canonical call as it was made, which only its home has; else as it travelled.

    None where it has no call. Raises `NotFound` where the call is not here.
    """
    if row.blob is None:
        return None
    kept = connection.execute(
        "SELECT canonical FROM hidden_call WHERE ask = ?", (row.id,)
    ).fetchone()
    if kept is not None and any(kept[0]):
        return bytes(kept[0])
    return context.blobs.get(row.blob)
