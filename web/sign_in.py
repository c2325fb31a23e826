"""Routes of signing in and of signed-in places."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
from aiohttp import web

from sync.errors import AskmeshError, Invalid, NotFound, TooMany
from web.desk import NewSession, NodeDesk, SignIn
from web.guard import halves
from web.limits import ID_CHARACTERS, SESSION_COOKIE_S, SIGN_INS_AT_ONCE
from web.messages import (
    Digits,
    Ended,
    NewPassphrase,
    Nothing,
    NotYet,
    PassphraseSet,
    Sessions,
    SignedIn,
    SignInProof,
    SignIns,
    WaitingSignIn,
)
from web.place import place, printable
from web.replies import VIEWER, Handler, body, carried_through, reply
from web.views import Me


class SignInRoutes:
    """Becoming a signed-in person, and ending that."""

    def __init__(self, desk: NodeDesk, cookie: str) -> None:
        self._desk = desk
        self._cookie = cookie
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._held: set[asyncio.Task[object] | None] = set()

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {
            "sign_in": self.sign_in,
            "begin_sign_in": self.begin,
            "collect_sign_in": self.collect,
            "sign_ins": self.sign_ins,
            "approve_sign_in": self.approve,
            "set_passphrase": self.set_passphrase,
            "sessions": self.sessions,
            "hold_session": self.hold,
            "end_session": self.end_session,
            "end_other_sessions": self.end_other_sessions,
        }

    # --- the new place ------------------------------------------------------------------

    async def sign_in(self, request: web.Request) -> web.StreamResponse:
        """Make a session out of a proof."""
        proof = await body(request, SignInProof)
        check_one_proof(proof)
        where = _where(request, proof.where)
        async with self._one_at_a_time():
            return self._signed_in(await carried_through(self._prove(proof, where)))

    async def _prove(self, proof: SignInProof, where: str) -> NewSession:
        if proof.token is not None:
            return await self._desk.sign_in_first(
                proof.token, name=proof.name or "", passphrase=proof.passphrase, where=where
            )
        if proof.recovery is not None:
            return await self._desk.sign_in_recovery(proof.recovery, where=where)
        if proof.invitation is not None:
            return await self._desk.sign_in_invitation(
                proof.invitation, name=proof.name, passphrase=proof.passphrase or "", where=where
            )
        return await self._desk.sign_in_passphrase(
            proof.passphrase or "", kind=proof.kind, where=where, person=proof.person
        )

    @contextlib.asynccontextmanager
    async def _one_at_a_time(self) -> AsyncIterator[None]:
        """Each try is over before the next one: many at once would all pass the limit of tries,
        and each takes tens of megabytes. Raises `TooMany`."""  # noqa: D205, D209
        if self._waiting >= SIGN_INS_AT_ONCE:
            raise TooMany("Too many sign-ins at one time.", hint="Try again in a moment.")
        self._waiting += 1
        try:
            async with self._turn:
                yield
        finally:
            self._waiting -= 1

    async def begin(self, request: web.Request) -> web.StreamResponse:
        """Begin a sign-in by six digits, shown here."""
        await body(request, Nothing)
        return reply(_shown(await self._desk.sign_in_request(where=_where(request, None))))

    async def collect(self, request: web.Request) -> web.StreamResponse:
        """Reply the session once the digits were typed elsewhere."""
        digits = (await body(request, Digits)).digits
        collected = self._desk.sign_in_collect(_named(request), digits)
        session = await carried_through(collected)
        return reply(NotYet(), status=202) if session is None else self._signed_in(session)

    # --- the signed-in place ------------------------------------------------------------

    async def sign_ins(self, request: web.Request) -> web.StreamResponse:
        """List the sign-ins that wait, without their digits."""
        waiting = await self._desk.sign_ins(request[VIEWER])
        return reply(SignIns(sign_ins=[_shown(sign_in) for sign_in in waiting]))

    async def approve(self, request: web.Request) -> web.StreamResponse:
        """Approve a sign-in by the digits it shows."""
        typed = await body(request, Digits)
        approved = self._desk.approve_sign_in(
            request[VIEWER], _named(request), typed.digits, person=typed.person
        )
        return reply(_shown(await carried_through(approved)))

    async def set_passphrase(self, request: web.Request) -> web.StreamResponse:
        """Set the person's passphrase."""
        wanted = await body(request, NewPassphrase)
        async with self._one_at_a_time():
            await carried_through(
                self._desk.set_passphrase(request[VIEWER], wanted.passphrase, old=wanted.old)
            )
        return reply(PassphraseSet())

    async def sessions(self, request: web.Request) -> web.StreamResponse:
        """List the person's places."""
        return reply(Sessions(sessions=await self._desk.sessions(request[VIEWER])))

    async def hold(self, request: web.Request) -> web.StreamResponse:
        """End a terminal's session once its connection ends, however its process did.

        Raises `Invalid` for a page: that one outlives its connections.
        """
        viewer = request[VIEWER]
        if viewer.kind != "terminal":
            raise Invalid("Only a terminal's session ends with its connection.")
        task = asyncio.current_task()
        self._held.add(task)
        try:
            await asyncio.Event().wait()
        finally:
            self._held.discard(task)
            with contextlib.suppress(AskmeshError):  # it was ended in order, or by somebody
                await carried_through(self._desk.end_session(viewer, viewer.session_id))
        return reply(Ended(ended=1))

    async def close(self, _application: web.Application) -> None:
        """Let go of every terminal, so that the node can stop."""
        for task in self._held:
            if task is not None:
                task.cancel()

    async def end_session(self, request: web.Request) -> web.StreamResponse:
        """End one session; the cookie goes with the own one."""
        await body(request, Nothing)
        viewer, named = request[VIEWER], _named(request)
        session = viewer.session_id if named == "mine" else named
        ended = await carried_through(self._desk.end_session(viewer, session))
        response = reply(Ended(ended=ended))
        if session == viewer.session_id:
            response.del_cookie(self._cookie, path="/", httponly=True, samesite="Strict")
        return response

    async def end_other_sessions(self, request: web.Request) -> web.StreamResponse:
        """End every session of the person but this one."""
        await body(request, Nothing)
        ending = self._desk.end_session(request[VIEWER], None)
        return reply(Ended(ended=await carried_through(ending)))

    def _signed_in(self, session: NewSession) -> web.Response:
        viewer, words = session.viewer, session.recovery_words
        cookie, key = halves(session.secret) if viewer.kind == "page" else (session.secret, None)
        me = Me(person=viewer.person, name=viewer.name, role=viewer.role, session=viewer.session_id)
        response = reply(
            SignedIn(
                me=me,
                recovery_words=words,
                recovery_qr=_picture(words) if words else None,
                passphrase_set=session.passphrase_set,
                key=key,
            )
        )
        response.set_cookie(
            self._cookie,
            cookie,
            httponly=True,
            samesite="Strict",
            path="/",
            max_age=SESSION_COOKIE_S if viewer.kind == "page" else None,
        )
        return response


def check_one_proof(proof: SignInProof) -> None:
    """Raise `Invalid` unless exactly one way of signing in was chosen, with what fits it."""
    ways = [
        way
        for way, given in (
            ("token", proof.token is not None),
            ("recovery", proof.recovery is not None),
            ("invitation", proof.invitation is not None),
            # Beside these it is not a proof but the passphrase to set.
            (
                "passphrase",
                proof.passphrase is not None and proof.token is None and proof.invitation is None,
            ),
        )
        if given
    ]
    if len(ways) != 1:
        raise Invalid(
            "Sign in by one thing.",
            hint="Send a token, a passphrase, an invitation or the recovery words.",
        )
    if proof.kind == "terminal" and ways != ["passphrase"]:
        raise Invalid("A terminal signs in by passphrase only.")
    if proof.name is not None and ways not in (["token"], ["invitation"]):
        raise Invalid("A name is given with the first-run token or an invitation only.")
    if proof.person is not None and ways != ["passphrase"]:
        raise Invalid("Who you are is said with a passphrase only.")
    if ways == ["invitation"] and not proof.passphrase:
        raise Invalid("An invitation needs a passphrase to set.", hint="Choose one.")


def _named(request: web.Request) -> str:
    """Return the id in the address. Raises `NotFound` for what is no id at all."""
    named = request.match_info["id"]
    if not (named.isascii() and named.isalnum() and len(named) <= ID_CHARACTERS):
        raise NotFound
    return named


def _where(request: web.Request, said: str | None) -> str:
    return printable(said) if said else place(request.headers.get("User-Agent", ""))


def _shown(sign_in: SignIn) -> WaitingSignIn:
    return msgspec.convert(sign_in, WaitingSignIn, from_attributes=True)


def _picture(words: list[str]) -> str:
    import segno

    return str(segno.make(" ".join(words), micro=False).svg_data_uri(scale=4))
