"""A Messages API on loopback that follows a script, so that Claude Code runs without an account.

The script is a function of the tool results so far: what the model says and calls next.
"""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

USAGE: Final = {"input_tokens": 10, "output_tokens": 5}


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """One call the model makes."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What the model says next; without calls the conversation is over."""

    text: str
    calls: tuple[ToolUse, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What the host says became of a call."""

    failed: bool
    text: str


Script = Callable[[list[ToolResult]], Turn]


@dataclass
class MessagesApi:
    """The server; `base_url` is where the host is to find it."""

    script: Script
    conversations: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of the requests that the script answered."""
    unknown: list[str] = field(default_factory=list)
    """Every other request: none is expected."""

    def __enter__(self) -> Self:
        """Serve on a free port."""
        handler = type("Handler", (MessagesHandler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        """The address for `ANTHROPIC_BASE_URL`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def next_turn(self, body: dict[str, Any]) -> Turn:
        """The reply to one request; those without tools are not the conversation itself."""
        if not body.get("tools"):
            return Turn(text="done")
        self.conversations.append(body)
        return self.script(list(tool_results(body)))


class MessagesHandler(BaseHTTPRequestHandler):
    """One request of the host."""

    protocol_version = "HTTP/1.1"
    owner: MessagesApi

    def log_message(self, format: str, *args: object) -> None:
        """Keep the tests' output quiet."""

    def do_HEAD(self) -> None:
        """The host looks whether there is a server."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """Nothing is here to be read."""
        self._not_found()

    def do_POST(self) -> None:
        """Reply with the script's next turn."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": 10})
        elif path != "/v1/messages":
            self._not_found()
        else:
            self._message(body, self.owner.next_turn(body))

    def _not_found(self) -> None:
        self.owner.unknown.append(f"{self.command} {self.path}")
        error = {"type": "not_found_error", "message": "not here"}
        self._json(404, {"type": "error", "error": error})

    def _json(self, status: int, value: object) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _message(self, body: dict[str, Any], turn: Turn) -> None:
        number = len(self.owner.conversations)
        blocks = [{"type": "text", "text": turn.text}] + [
            {"type": "tool_use", "id": f"toolu_{number}_{place}", "name": use.name,
             "input": use.arguments}
            for place, use in enumerate(turn.calls)
        ]  # fmt: skip
        message = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": blocks,
            "stop_reason": "tool_use" if turn.calls else "end_turn",
            "stop_sequence": None,
            "usage": USAGE,
        }
        if not body.get("stream"):
            self._json(200, message)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, data in stream(message):
            event = json.dumps({"type": name, **data})
            self.wfile.write(f"event: {name}\ndata: {event}\n\n".encode())


def tool_results(body: dict[str, Any]) -> Iterator[ToolResult]:
    """The tool results in a conversation, oldest first."""
    for message in body["messages"]:
        if not isinstance(message["content"], list):
            continue
        for block in message["content"]:
            if block.get("type") == "tool_result":
                content = block.get("content")
                text = content if isinstance(content, str) else json.dumps(content)
                yield ToolResult(failed=bool(block.get("is_error")), text=text)


def stream(message: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A message as the events in which it is streamed."""
    empty: dict[str, Any] = {"content": [], "stop_reason": None}
    yield "message_start", {"message": message | empty}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield "content_block_start", {"index": index, "content_block": start}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    yield (
        "message_delta",
        {
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
    )
    yield "message_stop", {}
