"""The agent routes over HTTP: each reads its record, calls the desk, and replies an object."""

import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec
from aiohttp import web

from node.agents.asker import asker_over_http
from node.agents.asking import raise_and_wait
from node.agents.board_routes import BoardRoutes
from node.agents.events import send_events
from node.agents.message_routes import MessageRoutes
from node.agents.peer import peer_of
from node.agents.posts import Post, as_record
from node.desk.protocols import Agents
from node.desk.requests import Asker, Flag, Request
from node.limits import AGENT_WAIT_MAX_S, GATE_HOLD_S
from sync.errors import AskmeshError, Invalid
from sync.limits import KEY_CHARACTERS


class Hook(Protocol):
    """What a host's hook is answered: `node.gate` decides, this socket only carries."""

    async def __call__(
        self, who: Asker, *, invocation: str, stage: str, event: dict[str, Any], hold_s: float
    ) -> dict[str, Any]:
        """`{"stdout": object | None, "stderr": str, "exit": int}` for the hook to print."""
        ...


class Body(Request, frozen=True, kw_only=True):
    """The body of every POST."""

    who: Any
    request: str = ""
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class HookBody(Request, frozen=True, kw_only=True):
    """The body of a hook's POST."""

    who: Any
    invocation: str
    stage: str
    event: dict[str, Any]
    hold_s: float = GATE_HOLD_S
    """What this hook process has left; less once it had to connect again."""


class FlagArguments(Flag, frozen=True, kw_only=True):
    """`Flag`, and how long to wait for the answer."""

    wait_s: float = 0.0


class AwaitArguments(Request, frozen=True, kw_only=True):
    """Of `await`."""

    ask_id: str
    wait_s: float = AGENT_WAIT_MAX_S


class PendingArguments(Request, frozen=True, kw_only=True):
    """Of `pending`."""

    everything: bool = False


class ClaimArguments(Request, frozen=True, kw_only=True):
    """Of `claim`."""

    ask_id: str
    take_over: bool = False


class ResolveArguments(Request, frozen=True, kw_only=True):
    """Of `resolve`."""

    ask_id: str
    outcome: str
    ok: bool = True
    token: int | None = None


class WithdrawArguments(Request, frozen=True, kw_only=True):
    """Of `withdraw`."""

    ask_id: str
    reason: str


class StatusArguments(Request, frozen=True, kw_only=True):
    """Of `status`."""

    text: str


class ListArguments(Request, frozen=True, kw_only=True):
    """Of `list`."""

    closed: bool = False
    project: str | None = None


class ShowArguments(Request, frozen=True, kw_only=True):
    """Of `show`."""

    ask_id: str


class NoArguments(Request, frozen=True, kw_only=True):
    """Of `whoami` and `heard`."""


class AgentRoutes:
    """The routes, bound to the desk."""

    def __init__(
        self, agents: Agents, hook: Hook, waiting: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._agents = agents
        self._hook = hook
        self._waiting = waiting

    def table(self) -> list[web.RouteDef]:
        """All routes but the MCP stream."""
        posts: dict[str, Callable[[Post], Awaitable[object]]] = {
            "flag": self._flag,
            "await": self._await,
            "pending": self._pending,
            "claim": self._claim,
            "resolve": self._resolve,
            "withdraw": self._withdraw,
            "status": self._status,
            "whoami": self._whoami,
            "list": self._list,
            "show": self._show,
            "report": self._report,
            "heard": self._heard,
            **BoardRoutes(self._agents).posts(),
            **MessageRoutes(self._agents, self._waiting).posts(),
        }
        return [
            *(web.post(f"/agent/{name}", posted(run)) for name, run in posts.items()),
            web.post("/agent/hook/claude", self._hook_claude),
            web.get("/agent/node", self._node),
            web.get("/agent/watch", self._watch),
        ]

    async def _flag(self, post: Post) -> object:
        arguments = post.read(FlagArguments)
        fields = {name: getattr(arguments, name) for name in Flag.__struct_fields__}
        with self._waiting():
            return await raise_and_wait(
                self._agents,
                post.who,
                Flag(**fields),
                wait_s=min(arguments.wait_s, AGENT_WAIT_MAX_S),
                request=post.request,
            )

    async def _await(self, post: Post) -> object:
        arguments = post.read(AwaitArguments)
        with self._waiting():
            return await self._agents.await_answer(
                post.who,
                arguments.ask_id,
                wait_s=min(max(arguments.wait_s, 0.0), AGENT_WAIT_MAX_S),
                request=post.request,
                progress=None,
            )

    async def _pending(self, post: Post) -> object:
        arguments = post.read(PendingArguments)
        return {"rows": await self._agents.pending(post.who, everything=arguments.everything)}

    async def _claim(self, post: Post) -> object:
        arguments = post.read(ClaimArguments)
        return await self._agents.claim(
            post.who, arguments.ask_id, take_over=arguments.take_over, request=post.request
        )

    async def _resolve(self, post: Post) -> object:
        arguments = post.read(ResolveArguments)
        return await self._agents.resolve(
            post.who,
            arguments.ask_id,
            token=arguments.token,
            outcome=arguments.outcome,
            ok=arguments.ok,
            request=post.request,
        )

    async def _withdraw(self, post: Post) -> object:
        arguments = post.read(WithdrawArguments)
        return await self._agents.withdraw(
            post.who, arguments.ask_id, reason=arguments.reason, request=post.request
        )

    async def _status(self, post: Post) -> object:
        await self._agents.status(post.who, post.read(StatusArguments).text)
        return {"noted": True}

    async def _whoami(self, post: Post) -> object:
        post.read(NoArguments)
        return await self._agents.whoami(post.who)

    async def _list(self, post: Post) -> object:
        arguments = post.read(ListArguments)
        return {
            "rows": await self._agents.listing(
                post.who, closed=arguments.closed, project=arguments.project
            )
        }

    async def _show(self, post: Post) -> object:
        return await self._agents.show(post.who, post.read(ShowArguments).ask_id)

    async def _report(self, post: Post) -> object:
        post.read(NoArguments)
        return {"agents": await self._agents.report(post.who)}

    async def _heard(self, post: Post) -> object:
        post.read(NoArguments)
        await self._agents.heard(post.who)
        return {"noted": True}

    async def _hook_claude(self, request: web.Request) -> web.Response:
        body = as_record(await as_object(request), HookBody)
        who = asker_over_http(body.who, peer_of(request))
        with self._waiting():
            return reply(
                await self._hook(
                    who,
                    invocation=body.invocation,
                    stage=body.stage,
                    event=body.event,
                    hold_s=body.hold_s,
                )
            )

    async def _node(self, request: web.Request) -> web.Response:
        return reply(await self._agents.node_status(onlooker(request)))

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        since = request.query.get("since")
        if since is not None and not (since.isascii() and since.isdigit() and len(since) < 20):
            raise Invalid("`since` must be the number of an event.")
        number = int(since) if since is not None else None
        with self._waiting():
            return await send_events(request, self._agents.watch(onlooker(request), number))


def posted(
    run: Callable[[Post], Awaitable[object]],
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """The handler of a POST route."""

    async def handle(request: web.Request) -> web.Response:
        body = as_record(await as_object(request), Body)
        if len(body.request) > KEY_CHARACTERS:
            raise Invalid(f"`request` must have at most {KEY_CHARACTERS} characters.")
        who = asker_over_http(body.who, peer_of(request))
        post = Post(who=who, request=body.request or os.urandom(16).hex(), raw=body.arguments)
        return reply(await run(post))

    return handle


def onlooker(request: web.Request) -> Asker:
    """Who reads without saying a name."""
    peer = peer_of(request)
    return Asker(
        agent="shell", session=f"pid-{peer.pid}", project="", cwd="", pid=peer.pid, uid=peer.uid
    )


async def as_object(request: web.Request) -> dict[str, Any]:
    """The body as a JSON object. Raises `Invalid`."""
    try:
        value = msgspec.json.decode(await request.read())
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Invalid(f"The body is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise Invalid("The body must be a JSON object.")
    return value


def reply(value: object) -> web.Response:
    """A reply object as JSON."""
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


def reply_error(error: AskmeshError, *, status: int | None = None) -> web.Response:
    """An error in the one shape all surfaces use."""
    body = {"error": {"code": error.code, "message": error.sentence, "hint": error.hint}}
    response = reply(body)
    response.set_status(status or error.status)
    return response
