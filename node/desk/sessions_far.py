"""A person's sessions on another machine of theirs, ended from here by a signed letter.

Sessions are known only where they live. The machine that is told checks itself that whoever
asks speaks for the person; nothing but ending can be asked for.
"""

import asyncio
import base64
from typing import Any, Literal

import msgspec

from node import limits
from node.desk import persons
from node.desk.context import Context
from node.desk.post import Post
from node.store.transaction import Transaction
from sync.errors import Conflict, NotAllowed

END = "sessions end"
"""To a machine: end every session of this person."""
ENDED = "sessions ended"
"""Back: how many ended, or that it was refused."""
KINDS = frozenset({END, ENDED})
"""The letters that `FarSessions.letter` reads."""


class EndBody(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for."""

    id: str
    person: str


class EndedBody(msgspec.Struct, frozen=True, kw_only=True):
    """What became of it."""

    id: str
    state: Literal["ended", "refused"]
    count: int = 0


class FarSessions:
    """Asks other machines to end sessions, and ends those of here for them."""

    def __init__(self, context: Context, post: Post) -> None:
        self._context = context
        self._post = post
        self._asked: dict[tuple[str, str], asyncio.Future[EndedBody]] = {}

    async def end(self, person: str, node: str, machine: str) -> int:
        """End every session of a person on another machine; how many there were.

        Raises `NotAllowed` when it refuses, `Conflict` when it does not answer.
        """
        name = base64.b32encode(self._context.random(15)).decode().lower()
        future: asyncio.Future[EndedBody] = asyncio.get_running_loop().create_future()
        self._asked[node, name] = future
        try:
            body = msgspec.to_builtins(EndBody(id=name, person=person))
            if not await self._post.send(node, END, body):
                raise Conflict(
                    f"{machine} cannot be reached now, so nothing was ended there.",
                    hint="Try again when it is connected. A lost machine is removed from the"
                    " fleet; the recovery words end every session, also there.",
                )
            ended = await asyncio.wait_for(future, limits.SIGN_IN_ANSWER_S)
        except TimeoutError:
            raise Conflict(
                f"{machine} did not answer, so it is not known whether sessions ended there.",
                hint="It may run an older askmesh. Try again, or look at its page under Places.",
            ) from None
        finally:
            del self._asked[node, name]
        if ended.state == "refused":
            raise NotAllowed(f"{machine} refused: for it, this machine does not speak for you.")
        return max(0, ended.count)

    async def letter(self, sender: str, kind: str, body: Any) -> None:  # noqa: ANN401 -- any JSON
        """Read a letter whose signature was checked; what does not read is passed over."""
        try:
            if kind == END:
                await self._carry_out(sender, msgspec.convert(body, EndBody))
            else:
                said = msgspec.convert(body, EndedBody)
                future = self._asked.get((sender, said.id))
                if future is not None and not future.done():
                    future.set_result(said)
        except (msgspec.ValidationError, RecursionError):
            return

    async def _carry_out(self, sender: str, said: EndBody) -> None:
        def job(transaction: Transaction) -> EndedBody:
            member = transaction.row("SELECT 1 FROM node WHERE id = ? AND removed IS NULL", sender)
            speaks = persons.speaks_for(transaction.connection, sender, said.person)
            if member is None or not speaks:
                return EndedBody(id=said.id, state="refused")
            count = transaction.run("DELETE FROM person_session WHERE person = ?", said.person)
            if count:
                transaction.change("people", said.person)
            return EndedBody(id=said.id, state="ended", count=count)

        ended = await self._context.writer.run("end_sessions", job)
        await self._post.send(sender, ENDED, msgspec.to_builtins(ended))
