"""The first reply to each request id: a retry after a restart gets it again."""

from typing import TypeVar

import msgspec

from node import limits
from node.store import erasing
from node.store.transaction import Transaction
from sync.errors import Conflict

ReplyType = TypeVar("ReplyType", bound=msgspec.Struct)


def name(operation: str, session: str, request: str) -> str | None:
    """Return under what a reply is stored; None for a caller that gave no request id."""
    return f"{operation}\0{session}\0{request}" if request else None


def recall(
    transaction: Transaction, request: str | None, kind: type[ReplyType]
) -> ReplyType | None:
    """Return the stored reply to this very request.

    Raises `Conflict` where its words were erased: doing it again would bring them back.
    """
    if request is None:
        return None
    row = transaction.row("SELECT body FROM reply WHERE request = ?", request)
    if row is not None and not row[0]:
        raise Conflict(
            "What was answered to this request was erased by an owner.",
            hint="Ask anew, without what had to be erased.",
        )
    return None if row is None else msgspec.json.decode(row[0], type=kind)


def check_same_call(of: str, asked: str) -> None:
    """Refuse a request id that was used for another call. Raises `Conflict`."""
    if of != asked:
        raise another_call(of)


def another_call(of: str) -> Conflict:
    """Return the error for a request id under which something else was asked."""
    return Conflict(
        f"This request id was used for another call ({of}).",
        hint="Use a new id for each call; only a retry sends the same one.",
    )


def remember(
    transaction: Transaction, request: str | None, reply: msgspec.Struct, ask: str | None
) -> None:
    """Store a reply in the transaction that made it true."""
    if request is not None:
        transaction.run(
            "INSERT OR REPLACE INTO reply (request, body, ask, at) VALUES (?, ?, ?, ?)",
            request,
            msgspec.json.encode(reply),
            ask,
            transaction.now,
        )


def forget_old(transaction: Transaction) -> int:
    """Drop replies older than a day; return how many."""
    return erasing.drop_replies(transaction.connection, transaction.now - limits.REPLY_KEPT_MS)
