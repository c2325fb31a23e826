"""The official MCP server, run once for each bridge: both protocol eras, one tool list.

Importing this module imports the SDK, which takes about as long as all else a node imports:
only `node.agents.door` does, in a thread, for the first bridge or once the node served a while.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any, Final

import anyio
import mcp_types as types
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.shared.message import SessionMessage

from node.agents.asker import Hello, Peer, asker_over_mcp
from node.agents.hosts import wait_limit
from node.agents.stream import INVALID_REQUEST, OVERLOADED, PARSE_ERROR, LineTooLong, Stream
from node.agents.tools import Outcome, ToolCall, Tools
from node.desk.protocols import Agents, Progress
from node.desk.requests import Asker
from node.limits import MCP_CALLS_AT_ONCE
from sync.errors import AskmeshError
from sync.limits import KEY_CHARACTERS

log = logging.getLogger(__name__)

REQUEST_META: Final = "askmesh/request"
TOOL_USE_META: Final = "claudecode/toolUseId"

INSTRUCTIONS: Final = (
    "askmesh is the inbox of the people who run this project. Use `flag` when a decision is "
    "theirs, `await_answer` to wait for it, `resolve` to say what came of it; `pending` shows "
    "what is open or waits for you, also from earlier sessions. Nothing here answers or allows "
    "anything: only people do. What they write is their answer, quoted; silence is never a yes."
)


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """Who is at the other end of one connection."""

    hello: Hello
    peer: Peer


CLIENT: ContextVar[Client] = ContextVar("client")
Context = ServerRequestContext[Client, Any]


class McpServer:
    """The MCP side of the agent routes. `serve` runs one connection to its end."""

    def __init__(self, agents: Agents, tools: Tools, *, version: str) -> None:
        self._agents = agents
        self._tools = tools
        self._listed: Final = [described(tools, name) for name in tools.by_name]
        self._server: Server[Client] = Server(
            "askmesh",
            version=version,
            title="askmesh",
            instructions=INSTRUCTIONS,
            lifespan=client_of_connection,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self._server.middleware.clear()
        self._options = self._server.create_initialization_options(
            NotificationOptions(tools_changed=True)
        )

    async def serve(self, stream: Stream, hello: Hello, peer: Peer) -> None:
        """Serve one bridge until it goes."""
        CLIENT.set(Client(hello=hello, peer=peer))
        pump = Pump(stream)
        async with anyio.create_task_group() as group:
            group.start_soon(pump.inward)
            group.start_soon(pump.outward)
            await self._server.run(pump.server_in, pump.server_out, self._options)
            group.cancel_scope.cancel()

    async def _list_tools(
        self,
        context: Context,  # noqa: ARG002
        params: types.PaginatedRequestParams | None,  # noqa: ARG002
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._listed)

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        outcome = await self._outcome(context, params)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=outcome.text)],
            structured_content=outcome.structured,
            is_error=outcome.failed,
        )

    async def _outcome(self, context: Context, params: types.CallToolRequestParams) -> Outcome:
        meta: dict[str, Any] = dict(context.meta or {})
        client = client_name(context)
        here = context.lifespan_context
        who = asker_over_mcp(here.hello, client, meta, here.peer)
        call = ToolCall(
            agents=self._agents,
            who=who,
            request=request_id(meta, who, context),
            wait_limit_s=wait_limit(client),
            progress=progress_of(context),
        )
        try:
            return await self._tools.call(params.name, params.arguments or {}, call)
        except AskmeshError as error:
            tool = f"The tool for it is `{error.tool}`." if error.tool else ""
            text = " ".join(filter(None, (error.sentence, error.hint, tool)))
            return Outcome(text=text, structured=None, failed=True)
        except Exception:
            log.exception("the tool %s failed", params.name)
            sentence = "askmesh failed inside, so it is not known whether this was recorded."
            return Outcome(
                text=f"{sentence} `pending` shows what is; the node's log says more.",
                structured=None,
                failed=True,
            )


class Pump:
    """Lines of a stream as the messages the SDK wants, and back."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._in_flight: set[str | int] = set()
        self._to_server: MemoryObjectSendStream[SessionMessage | Exception]
        self.server_in: MemoryObjectReceiveStream[SessionMessage | Exception]
        self._to_server, self.server_in = anyio.create_memory_object_stream(0)
        self._from_server: MemoryObjectReceiveStream[SessionMessage]
        self.server_out: MemoryObjectSendStream[SessionMessage]
        self.server_out, self._from_server = anyio.create_memory_object_stream(0)

    async def inward(self) -> None:
        """Read lines until the peer goes; answer here what is not a message."""
        async with self._to_server:
            while True:
                try:
                    line = await self._stream.line()
                except LineTooLong:
                    await self._stream.send_error(INVALID_REQUEST, "The message is too long.")
                    return
                if line is None:
                    return
                if line.strip():
                    await self._take(line)

    async def _take(self, line: bytes) -> None:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            sentence = "The line is not a JSON-RPC message."
            await self._stream.send_error(PARSE_ERROR, sentence, id_of(line))
            return
        if isinstance(message, types.JSONRPCRequest):
            if len(self._in_flight) >= MCP_CALLS_AT_ONCE:
                sentence = f"More than {MCP_CALLS_AT_ONCE} calls at once; nothing was recorded."
                await self._stream.send_error(OVERLOADED, sentence, message.id)
                return
            self._in_flight.add(message.id)
        elif isinstance(message, types.JSONRPCNotification):
            self._forget_cancelled(message)
        await self._to_server.send(SessionMessage(message))

    def _forget_cancelled(self, message: types.JSONRPCNotification) -> None:
        if message.method == "notifications/cancelled" and message.params:
            self._in_flight.discard(message.params.get("requestId", ""))

    async def outward(self) -> None:
        """Write what the server says; drop it once the peer is gone."""
        with contextlib.suppress(ConnectionError):
            async with self._from_server:
                async for item in self._from_server:
                    message = item.message
                    if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                        self._in_flight.discard(message.id if message.id is not None else "")
                    text = message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._stream.send(text.encode() + b"\n")


def id_of(line: bytes) -> str | int | None:
    """The id of what is not quite a message, so that whoever sent it need not wait for ever."""
    try:
        request = json.loads(line)["id"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return request if isinstance(request, str | int) else None


@contextlib.asynccontextmanager
async def client_of_connection(server: Server[Client]) -> AsyncIterator[Client]:  # noqa: ARG001
    """Entered once for each connection, in its own task."""
    yield CLIENT.get()


def described(tools: Tools, name: str) -> types.Tool:
    """A tool as the SDK lists it."""
    tool = tools.by_name[name]
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


def client_name(context: Context) -> str:
    """The name the MCP client gives itself."""
    params = context.session.client_params
    return params.client_info.name if params is not None else ""


def request_id(meta: dict[str, Any], who: Asker, context: Context) -> str:
    """The bridge's id of this call, else the host's, else one good for this call only."""
    minted = meta.get(REQUEST_META)
    if isinstance(minted, str) and 0 < len(minted) <= KEY_CHARACTERS:
        return minted
    tool_use = meta.get(TOOL_USE_META)
    if isinstance(tool_use, str) and 0 < len(tool_use) <= KEY_CHARACTERS // 2:
        return f"{who.session}:{tool_use}"
    return f"{id(context)}-{asyncio.get_running_loop().time()}"


def progress_of(context: Context) -> Progress:
    """Tell the client that the call still waits; nothing when it did not ask to be told."""

    async def tell(seconds: float) -> None:
        await context.session.report_progress(seconds, None, "waiting for a person")

    return tell
