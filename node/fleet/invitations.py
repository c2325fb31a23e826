"""Invitations to sign in on this machine: a code that is shown once, to whoever invites.

The first part of a code names the invitation and is no secret; of the rest only a hash is
stored. It lives for minutes, is used up by its first use, and burnt by a few wrong tries.
"""

import asyncio
import base64

import msgspec

from node import limits
from node.desk.context import Context
from node.desk.passphrase import SALT_BYTES, Tries, check_new, digest, same
from node.desk.sign_in import SignIns
from node.fleet import people
from node.fleet.people import Guest
from node.store.transaction import Transaction
from sync.errors import NotFound, TooMany
from web.desk import NewSession, Viewer
from web.people_views import InvitedView

ID_CHARACTERS = 4
SECRET_BYTES = 10
"""80 bits, so that a stolen store gives no code away while it lives."""
GROUP = 4


class Invitations:
    """Makes codes, and lets in who types one."""

    def __init__(self, context: Context, sign_ins: SignIns, tries: Tries) -> None:
        self._context = context
        self._sign_ins = sign_ins
        self._tries = tries

    async def invite(self, viewer: Viewer, *, name: str, role: str) -> InvitedView:
        """Make a code; it is in what is returned and nowhere else. Raises `NotAllowed`."""
        context = self._context
        secret = _text(context.random(SECRET_BYTES))
        salt = context.random(SALT_BYTES)
        hashed = await asyncio.to_thread(digest, secret, salt)

        def job(transaction: Transaction) -> tuple[str, Guest, int]:
            coming = people.guest(transaction, viewer, name, role)
            transaction.run("DELETE FROM invitation WHERE expires <= ?", transaction.now)
            (waiting,) = transaction.row("SELECT count(*) FROM invitation") or (0,)
            if waiting >= limits.INVITATIONS:
                raise TooMany(
                    "Too many invitations wait already.", hint="Withdraw one: askmesh people list"
                )
            named = _fresh(transaction)
            expires = transaction.now + limits.INVITATION_MS
            transaction.run(
                "INSERT INTO invitation VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
                named, salt, hashed, coming.name, role, coming.by, expires,
            )  # fmt: skip
            transaction.change("people", "invitations")
            return named, coming, expires

        named, coming, expires = await context.writer.run("invite", job)
        code = f"{named}{secret}".upper()
        return InvitedView(
            where="here",
            name=coming.name,
            role=role,
            id=named,
            code="-".join(code[at : at + GROUP] for at in range(0, len(code), GROUP)),
            expires=expires,
            sentence=f"{coming.name} opens this machine's page within 30 minutes and types the"
            " code there. It is good once.",
        )

    async def withdraw(self, viewer: Viewer, named: str) -> None:
        """Take an invitation back. Raises `NotAllowed`, and `NotFound` where none is."""

        def job(transaction: Transaction) -> None:
            people.check_may_invite(transaction, viewer)
            if not transaction.run("DELETE FROM invitation WHERE id = ?", named):
                raise NotFound(
                    "No such invitation waits here: it was used, is over, or never was.",
                    hint="Those that wait: askmesh people list",
                )
            transaction.change("people", "invitations")

        await self._context.writer.run("withdraw", job)

    async def use(self, code: str, *, name: str | None, passphrase: str, where: str) -> NewSession:
        """Become the person who was invited, with a passphrase of one's own.

        Raises `NotAllowed` for a code that is wrong or over, `TooMany`, `Invalid`.
        """
        self._tries.check()
        check_new(passphrase)
        plain = "".join(one for one in code.lower() if one.isalnum())
        named, secret = plain[:ID_CHARACTERS], plain[ID_CHARACTERS:]
        row = await self._context.reader.run(
            lambda connection: connection.execute(
                "SELECT salt, hash FROM invitation WHERE id = ?", (named,)
            ).fetchone()
        )
        stored = row or (bytes(SALT_BYTES), bytes(32))
        right = await asyncio.to_thread(same, secret, *stored) and row is not None
        salt = self._context.random(SALT_BYTES)
        hashed = await asyncio.to_thread(digest, passphrase, salt)

        def job(transaction: Transaction) -> NewSession | None:
            coming = _take(transaction, named, stored[1], right=right)
            if coming is None:
                return None
            if name is not None and name.strip():
                coming = msgspec.structs.replace(coming, name=name)
            person = _text(self._context.random(SECRET_BYTES))
            people.bring_in(transaction, coming, person, transaction.identity.name)
            transaction.run("INSERT INTO passphrase VALUES (?, ?, ?)", person, salt, hashed)
            return self._sign_ins.open_session(transaction, person, "page", where)

        session = await self._context.writer.run("use_invitation", job)
        if session is None:
            raise self._tries.wrong()
        return msgspec.structs.replace(session, passphrase_set=True)


def _take(transaction: Transaction, named: str, hashed: bytes, *, right: bool) -> Guest | None:
    """Use an invitation up; or count the wrong try, and burn it after a few."""
    row = transaction.row(
        "SELECT name, role, by, expires, tries, hash FROM invitation WHERE id = ?", named
    )
    if row is None:
        return None
    name, role, by, expires, tries, stored = row
    over = transaction.now >= expires
    if right and not over and bytes(stored) == bytes(hashed):
        transaction.run("DELETE FROM invitation WHERE id = ?", named)
        return Guest(name=name, role=role, by=by)
    if over or tries + 1 >= limits.INVITATION_TRIES:
        transaction.run("DELETE FROM invitation WHERE id = ?", named)
    else:
        transaction.run("UPDATE invitation SET tries = tries + 1 WHERE id = ?", named)
    transaction.change("people", "invitations")
    return None


def _fresh(transaction: Transaction) -> str:
    """A name that no invitation has."""
    while True:
        named = _text(transaction.random(5))[:ID_CHARACTERS]
        if transaction.row("SELECT 1 FROM invitation WHERE id = ?", named) is None:
            return named


def _text(random: bytes) -> str:
    return base64.b32encode(random).decode().rstrip("=").lower()
