"""Signing in: the first person, passphrases, recovery words, six digits, sessions.

Secrets of sessions are stored as SHA-256 only. The first-run token lives in this
process's memory and in the `up` that made it; six-digit sign-ins live in memory too.
"""

import asyncio
import base64
import contextlib
import hmac
import time
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from node import limits
from node.desk import persons, recovering, sessions_far
from node.desk.context import Context
from node.desk.passphrase import SALT_BYTES, Tries, check_new, digest, same
from node.desk.post import NoPost, Post
from node.desk.sign_in_digits import Wishes
from node.desk.sign_in_far import FarSignIns
from node.identity import recovery_from_words, recovery_words
from node.store.transaction import Transaction
from sync.decide.name import checked, is_called
from sync.decide.people import Act, Role, may
from sync.errors import Invalid, NotAllowed, NotFound, SeveralPeople, StoreError
from sync.log.entry import sha256
from web.desk import NewSession, SignIn, Viewer
from web.views import SessionRow

Place = Literal["page", "terminal"]
ENTROPY = "recovery_entropy"
"""Kept from a genesis until a place that was sent the words is used, then removed."""
JOINED = "joined"
"""Name of the local value: this node joined its fleet, so only its owners name persons here."""
LIFE_MS: dict[str, int] = {
    "page": limits.PAGE_SESSION_MS,
    "terminal": limits.TERMINAL_SESSION_MS,
}
TOUCH_MS = 60_000
"""`last_used` is written this often at most."""


class SignIns:
    """All ways to become a signed-in person on this node."""

    def __init__(
        self,
        context: Context,
        first_token: str | None,
        recovered: Callable[[Transaction], None],
        post: Post | None = None,
    ) -> None:
        self.context = context
        self._recovered = recovered
        self._first = None if first_token is None else sha256(first_token.encode())
        self._first_until = context.clock.now() + limits.SIGN_IN_FIRST_MS
        self._told: str | None = None
        self.tries = Tries(time.monotonic)
        self.wishes = Wishes(context)
        self.elsewhere = sessions_far.FarSessions(context, post or NoPost())
        self.far = FarSignIns(context, self.wishes, post or NoPost(), self._announce)

    # --- who is there ------------------------------------------------------------------

    async def has_person(self) -> bool:
        """Whether the fleet has persons, as each has that this node has joined."""
        return await self.context.reader.run(
            lambda connection: (
                connection.execute(
                    "SELECT 1 FROM person WHERE NOT ended UNION SELECT 1 FROM local WHERE name = ?",
                    (JOINED,),
                ).fetchone()
                is not None
            )
        )

    async def viewer(self, secret: str) -> Viewer | None:
        """Return whose session this secret belongs to, or None; marks it as used."""
        now = self.context.clock.now()
        record = await self.context.reader.run(
            lambda connection: connection.execute(
                "SELECT person_session.id, person, name, role, kind, last_used,"
                " EXISTS (SELECT 1 FROM local WHERE name = 'recovery_entropy'),"
                " created > (SELECT coalesce(max(at), -1) FROM fleet_left)"
                " FROM person_session JOIN person ON person.id = person_session.person"
                " WHERE secret = ? AND NOT ended",
                (sha256(secret.encode()),),
            ).fetchone()
        )
        if record is None:
            return None
        session, person, name, role, kind, last_used, unshown, later = record
        if now - last_used > LIFE_MS[kind]:
            await self._end([session])
            return None
        # What is only noted is noted at a later request where the disk takes nothing now.
        with contextlib.suppress(StoreError):
            if now - last_used > TOUCH_MS:
                await self.context.writer.run(
                    "touch",
                    lambda transaction: transaction.run(
                        "UPDATE person_session SET last_used = ? WHERE id = ?", now, session
                    ),
                )
            # A session from before these words were made was not told them when it was made.
            if unshown and (session == self._told if not later else kind == "page"):
                await self._shown_words()
        return Viewer(session_id=session, person=person, name=name, role=role, kind=kind)

    def words_told(self, viewer: Viewer) -> None:
        """This place is being sent the words of a fleet that was founded from it."""
        self._told = viewer.session_id

    async def _shown_words(self) -> None:
        """A page's session is used: the reply that made it, with the words, was received.

        The page shows the words before it asks for anything else. Until then each sign-in
        of an owner tells them, so that a reply that was lost loses nothing. The link itself
        is never good for a second try: a program may have seen it.
        """

        def job(transaction: Transaction) -> None:
            transaction.keep(ENTROPY, None)
            transaction.erases = True

        await self.context.writer.run("words_shown", job)

    # --- becoming signed in --------------------------------------------------------------

    async def first(
        self, token: str, *, name: str, passphrase: str | None, where: str
    ) -> NewSession:
        """Make the first person from the one first-run token."""
        if not self._token_fits(token):
            raise NotAllowed(
                "This sign-in link is not valid (any more).",
                hint="Run `askmesh down`, then `askmesh up` in a terminal, for a new one.",
            )
        called = checked("name", name)
        salt = self.context.random(SALT_BYTES)
        hashed: bytes | None = None
        if passphrase is not None:
            check_new(passphrase)
            hashed = await asyncio.to_thread(digest, passphrase, salt)

        def job(transaction: Transaction) -> NewSession:
            if transaction.value(JOINED) is not None:
                raise NotAllowed(
                    "This machine has joined a fleet, so its owners say whose it is.",
                    hint="An owner does so on another machine: askmesh node assign",
                )
            if transaction.row("SELECT 1 FROM person WHERE NOT ended") is not None:
                raise NotAllowed("Somebody has signed in here before.", hint="Sign in as usual.")
            person = self._id(10)
            persons.found_owner(transaction, person, called)
            if hashed is not None:
                transaction.run("INSERT INTO passphrase VALUES (?, ?, ?)", person, salt, hashed)
            return self.open_session(transaction, person, "page", where)

        session = await self.context.writer.run("first_sign_in", job)
        self._first = None
        return msgspec.structs.replace(session, passphrase_set=hashed is not None)

    async def by_passphrase(
        self, passphrase: str, *, kind: Place, where: str, who: str | None = None
    ) -> NewSession:
        """Sign in by passphrase; every wrong one takes the same time.

        Raises `SeveralPeople` when it is that of several people and `who` (id or name) is None.
        """
        self.tries.check()
        known = [
            (person, salt, stored)
            for person, name, salt, stored in await self.context.reader.run(persons.with_passphrase)
            if who is None or who == person or is_called(who, name)
        ]
        fits = [
            person
            for person, salt, stored in known or [("", bytes(SALT_BYTES), bytes(32))]
            if await asyncio.to_thread(same, passphrase, salt, stored) and person
        ]
        if not fits:
            raise self.tries.wrong()
        if len(fits) > 1:
            raise SeveralPeople(hint="Say who you are as well.")
        return await self.context.writer.run(
            "sign_in", lambda job: self.open_session(job, fits[0], kind, where)
        )

    async def by_recovery(self, words: str, *, where: str) -> NewSession:
        """Use the recovery words: ends all sessions and withdraws open approvals."""
        self.tries.check()
        try:
            key = recovery_from_words(words)
        except Invalid:
            raise self.tries.wrong() from None

        def job(transaction: Transaction) -> NewSession | None:
            owner = recovering.recover(transaction, key)
            if owner is None:
                return None
            self._recovered(transaction)
            recovering.tell(transaction, key, owner)
            return self.open_session(transaction, owner, "page", where)

        session = await self.context.writer.run("recover", job)
        if session is None:
            raise self.tries.wrong()
        self.wishes.clear()
        return session

    async def set_passphrase(self, viewer: Viewer, passphrase: str, *, old: str | None) -> None:
        """Set the viewer's passphrase; whoever found an open page must not be able to."""
        check_new(passphrase)
        self.tries.check()
        stored = await self.context.reader.run(
            lambda connection: connection.execute(
                "SELECT salt, hash FROM passphrase WHERE person = ?", (viewer.person,)
            ).fetchone()
        )
        if stored is not None and not await asyncio.to_thread(same, old or "", *stored):
            raise self.tries.wrong()
        salt = self.context.random(SALT_BYTES)
        hashed = await asyncio.to_thread(digest, passphrase, salt)
        await self.context.writer.run(
            "set_passphrase",
            lambda transaction: transaction.run(
                "INSERT OR REPLACE INTO passphrase VALUES (?, ?, ?)", viewer.person, salt, hashed
            ),
        )

    # --- six digits across two screens ----------------------------------------------------

    async def request(self, *, where: str) -> SignIn:
        """Begin a sign-in to be approved from a signed-in place, on any machine."""
        made = self.wishes.make(where)
        await self._announce()
        await self.far.offer()
        return made

    async def collect(self, sign_in_id: str, digits: str) -> NewSession | None:
        """For the new place: the session once approved, None while waiting."""
        wish = self.wishes.get(sign_in_id)
        typed = digits.encode(errors="replace")
        if not hmac.compare_digest(wish.digits.encode(), typed) or wish.refused:
            raise NotAllowed("This sign-in was refused.", hint="Begin again.")
        person = wish.person
        # It was approved elsewhere, and this machine still has to learn that it may speak.
        if person is None or not await self.wishes.stands(person):
            return None
        self.wishes.get(sign_in_id)
        self.wishes.drop(sign_in_id)

        def job(transaction: Transaction) -> NewSession:
            ended = recovering.heard(transaction.connection)
            if ended is not None and ended > wish.expires - limits.SIGN_IN_MS:
                raise NotAllowed(
                    "The recovery words were used meanwhile, so this sign-in is void.",
                    hint="Begin again.",
                )
            return self.open_session(transaction, person, "page", wish.where)

        return await self.context.writer.run("sign_in", job)

    async def waiting(self) -> list[SignIn]:
        """The waiting sign-ins of all machines, without digits."""
        own = [self.wishes.shown(name, wish) for name, wish in self.wishes.waiting().items()]
        return own + self.far.waiting()

    async def approve(
        self, viewer: Viewer, sign_in_id: str, digits: str, *, guest: str | None = None
    ) -> SignIn:
        """Approve by the digits shown on the new place; three tries, then refused."""
        if sign_in_id in self.far:
            return await self.far.approve(viewer, sign_in_id, digits, guest=guest)
        if guest is not None:
            raise Invalid("Someone new signs in here by an invitation.")
        if not await self.wishes.stands(viewer.person):
            raise NotAllowed(
                "This machine does not speak for you.",
                hint="An owner has to say first that it is yours.",
            )
        wish = self.wishes.approve(sign_in_id, digits, viewer.person)
        await self._announce()
        await self.far.over(sign_in_id)
        return self.wishes.shown(sign_in_id, wish)

    async def letter(self, sender: str, kind: str, body: Any) -> None:  # noqa: ANN401 -- any JSON
        """Read a letter from another machine; its signature was checked."""
        of_sessions = kind in sessions_far.KINDS
        await (self.elsewhere if of_sessions else self.far).letter(sender, kind, body)

    async def linked(self, node: str) -> None:
        """A link to this machine lives: it learns of the sign-ins that wait here."""
        await self.far.offer(node)

    # --- sessions ---------------------------------------------------------------------

    async def sessions(self, viewer: Viewer) -> list[SessionRow]:
        """All signed-in places of the viewer."""
        found = await self.context.reader.run(
            lambda connection: connection.execute(
                "SELECT id, kind, created, last_used, place FROM person_session"
                " WHERE person = ? ORDER BY last_used DESC",
                (viewer.person,),
            ).fetchall()
        )
        return [
            SessionRow(
                id=session,
                kind=kind,
                person=viewer.person,
                name=viewer.name,
                created=created,
                last_used=last_used,
                where=place,
                current=session == viewer.session_id,
            )
            for session, kind, created, last_used, place in found
        ]

    async def end(self, viewer: Viewer, session_id: str | None) -> int:
        """End one of the viewer's sessions, or (None) every one but the current."""
        own = [row.id for row in await self.sessions(viewer)]
        if session_id is None:
            return await self._end([item for item in own if item != viewer.session_id])
        if session_id not in own:
            raise NotFound("There is no such session of yours.")
        return await self._end([session_id])

    async def _end(self, sessions: list[str]) -> int:
        def job(transaction: Transaction) -> int:
            ended = 0
            for session in sessions:
                ended += transaction.run("DELETE FROM person_session WHERE id = ?", session)
                transaction.change("people", session)
            return ended

        return await self.context.writer.run("end_session", job)

    # --- parts ------------------------------------------------------------------------

    def _token_fits(self, token: str) -> bool:
        if self._first is None or self.context.clock.now() >= self._first_until:
            return False
        return hmac.compare_digest(self._first, sha256(token.encode()))

    def open_session(
        self, transaction: Transaction, person: str, kind: Place, where: str
    ) -> NewSession:
        """Make a session of a person who proved to be them. Raises `NotAllowed`."""
        known = persons.everyone(transaction.connection).get(person)
        if known is None or not may(known, Act.SEE):
            raise NotAllowed("This person may not sign in.")
        secret = base64.urlsafe_b64encode(self.context.random(32)).decode().rstrip("=")
        session = self._id(10)
        transaction.run(
            "INSERT INTO person_session VALUES (?, ?, ?, ?, ?, ?, ?)",
            session,
            sha256(secret.encode()),
            person,
            kind,
            where[: limits.PLACE_CHARACTERS],
            transaction.now,
            transaction.now,
        )
        if not transaction.value(f"came {person}"):
            transaction.keep(f"came {person}", b"1")
        transaction.change("people", person)
        viewer = Viewer(
            session_id=session,
            person=person,
            name=known.name,
            role=known.role.value,
            kind=kind,
        )
        shows = kind == "page" and known.role is Role.OWNER
        entropy = transaction.value(ENTROPY) if shows else None
        return NewSession(
            secret=secret,
            viewer=viewer,
            recovery_words=recovery_words(entropy) if entropy else None,
        )

    def _id(self, size: int) -> str:
        return base64.b32encode(self.context.random(size)).decode().rstrip("=").lower()

    async def _announce(self) -> None:
        await self.context.writer.run(
            "announce", lambda transaction: transaction.change("people", "sign-ins")
        )
