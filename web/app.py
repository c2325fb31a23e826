"""The page's listener: one table of routes, one guard in front of all of them."""

import logging
from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from sync.errors import AskmeshError, SignInNeeded
from web.asks import AskRoutes
from web.desk import Desk
from web.events import EventRoutes
from web.guard import PAGE_HEADERS, Class, decide
from web.limits import BODY_BYTES
from web.replies import VIEWER, refuse, refuse_error, reply
from web.rules import Check, RulesRoutes
from web.sign_in import SignInRoutes
from web.static_files import StaticFiles

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_log = logging.getLogger("askmesh.web")


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One route: who it is for, and whether it answers an ask or grants anything."""

    method: str
    path: str
    handler: Handler
    kind: Class = Class.PERSON
    grants: bool = False
    """Part of the invariant: never reachable by what runs as an agent."""


class Page:
    """All routes of one desk."""

    def __init__(self, desk: Desk, *, port: int, check_rules: Check) -> None:
        self.desk = desk
        self.port = port
        self.sign_ins = SignInRoutes(desk, port)
        self.events = EventRoutes(desk)
        self.routes = [
            *self._public(),
            *self._sign_in(),
            *self._asks(AskRoutes(desk)),
            *self._rules(RulesRoutes(desk, check_rules)),
        ]

    def _public(self) -> list[Route]:
        static = StaticFiles()
        public = Class.PUBLIC
        return [
            Route(method="GET", path="/", handler=static.index, kind=public),
            Route(method="GET", path="/static/{path:.+}", handler=static.file, kind=public),
            Route(method="GET", path="/healthz", handler=self.health, kind=public),
            Route(method="GET", path="/api/hello", handler=self.hello, kind=public),
        ]

    def _sign_in(self) -> list[Route]:
        parts = self.sign_ins
        public = Class.PUBLIC
        one = "/api/sign-ins/{id}"
        return [
            Route(
                method="POST",
                path="/api/session",
                handler=parts.sign_in,
                kind=public,
                grants=True,
            ),
            Route(method="GET", path="/api/sessions", handler=parts.sessions),
            Route(
                method="DELETE", path="/api/sessions", handler=parts.end_others, grants=True
            ),
            Route(
                method="DELETE", path="/api/sessions/{id}", handler=parts.end_one, grants=True
            ),
            Route(
                method="PUT", path="/api/passphrase", handler=parts.passphrase, grants=True
            ),
            Route(method="POST", path="/api/sign-ins", handler=parts.request, kind=public),
            Route(method="GET", path="/api/sign-ins", handler=parts.waiting),
            Route(method="POST", path=one, handler=parts.approve, grants=True),
            Route(method="POST", path=f"{one}/collect", handler=parts.collect, kind=public),
        ]

    def _asks(self, parts: AskRoutes) -> list[Route]:
        one = "/api/asks/{id}"
        return [
            Route(method="GET", path="/api/state", handler=parts.state),
            Route(method="GET", path="/api/events", handler=self.events.events),
            Route(method="GET", path=one, handler=parts.ask),
            Route(method="POST", path=f"{one}/votes", handler=parts.vote, grants=True),
            Route(
                method="DELETE", path=f"{one}/votes/mine", handler=parts.take_back, grants=True
            ),
            Route(method="PUT", path=f"{one}/read", handler=parts.read, grants=True),
        ]

    def _rules(self, parts: RulesRoutes) -> list[Route]:
        path = "/api/rules"
        return [
            Route(method="GET", path=path, handler=parts.show),
            Route(method="PUT", path=path, handler=parts.apply, grants=True),
            Route(method="POST", path=f"{path}/check", handler=parts.check),
        ]

    async def health(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002 -- a handler
        """Whether the node serves."""
        return reply({"ok": True})

    async def hello(self, request: web.Request) -> web.StreamResponse:
        """What a page needs before anyone has signed in."""
        viewer = await self.sign_ins.viewer(request)
        return reply(
            {
                "store_id": self.desk.store_id,
                "has_person": await self.desk.has_person(),
                "machine": self.desk.machine,
                "version": self.desk.version,
                "signed_in": viewer is not None,
            }
        )

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse what may not pass; put the safety headers on every reply."""
        response = await self._guarded(request, handler)
        if not response.prepared:
            response.headers.update(PAGE_HEADERS)
            if request.path.startswith("/api/"):
                response.headers["Cache-Control"] = "no-store"
        return response

    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = decide(request.method, request.path, request.headers, port=self.port)
        if refusal is not None:
            return refuse(refusal.status, refusal.code, refusal.message, refusal.hint)
        try:
            return await handler(request)
        except AskmeshError as error:
            return refuse_error(error)
        except web.HTTPException as error:
            return refuse(error.status, "http", error.reason)
        except Exception as error:  # noqa: BLE001 -- the client is told nothing of it, the log is
            _log.error(  # noqa: TRY400 -- a traceback could hold a secret in its values
                "%s %s failed: %s", request.method, request.path, type(error).__name__
            )
            return refuse(500, "failed", "askmesh failed here; nothing more is known.")

    def behind_session(self, route: Route) -> Handler:
        """Return the route's handler, behind a session where it is a person's."""
        if route.kind is Class.PUBLIC:
            return route.handler

        async def handler(request: web.Request) -> web.StreamResponse:
            viewer = await self.sign_ins.viewer(request)
            if viewer is None:
                raise SignInNeeded(hint="Sign in on the page first.")
            request[VIEWER] = viewer
            return await route.handler(request)

        return handler


def make_app(desk: Desk, *, port: int, check_rules: Check) -> web.Application:
    """Return the page's application; the caller binds it to loopback on `port`."""
    page = Page(desk, port=port, check_rules=check_rules)
    app = web.Application(client_max_size=BODY_BYTES, middlewares=[page.guard])
    for route in page.routes:
        app.router.add_route(route.method, route.path, page.behind_session(route))
    app.on_shutdown.append(page.events.close)
    return app
