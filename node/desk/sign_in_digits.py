"""Sign-ins by six digits that wait on this machine, and what may approve them.

They live in memory only: a restart ends them, which costs a person one more try.
"""

import base64
import hmac
from typing import Literal

import msgspec

from node import limits
from node.desk import persons
from node.desk.context import Context
from sync.decide.people import Act, may
from sync.errors import Conflict, NotAllowed, NotFound, TooMany
from web.desk import SignIn


class Wish(msgspec.Struct, kw_only=True):
    """A sign-in that waits; `person` once it was approved."""

    digits: str
    where: str
    expires: int
    tries: int = 0
    person: str | None = None
    refused: bool = False


class Wishes:
    """The sign-ins that wait on this machine; used on the event loop only."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._wishes: dict[str, Wish] = {}

    def make(self, where: str) -> SignIn:
        """Make a wish; the digits are in what is returned. Raises `TooMany`."""
        self._drop_old()
        if len(self._wishes) >= limits.WAITING_SIGN_INS:
            raise TooMany("Too many sign-ins wait already.", hint="Try again in two minutes.")
        random = self._context.random
        wish = Wish(
            digits=f"{int.from_bytes(random(8), 'big') % 1_000_000:06d}",
            where=where,
            expires=self._context.clock.now() + limits.SIGN_IN_MS,
        )
        name = base64.b32encode(random(15)).decode().lower()
        self._wishes[name] = wish
        return msgspec.structs.replace(self.shown(name, wish), digits=wish.digits)

    def get(self, name: str) -> Wish:
        """Return a wish that still lives. Raises `NotFound`."""
        self._drop_old()
        wish = self._wishes.get(name)
        if wish is None:
            raise NotFound("This sign-in is over.", hint="Begin again on the new place.")
        return wish

    def __contains__(self, name: str) -> bool:
        """Whether a wish of this id lives here."""
        self._drop_old()
        return name in self._wishes

    def drop(self, name: str) -> None:
        """It has become a session."""
        self._wishes.pop(name, None)

    def clear(self) -> None:
        """The recovery words were used: nothing that waits may be approved any more."""
        self._wishes.clear()

    def waiting(self) -> dict[str, Wish]:
        """Return those that nobody approved or refused."""
        self._drop_old()
        return {
            name: wish
            for name, wish in self._wishes.items()
            if wish.person is None and not wish.refused
        }

    def shown(self, name: str, wish: Wish) -> SignIn:
        """Return a wish as it is listed, without its digits."""
        state: Literal["waiting", "approved", "refused"] = "waiting"
        if wish.refused:
            state = "refused"
        elif wish.person is not None:
            state = "approved"
        return SignIn(
            id=name,
            digits=None,
            expires=wish.expires,
            where=wish.where,
            machine=self._context.machine,
            state=state,
        )

    def approve(self, name: str, digits: str, person: str) -> Wish:
        """Approve by the digits shown here; three tries in all, from wherever they come.

        Raises `NotFound`, `Conflict` when it is settled, `NotAllowed` for other digits.
        """
        wish = self.get(name)
        if wish.refused or wish.person is not None:
            raise Conflict("This sign-in is settled already.")
        if not hmac.compare_digest(wish.digits.encode(), digits.encode(errors="replace")):
            wish.tries += 1
            wish.refused = wish.tries >= limits.SIGN_IN_TRIES
            left = limits.SIGN_IN_TRIES - wish.tries
            raise NotAllowed(
                "These are not the digits shown there.",
                hint=f"{left} tries left." if left else "Begin again on the new place.",
            )
        wish.person = person
        return wish

    async def stands(self, person: str) -> bool:
        """Whether this machine speaks for a person who may sign in.

        Raises `NotAllowed` for one who may not sign in anywhere.
        """
        here = self._context.identity.name
        known, speaks = await self._context.reader.run(
            lambda connection: (
                persons.everyone(connection).get(person),
                persons.speaks_for(connection, here, person),
            )
        )
        if not may(known, Act.SEE):
            raise NotAllowed("This person may not sign in.")
        return speaks

    def _drop_old(self) -> None:
        now = self._context.clock.now()
        self._wishes = {name: wish for name, wish in self._wishes.items() if wish.expires > now}
