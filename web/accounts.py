"""Routes of accounts. An operator's word needs no session: its signature is checked."""

import asyncio
import base64
import binascii

from aiohttp import web

from sync.errors import Invalid, NotFound, TooMany
from web.account_messages import AccountStanding, NewOperator, SignedWord
from web.desk import AccountsDesk
from web.limits import WORDS_PER_SECOND
from web.messages import Nothing
from web.replies import VIEWER, Handler, body, carried_through, reply

KEY_BYTES = 32


class AccountRoutes:
    """How accounts stand, and who says so."""

    def __init__(self, desk: AccountsDesk) -> None:
        self._desk = desk
        self._second = 0
        self._words = 0

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {
            "standing": self.show,
            "set_standing": self.say,
            "standing_word": self.word,
            "add_operator": self.add_operator,
            "remove_operator": self.remove_operator,
        }

    async def show(self, request: web.Request) -> web.StreamResponse:
        """Reply how accounts stand."""
        return reply(await self._desk.standing(request[VIEWER]))

    async def say(self, request: web.Request) -> web.StreamResponse:
        """Say it of another person."""
        wanted = await body(request, AccountStanding)
        said = self._desk.set_standing(
            request[VIEWER],
            wanted.person,
            wanted.standing,
            remedy=wanted.remedy,
            reason=wanted.reason,
        )
        return reply(await carried_through(said))

    async def word(self, request: web.Request) -> web.StreamResponse:
        """Take an operator's word. Whoever brings it proves nothing, and is asked nothing."""
        self._check_pace()
        signed = await body(request, SignedWord)
        taken = self._desk.standing_word(
            _bytes(signed.operator, "operator"),
            _bytes(signed.word, "word"),
            _bytes(signed.signature, "signature"),
        )
        return reply(await carried_through(taken))

    async def add_operator(self, request: web.Request) -> web.StreamResponse:
        """Register a key."""
        wanted = await body(request, NewOperator)
        key = _bytes(wanted.key, "key")
        if len(key) != KEY_BYTES:
            raise Invalid(f"key is a raw Ed25519 public key of {KEY_BYTES} bytes, in base64.")
        added = self._desk.add_operator(request[VIEWER], wanted.name, key)
        return reply(await carried_through(added))

    async def remove_operator(self, request: web.Request) -> web.StreamResponse:
        """Let a key say nothing any more."""
        await body(request, Nothing)
        try:
            key = bytes.fromhex(request.match_info["id"])
        except ValueError:
            raise NotFound("There is no such operator here.") from None
        return reply(await carried_through(self._desk.remove_operator(request[VIEWER], key)))

    def _check_pace(self) -> None:
        """Raise `TooMany` for more words in a second than there is any use for."""
        second = int(asyncio.get_running_loop().time())
        if second != self._second:
            self._second, self._words = second, 0
        self._words += 1
        if self._words > WORDS_PER_SECOND:
            raise TooMany(
                f"More than {WORDS_PER_SECOND} words came within a second; nothing was recorded.",
                hint="Send it again in a second.",
            )


def _bytes(text: str, name: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid(f"{name} is not base64.") from None
