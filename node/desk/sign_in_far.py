"""Six digits between two machines: the page on one, the person who approves on another.

The machine that shows the digits checks them and alone makes the session; the other one
only sends what was typed, and who typed it, in a signed letter. Letters come from members
of the fleet, which is all that is known of them: what they say is checked.
"""

import asyncio
import base64
import re
import sqlite3
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Literal, TypeVar

import msgspec

from node import limits
from node.desk import persons
from node.desk.context import Context
from node.desk.post import Post
from node.desk.sign_in_digits import Wishes
from node.store.transaction import Transaction
from sync.decide.people import Act, may
from sync.errors import AskmeshError, Conflict, NotAllowed, TooMany
from sync.log.facts import ConsentFacts, SpeaksForFacts
from sync.log.kinds import EntryType
from sync.log.names import node_bytes
from web.desk import SignIn, Viewer

WISH = "sign-in wish"
"""To every machine: someone wants to sign in here. Never with the digits."""
OVER = "sign-in over"
"""To every machine: that wish is settled."""
APPROVE = "sign-in approve"
"""To the page's machine: these digits were typed, by this person."""
RESULT = "sign-in result"
"""Back to the machine of the person: what became of it."""
KINDS = frozenset({WISH, OVER, APPROVE, RESULT})
"""The letters that `FarSignIns.letter` reads."""

_DIGITS = re.compile(r"[0-9]{6}\Z")
_NAME = re.compile(r"[a-z2-7]{8,40}\Z")


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what a letter says."""

    id: str


class WishBody(Body, frozen=True, kw_only=True):
    """A sign-in that waits on the sender's page."""

    where: str
    left_ms: int


class OverBody(Body, frozen=True, kw_only=True):
    """It waits no longer."""


class ApproveBody(Body, frozen=True, kw_only=True):
    """What a person typed."""

    digits: str
    person: str
    guest: str | None = None
    """Whom the digits sign in instead: someone new, whose only machine this is."""


class ResultBody(Body, frozen=True, kw_only=True):
    """What became of it; `consent`: the digits fit, but this machine must speak first."""

    state: Literal["approved", "consent", "refused"]
    sentence: str = ""
    hint: str = ""


class _Far(msgspec.Struct, frozen=True, kw_only=True):
    """A wish of another machine's page."""

    node: str
    id: str
    machine: str
    where: str
    expires: int


class FarSignIns:
    """Offers our wishes to the other machines, and approves theirs."""

    def __init__(
        self,
        context: Context,
        wishes: Wishes,
        post: Post,
        announce: Callable[[], Awaitable[None]],
    ) -> None:
        self.post = post
        self._context = context
        self._wishes = wishes
        self._announce = announce
        self._far: dict[str, _Far] = {}
        self._asked: dict[tuple[str, str], asyncio.Future[ResultBody]] = {}

    # --- the page's machine -----------------------------------------------------------------

    async def offer(self, to: str | None = None) -> None:
        """Tell the other machines (or one that was linked just now) of what waits here."""
        now = self._context.clock.now()
        for name, wish in self._wishes.waiting().items():
            left = wish.expires - now
            body = WishBody(id=name, where=wish.where[: limits.PLACE_CHARACTERS], left_ms=left)
            await self._send(to, WISH, body)

    async def over(self, name: str) -> None:
        """Tell them that a wish is settled."""
        await self._send(None, OVER, OverBody(id=name))

    async def _judge(self, sender: str, said: ApproveBody) -> None:
        """Check what was typed on another machine, and answer."""
        state: Literal["approved", "consent"]
        try:
            if not await self._speaks(sender, said.person):
                raise NotAllowed("That machine does not speak for this person.")
            if said.guest is not None:
                await self._check_guest(said.person, said.guest)
            whom = said.guest or said.person
            here = await self._wishes.stands(whom)
            self._wishes.approve(said.id, said.digits, whom)
            state = "approved" if here else "consent"
            result = ResultBody(id=said.id, state=state)
        except AskmeshError as error:
            result = ResultBody(
                id=said.id, state="refused", sentence=error.sentence, hint=error.hint or ""
            )
        await self._send(sender, RESULT, result)
        if said.id in self._wishes and said.id not in self._wishes.waiting():
            await self.over(said.id)
            await self._announce()

    async def _check_guest(self, owner: str, guest: str) -> None:
        """Who has been here before signs in by themself, and no owner in their place."""
        here = self._context.identity.name

        def check(connection: sqlite3.Connection) -> bool:
            nodes = [
                node
                for (node,) in connection.execute(
                    "SELECT node FROM speaks_for WHERE person = ? AND live", (guest,)
                )
            ]
            came = connection.execute(
                "SELECT 1 FROM passphrase WHERE person = ?1 UNION SELECT 1 FROM person_session"
                " WHERE person = ?1 UNION SELECT 1 FROM local WHERE name = 'came ' || ?1",
                (guest,),
            ).fetchone()
            return (
                may(persons.everyone(connection).get(owner), Act.PEOPLE)
                and nodes == [here]
                and came is None
            )

        if not await self._context.reader.run(check):
            raise NotAllowed(
                "They have signed in before, or it is not their only machine, or you are no"
                " owner: nobody else can sign them in.",
                hint="They type the digits where they are signed in.",
            )

    async def _speaks(self, node: str, person: str) -> bool:
        return await self._context.reader.run(
            lambda connection: (
                _member(connection, node) is not None
                and persons.speaks_for(connection, node, person)
            )
        )

    # --- the person's machine -----------------------------------------------------------------

    def waiting(self) -> list[SignIn]:
        """Return what waits on other machines."""
        self._drop_old()
        return [
            SignIn(id=name, digits=None, expires=far.expires, where=far.where, machine=far.machine)
            for name, far in self._far.items()
        ]

    def __contains__(self, name: str) -> bool:
        """Whether this is a sign-in on another machine's page."""
        self._drop_old()
        return name in self._far

    async def approve(
        self, viewer: Viewer, name: str, digits: str, *, guest: str | None = None
    ) -> SignIn:
        """Send the digits to the machine that shows them; it decides.

        Raises `NotAllowed` when it refuses, `Conflict` when it does not answer.
        """
        far = self._far[name]
        if _DIGITS.match(digits) is None:
            raise NotAllowed("These are not six digits.", hint="Type the digits shown there.")
        whom = (
            None if guest is None else await self._context.reader.run(partial(_person, who=guest))
        )
        result = await self._ask(far, digits, viewer.person, whom)
        if result.state == "refused":
            raise NotAllowed(result.sentence or "It was refused there.", hint=result.hint)
        self._far.pop(name, None)
        if result.state == "consent" and whom is None:
            await self._context.writer.run("consent", lambda job: consent(job, viewer, far.node))
        await self._announce()
        return SignIn(
            id=name,
            digits=None,
            expires=far.expires,
            where=far.where,
            machine=far.machine,
            state="approved",
        )

    async def _ask(self, far: _Far, digits: str, person: str, guest: str | None) -> ResultBody:
        key = (far.node, far.id)
        if key in self._asked:
            raise TooMany("These digits are being checked already.", hint="Wait a moment.")
        future = asyncio.get_running_loop().create_future()
        self._asked[key] = future
        try:
            body = ApproveBody(id=far.id, digits=digits, person=person, guest=guest)
            if not await self._send(far.node, APPROVE, body):
                raise Conflict(f"{far.machine} cannot be reached now; nothing was approved.")
            return await asyncio.wait_for(future, limits.SIGN_IN_ANSWER_S)
        except TimeoutError:
            raise Conflict(
                f"{far.machine} did not answer, so it is not known whether it was approved.",
                hint=f"Look at the page on {far.machine}.",
            ) from None
        finally:
            del self._asked[key]

    async def _wished(self, sender: str, said: WishBody) -> None:
        self._drop_old()
        machine = await self._context.reader.run(lambda connection: _member(connection, sender))
        known = {(far.node, far.id) for far in self._far.values()}
        mine = sum(node == sender for node, _ in known)
        if (
            machine is None
            or (sender, said.id) in known
            or mine >= limits.WAITING_SIGN_INS
            or not 0 < said.left_ms <= limits.SIGN_IN_MS
        ):
            return
        # An id of our own: two machines could give the same one.
        name = base64.b32encode(self._context.random(15)).decode().lower()
        self._far[name] = _Far(
            node=sender,
            id=said.id,
            machine=machine,
            where=said.where[: limits.PLACE_CHARACTERS],
            expires=self._context.clock.now() + said.left_ms,
        )
        await self._announce()

    async def _was_settled(self, sender: str, said: OverBody) -> None:
        gone = [name for name, far in self._far.items() if (far.node, far.id) == (sender, said.id)]
        for name in gone:
            del self._far[name]
        if gone:
            await self._announce()

    # --- letters ------------------------------------------------------------------------------

    async def letter(self, sender: str, kind: str, body: Any) -> None:  # noqa: ANN401 -- any JSON
        """Read a letter whose signature was checked; what does not read is passed over."""
        if kind == WISH:
            wish = _read(WishBody, body)
            if wish is not None:
                await self._wished(sender, wish)
        elif kind == OVER:
            over = _read(OverBody, body)
            if over is not None:
                await self._was_settled(sender, over)
        elif kind == APPROVE:
            typed = _read(ApproveBody, body)
            if typed is not None:
                await self._judge(sender, typed)
        elif kind == RESULT:
            result = _read(ResultBody, body)
            if result is not None:
                self._answered(sender, result)

    def _answered(self, sender: str, result: ResultBody) -> None:
        future = self._asked.get((sender, result.id))
        if future is not None and not future.done():
            future.set_result(result)

    async def _send(self, to: str | None, kind: str, body: Body) -> bool:
        return await self.post.send(to, kind, msgspec.to_builtins(body))

    def _drop_old(self) -> None:
        now = self._context.clock.now()
        self._far = {name: far for name, far in self._far.items() if far.expires > now}


BodyType = TypeVar("BodyType", bound=Body)


def _read(kind: type[BodyType], body: Any) -> BodyType | None:  # noqa: ANN401 -- any JSON
    try:
        read = msgspec.convert(body, kind)
    except (msgspec.ValidationError, RecursionError):
        return None
    return read if _NAME.match(read.id) else None


def _person(connection: sqlite3.Connection, who: str) -> str:
    """Return the id of a living person by id or name. Raises `NotFound`, `Invalid`."""
    return persons.find(connection, who).id


def _member(connection: sqlite3.Connection, node: str) -> str | None:
    """Return the name of a member, None for any other node."""
    row = connection.execute(
        "SELECT name FROM node WHERE id = ? AND removed IS NULL", (node,)
    ).fetchone()
    return None if row is None else str(row[0])


def consent(transaction: Transaction, viewer: Viewer, node: str) -> None:
    """State that a machine speaks for the viewer, by the viewer's own word.

    Raises `NotAllowed`, and states nothing, where that word alone does not suffice.
    """
    connection = transaction.connection
    if persons.speaks_for(connection, node, viewer.person):
        return
    named = transaction.row(
        "SELECT entry FROM naming WHERE node = ? AND person = ?", node, viewer.person
    )
    if named is not None:
        transaction.append(
            EntryType.CONSENT,
            ConsentFacts(
                node=node_bytes(node), person=viewer.person, named=named[0], at=transaction.now
            ),
        )
    else:
        _state_own(transaction, viewer, node)
    if not persons.speaks_for(connection, node, viewer.person):
        machine = _member(connection, node) or "That machine"
        raise NotAllowed(
            f"The digits are right, but {machine} does not speak for you yet.",
            hint=f"An owner has to say first that {machine} is yours; then sign in there again.",
        )
    transaction.change("people", viewer.person)
    transaction.change("fleet", node)


def _state_own(transaction: Transaction, viewer: Viewer, node: str) -> None:
    """Name the machine and agree to it in one: what owners and admins may."""
    head = transaction.row(
        "SELECT head FROM speaks_for WHERE node = ? AND person = ?", node, viewer.person
    )
    transaction.append(
        EntryType.SPEAKS_FOR,
        SpeaksForFacts(
            node=node_bytes(node),
            person=viewer.person,
            on=True,
            replaces=None if head is None else head[0],
            by=viewer.person,
            at=transaction.now,
        ),
    )
