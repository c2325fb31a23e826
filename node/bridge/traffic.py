"""What passed between an MCP client and the node, so that it can be told to the next node.

No I/O here. Two protocol eras run through it: up to 2025-11-25 a connection begins with
`initialize`, which has to be replayed; from 2026-07-28 every request stands alone.
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typing import TypeGuard

REPLAY: Final = "askmesh/replay"
"""The id under which the handshake is replayed; no client sees it."""

NODE_AWAY: Final = -32000
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600

LIST_CHANGED: Final = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'

Id = str | int


class Traffic:
    """One client's requests without a reply, and its handshake."""

    def __init__(self, mint: Callable[[], dict[str, str]]) -> None:
        self._mint = mint
        """What is added to the `_meta` of a call: a new request id above all."""
        self._waiting: dict[Id, bytes] = {}
        self._calls: set[Id] = set()
        self._sent: set[Id] = set()
        self._asked: set[Id] = set()
        """Requests of this node to the client; the next node's ids begin again."""
        self._used = False
        """Whether this connection has carried a request, which fixed its era."""
        self._initialize: bytes | None = None
        self._initialize_id: Id | None = None
        self._greeted = False
        self._initialized: bytes | None = None
        self._server: object = None

    @property
    def has_waiting(self) -> bool:
        """Whether the client waits for a reply."""
        return bool(self._waiting)

    def from_client(self, line: bytes) -> "Taken":
        """Take one whole line of the client."""
        try:
            message = as_message(line)
            request = message.get("id")
            if "method" not in message:
                return Taken(forward=line if request in self._asked else None)
            if "id" not in message:
                return self._notification(message, line)
            if not is_id(request):
                return refused(INVALID_REQUEST, "A request's id must be a text or an integer.")
            if message["method"] == "initialize":
                return self._begin(request, line)
            return self._request(request, message, line)
        except (ValueError, TypeError, RecursionError):
            return refused(PARSE_ERROR, "The line is not a JSON-RPC message.")

    def _notification(self, message: dict[str, Any], line: bytes) -> "Taken":
        if message["method"] == "notifications/initialized":
            self._initialized = line
        elif message["method"] == "notifications/cancelled":
            params = message.get("params")
            self._forget(params.get("requestId") if isinstance(params, dict) else None)
        return Taken(forward=line)

    def _begin(self, request: Id, line: bytes) -> "Taken":
        """A handshake needs a connection that has carried nothing: the first request fixes its era.

        A client that gets no reply to `server/discover` goes on to `initialize`.
        """
        replies = b"".join(
            error_line(earlier, INVALID_REQUEST, "Given up: the client began a handshake.")
            for earlier in self._waiting
        )
        self._waiting = {request: line}
        self._calls.clear()
        self._initialize, self._initialize_id = line, request
        self._greeted, self._initialized = False, None
        return Taken(forward=line, reply=replies, anew=self._used)

    def _request(self, request: Id, message: dict[str, Any], line: bytes) -> "Taken":
        """Keep the line to send now and, should the node go away, again."""
        params = message.get("params")
        if message["method"] == "tools/call" and isinstance(params, dict):
            meta = params.get("_meta")
            params["_meta"] = (meta if isinstance(meta, dict) else {}) | self._mint()
            try:
                line = json_line(message)
            except ValueError:
                return refused(INVALID_REQUEST, "NaN and Infinity are not JSON.", request)
            self._calls.add(request)
        self._waiting[request] = line
        return Taken(forward=line)

    def sent(self, line: bytes) -> None:
        """This line goes to the node now, so it may be carried out."""
        self._used = True
        self._sent |= {request for request, known in self._waiting.items() if known is line}

    def from_node(self, line: bytes) -> bytes | None:
        """The line for the client; None for what it must not see. Raises `ValueError`."""
        message = as_message(line)
        request = message.get("id")
        if "method" in message:
            if request is not None:
                self._asked.add(request)
            return line
        if not is_id(request) or request not in self._waiting:
            return None
        self._forget(request)
        if request == self._initialize_id and not self._greeted:
            self._greet(message)
        return line

    def _greet(self, message: dict[str, Any]) -> None:
        if "result" in message:
            self._greeted, self._server = True, server_of(message)
        else:
            self._initialize = None

    def connected(self) -> bytes | None:
        """A new connection begins: the handshake to replay on it, if the client has had one."""
        self._asked.clear()
        self._used = False
        if self._initialize is None or not self._greeted:
            return None
        return json_line(as_message(self._initialize) | {"id": REPLAY})

    def replayed(self, line: bytes) -> tuple[bool, bytes]:
        """Whether this line ends the replay, and what to tell the client then."""
        message = as_message(line)
        if message.get("id") != REPLAY:
            return False, b""
        if "result" not in message:
            raise ValueError("the node refuses the handshake it took before")
        server = server_of(message)
        changed = server != self._server
        self._server, self._used = server, True
        return True, LIST_CHANGED if changed else b""

    def again(self) -> list[bytes]:
        """What to send on a new connection, in the order in which the client sent it."""
        after_handshake = [self._initialized] if self._greeted and self._initialized else []
        return [*after_handshake, *self._waiting.values()]

    def give_up(self, sentence: str, hint: str) -> bytes:
        """The replies to everything that waits: there is no node, and none is to be had."""
        replies = b"".join(
            error_line(request, NODE_AWAY, f"{sentence} {self._recorded(request)}{hint}".strip())
            for request in self._waiting
        )
        self._waiting.clear()
        self._calls.clear()
        self._sent.clear()
        return replies

    def _recorded(self, request: Id) -> str:
        if request not in self._calls:
            return ""
        if request not in self._sent:
            return "Nothing was recorded. "
        return (
            "Whether this call was recorded is not known: look with `pending` when it runs again. "
        )

    def _forget(self, request: object) -> None:
        if is_id(request):
            self._waiting.pop(request, None)
            self._calls.discard(request)
            self._sent.discard(request)


class Taken:
    """What to do with a line of the client."""

    def __init__(
        self, *, forward: bytes | None = None, reply: bytes = b"", anew: bool = False
    ) -> None:
        self.forward = forward
        self.reply = reply
        self.anew = anew
        """Leave the connection and begin another; what to forward is sent there."""


def is_id(value: object) -> "TypeGuard[Id]":
    """Whether this can be a request's id."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def refused(code: int, sentence: str, request: Id | None = None) -> Taken:
    """A line that goes no further, and its reply."""
    return Taken(reply=error_line(request, code, sentence))


def error_line(request: Id | None, code: int, sentence: str) -> bytes:
    """A JSON-RPC error."""
    error = {"code": code, "message": sentence}
    return json_line({"jsonrpc": "2.0", "id": request, "error": error})


def json_line(message: dict[str, Any]) -> bytes:
    """A message as a line. Raises `ValueError` for a number that JSON does not have."""
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def as_message(line: bytes) -> dict[str, Any]:
    """A line as a message. Raises `ValueError`."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not one JSON-RPC message")  # noqa: TRY004 - it is what was sent
    return message


def server_of(message: dict[str, Any]) -> object:
    """The `serverInfo` in the reply to a handshake."""
    result = message["result"]
    return result.get("serverInfo") if isinstance(result, dict) else None
