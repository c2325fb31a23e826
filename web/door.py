"""The way in: the guard of `web.guard`, then the session of those routes that need one."""

from aiohttp import web

from sync.errors import SignInNeeded
from web.desk import Desk, Viewer
from web.guard import Headers, cookie_name, decide, session_secret
from web.replies import ROUTE, VIEWER, Handler
from web.routes import Access, Route


class Door:
    """Lets requests pass to the routes that were added here, and to no others."""

    def __init__(self, desk: Desk, port: int) -> None:
        self.cookie = cookie_name(desk.store_id, port)
        self._desk = desk
        self._port = port
        self._routes: dict[object, Route] = {}

    def add(self, router: web.UrlDispatcher, route: Route, handler: Handler) -> None:
        """Serve a route. Of the page one may also ask for the head only."""
        path = route.path.replace("{name}", "{name:.+}").replace("{node}", "{node:[^/]+}")
        router.add_route(route.method, path, handler)
        if route.page or route.path == "/healthz":
            router.add_route("HEAD", path, handler)
        self._routes[handler] = route

    async def viewer(self, request: web.Request) -> Viewer | None:
        """Return whose session the request's cookie is."""
        route = request.get(ROUTE)
        streams = route is not None and route.media == "text/event-stream"
        key = request.query.get("key") if streams else None
        secret = session_secret(plain(request), self.cookie, key)
        return None if secret is None else await self._desk.viewer(secret)

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse what may not pass; tell the route whose request it is."""
        route = self._routes.get(request.match_info.handler)
        refusal = decide(
            request.method,
            request.raw_path,
            plain(request),
            port=self._port,
            page=route is not None and route.page,
        )
        if refusal is not None:
            raise refusal
        if route is not None:
            request[ROUTE] = route
            if route.access is not Access.PUBLIC:
                await self._let_in(request, route)
        return await handler(request)

    async def _let_in(self, request: web.Request, route: Route) -> None:
        viewer = await self.viewer(request)
        if viewer is not None:
            request[VIEWER] = viewer
        elif not await self._may_be_anyone(route):
            raise SignInNeeded(hint="Sign in on the page first.")

    async def _may_be_anyone(self, route: Route) -> bool:
        """Whether this machine has nobody who could prove to be more."""
        if route.access is Access.FIRST:
            return not await self._desk.has_person()
        return route.access is Access.LAST and await self._desk.abandoned()


def plain(request: web.Request) -> Headers:
    """Return the headers as they came, for the pure functions of `web.guard`."""
    return [(key.decode("latin-1"), value.decode("latin-1")) for key, value in request.raw_headers]
