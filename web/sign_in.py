"""Routes of signing in and of signed-in places."""

from typing import Any, Literal

import msgspec
import segno
from aiohttp import web

from sync.errors import Invalid
from web.desk import Desk, NewSession, Viewer
from web.limits import SESSION_COOKIE_S, WHERE_CHARACTERS
from web.replies import VIEWER, Body, body, reply


class SignInBody(Body, kw_only=True, frozen=True):
    """One of: a first-run token, a passphrase, recovery words."""

    token: str | None = None
    name: str | None = None
    passphrase: str | None = None
    recovery: str | None = None
    kind: Literal["page", "terminal"] = "page"
    where: str | None = None


class DigitsBody(Body, kw_only=True, frozen=True):
    """The six digits of a sign-in."""

    digits: str


class PassphraseBody(Body, kw_only=True, frozen=True):
    """A new passphrase."""

    passphrase: str


def cookie_name(store_id: str, port: int) -> str:
    """Return the cookie's name: cookies are shared by all ports of a host."""
    return f"askmesh_{store_id[:8]}_{port}"


class SignInRoutes:
    """Handlers; each is described in docs/http.md."""

    def __init__(self, desk: Desk, port: int) -> None:
        self._desk = desk
        self._cookie = cookie_name(desk.store_id, port)

    async def viewer(self, request: web.Request) -> Viewer | None:
        """Return whose session the request's cookie is."""
        secret = request.cookies.get(self._cookie)
        return await self._desk.viewer(secret) if secret else None

    async def sign_in(self, request: web.Request) -> web.StreamResponse:
        """Begin a session."""
        wanted = await body(request, SignInBody)
        where = _where(request, wanted.where)
        if wanted.token is not None:
            session = await self._desk.sign_in_first(
                wanted.token, name=wanted.name or "", passphrase=wanted.passphrase, where=where
            )
        elif wanted.recovery is not None:
            session = await self._desk.sign_in_recovery(wanted.recovery, where=where)
        elif wanted.passphrase is not None:
            session = await self._desk.sign_in_passphrase(
                wanted.passphrase, kind=wanted.kind, where=where
            )
        else:
            raise Invalid(
                "Nothing to sign in with was sent.",
                hint="Send a token, a passphrase or the recovery words.",
            )
        return self._begun(session)

    async def sessions(self, request: web.Request) -> web.StreamResponse:
        """List the viewer's places."""
        rows = await self._desk.sessions(request[VIEWER])
        return reply({"sessions": msgspec.to_builtins(rows)})

    async def end_others(self, request: web.Request) -> web.StreamResponse:
        """End every session of the viewer but this one."""
        return reply({"ended": await self._desk.end_session(request[VIEWER], None)})

    async def end_one(self, request: web.Request) -> web.StreamResponse:
        """End one session."""
        viewer = request[VIEWER]
        wanted = request.match_info["id"]
        wanted = viewer.session_id if wanted == "mine" else wanted
        ended = reply({"ended": await self._desk.end_session(viewer, wanted)})
        if wanted == viewer.session_id:
            ended.del_cookie(self._cookie, path="/")
        return ended

    async def passphrase(self, request: web.Request) -> web.StreamResponse:
        """Set the viewer's passphrase."""
        wanted = await body(request, PassphraseBody)
        await self._desk.set_passphrase(request[VIEWER], wanted.passphrase)
        return reply({"passphrase_set": True})

    async def request(self, request: web.Request) -> web.StreamResponse:
        """Begin a sign-in by six digits."""
        await body(request, Body)
        return reply(await self._desk.sign_in_request(where=_where(request, None)))

    async def collect(self, request: web.Request) -> web.StreamResponse:
        """For the new place: whether it was approved, and then the session."""
        digits = (await body(request, DigitsBody)).digits
        session = await self._desk.sign_in_collect(request.match_info["id"], digits)
        return reply({"state": "waiting"}) if session is None else self._begun(session)

    async def waiting(self, request: web.Request) -> web.StreamResponse:
        """List the sign-ins that wait for their digits."""
        rows = await self._desk.sign_ins(request[VIEWER])
        return reply({"sign_ins": msgspec.to_builtins(rows)})

    async def approve(self, request: web.Request) -> web.StreamResponse:
        """Approve a sign-in by its digits."""
        digits = (await body(request, DigitsBody)).digits
        return reply(
            await self._desk.approve_sign_in(request[VIEWER], request.match_info["id"], digits)
        )

    def _begun(self, session: NewSession) -> web.Response:
        viewer = session.viewer
        words = session.recovery_words
        value: dict[str, Any] = {
            "state": "approved",
            "me": {
                "person": viewer.person,
                "name": viewer.name,
                "role": viewer.role,
                "session": viewer.session_id,
            },
            "recovery_words": words,
            "recovery_qr": segno.make(" ".join(words)).svg_data_uri(scale=4) if words else None,
            "passphrase_set": session.passphrase_set,
        }
        begun = reply(value)
        begun.set_cookie(
            self._cookie,
            session.secret,
            httponly=True,
            samesite="Strict",
            path="/",
            max_age=SESSION_COOKIE_S if viewer.kind == "page" else None,
        )
        return begun


def _where(request: web.Request, said: str | None) -> str:
    """Return the place's own words about itself: shown as text, never trusted."""
    words = said or request.headers.get("User-Agent", "unknown")
    return "".join(c if c.isprintable() else "?" for c in words)[:WHERE_CHARACTERS]
