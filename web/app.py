"""The page's application: one guard before every route, one error shape after it."""

from typing import Final

from aiohttp import web

from sync.errors import AskmeshError, CallerError, NotFound, PairingFailed, TooLarge
from web.accounts import AccountRoutes
from web.asks import AskRoutes
from web.attention import AttentionRoutes
from web.audit import AuditRoutes
from web.desk import NodeDesk
from web.door import Door
from web.errors import WrongMethod
from web.events import EventRoutes, Pace
from web.faults import report
from web.guard import REPLY_HEADERS
from web.hello import HelloRoutes
from web.limits import ANSWER_BODY_BYTES, RULES_BODY_BYTES, VOTES_BODY_BYTES
from web.machines import MachineRoutes
from web.people import PeopleRoutes
from web.replies import ROUTE, Handler, refuse
from web.routes import ROUTES
from web.rules import RulesRoutes
from web.sign_in import SignInRoutes
from web.static_files import StaticFiles
from web.talks import TalkRoutes
from web.together import TogetherRoutes

_USUAL_PACE: Final = Pace()


def make_app(desk: NodeDesk, *, port: int, pace: Pace = _USUAL_PACE) -> web.Application:
    """Return the page's application; `web.listener` serves it on loopback at `port`."""
    door = Door(desk, port)
    events = EventRoutes(desk, pace)
    sign_in = SignInRoutes(desk, door.cookie)
    handlers: dict[str, Handler] = {
        **StaticFiles().handlers(),
        **HelloRoutes(desk, door).handlers(),
        **sign_in.handlers(),
        **AskRoutes(desk).handlers(),
        **TogetherRoutes(desk).handlers(),
        **AttentionRoutes(desk).handlers(),
        **TalkRoutes(desk).handlers(),
        **events.handlers(),
        **RulesRoutes(desk).handlers(),
        **AccountRoutes(desk).handlers(),
        **MachineRoutes(desk, door.cookie).handlers(),
        **PeopleRoutes(desk).handlers(),
        **AuditRoutes(desk).handlers(),
    }
    application = web.Application(
        client_max_size=max(ANSWER_BODY_BYTES, RULES_BODY_BYTES, VOTES_BODY_BYTES),
        middlewares=[in_one_shape, door.guard],
    )
    for route in ROUTES:
        door.add(application.router, route, handlers.pop(route.name))
    if handlers:
        raise ValueError(f"no route leads to {', '.join(handlers)}")
    application.on_response_prepare.append(put_headers)
    application.on_shutdown.extend([events.close, sign_in.close])
    return application


@web.middleware
async def in_one_shape(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn every error into the one shape; what nobody expected is logged without content."""
    try:
        return await handler(request)
    except (CallerError, PairingFailed) as error:
        # That two machines did not pair is told to who tried; nothing failed inside.
        return refuse(error)
    except AskmeshError as error:
        report(_name(request), error)
        return refuse(error)
    except web.HTTPMethodNotAllowed as error:
        allowed = ", ".join(sorted(error.allowed_methods))
        refusal = refuse(WrongMethod(f"This address takes {allowed}."))
        refusal.headers["Allow"] = allowed
        return refusal
    except web.HTTPRequestEntityTooLarge:
        return refuse(TooLarge())
    except web.HTTPNotFound:
        return refuse(NotFound("There is no such address here."))
    except ConnectionError:
        raise
    except Exception as error:  # noqa: BLE001 -- the client is told nothing of it, the log is
        report(_name(request), error)
        sentence = "askmesh failed inside, so it is not known whether this was recorded."
        return refuse(AskmeshError(sentence, hint="The node's log says more."))


async def put_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Put the headers of safety on every reply; what is not the page is never kept."""
    response.headers.update(REPLY_HEADERS)
    response.headers.setdefault("Cache-Control", "no-store")


def _name(request: web.Request) -> str:
    """Name the request for the log: an address may name an ask, a route's name does not."""
    route = request.get(ROUTE)
    return "a request" if route is None else route.name
