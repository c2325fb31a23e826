"""A node that plays a part: its socket and its page reply what a test wrote down.

It holds the command to what it sends and shows; what a real node replies is held
elsewhere, against the records of `web.views`.
"""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.node.cli.screen import Screen
from web.views import (
    FleetMachine,
    FleetView,
    MachineView,
    PairingView,
    PrivacyLine,
)

NOW: Final = 1_800_000_000_000
PASSPHRASE: Final = "four words are enough"
MINUTES: Final = 60_000
HERE: Final = "a" * 52
THERE: Final = "b" * 52


def machine(node: str, name: str, **more: Any) -> FleetMachine:  # noqa: ANN401
    """A row of the fleet; what is not told is as of a machine that was never met."""
    told: dict[str, Any] = {
        "machine": MachineView(id=node, short=node[:4], name=name),
        "here": False,
        "state": "never_seen",
        "seen": None,
        "seen_by": None,
        "address": None,
        "round_trip_ms": None,
        "behind_us": 0,
        "behind_them": 0,
        "version": None,
        "skew_ms": None,
        "trouble": None,
        "persons": [],
        "given": [],
        "joined": NOW,
    }
    return FleetMachine(**(told | more))


HERE_ROW: Final = machine(HERE, "studio", here=True, state="here", seen=NOW, persons=["Ann"])
THERE_ROW: Final = machine(
    THERE,
    "attic",
    state="connected",
    seen=NOW,
    persons=["Ann"],
    address="192.168.1.20:7717",
    round_trip_ms=1.25,
    version="0.2.0",
)


def fleet(*machines: FleetMachine, **more: Any) -> FleetView:  # noqa: ANN401
    """The fleet of these machines."""
    told: dict[str, Any] = {"fleet": "00" * 16, "port": 7717, "mdns": "on", "removed": None}
    return FleetView(machines=list(machines), **(told | more))


def pairing(state: str = "waiting", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """How a code stands."""
    told: dict[str, Any] = {
        "id": "p-1",
        "code": None,
        "qr": None,
        "expires": NOW + 10 * MINUTES,
        "state": state,
        "sentence": "A code waits.",
        "addresses": ["192.168.1.10:40211"],
    }
    return {"pairing": plain(PairingView(**(told | more)))}


def plain(value: object) -> Any:  # noqa: ANN401
    """A record as it goes over the wire."""
    return msgspec.to_builtins(value)


class ScriptedNode:
    """What it replies, and what it was sent."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.has_person = True
        self.fleet = fleet(HERE_ROW, THERE_ROW)
        self.privacy: list[PrivacyLine] = []
        self.older = False
        """It runs a version that tells nothing of other machines."""
        self.replies: dict[str, list[Any]] = {}
        """`METHOD /path` → replies in order; the last one stays. An int with a sentence
        refuses: `(409, "code", "sentence")`."""
        self.sent: list[tuple[str, Any]] = []
        """Every change that was sent, without sessions."""
        self.silent = ""
        """`METHOD /path` that gets no reply until the end."""
        self.broken = ""
        """`METHOD /path` that is cut off instead of a reply."""
        self.ended = threading.Event()
        self.sessions = 0
        self._lock = threading.Lock()

    def status(self) -> dict[str, Any]:
        """What `GET /agent/node` gives."""
        told = {"fleet": plain(self.fleet), "privacy": plain(self.privacy)}
        return {
            "pid": 1,
            "version": "0.2.0",
            "home": str(self.home),
            "machine": plain(self.fleet.machines[0].machine),
            "has_person": self.has_person,
            "started": NOW,
            "now": NOW,
            "reach": 1,
            "reach_reason": None,
            "counts": {"needs_me": 0, "open": 2, "unread": 0},
            "sessions": [],
            "rules": None,
            "banners": [],
        } | ({} if self.older else told)

    def reply(self, method: str, path: str, body: Any) -> tuple[int, Any]:  # noqa: ANN401
        """Play the part."""
        with self._lock:
            if path == "/agent/node":
                return 200, self.status()
            if path == "/api/hello":
                return 200, {"has_person": self.has_person}
            if path == "/api/session":
                return self._session(body)
            if path == "/api/sessions/mine/line":
                return 200, {"ended": 1}
            if path.startswith("/api/sessions/"):
                self.sessions -= 1
                return 200, {"ended": 1}
            if method != "GET":
                self.sent.append((f"{method} {path}", body))
            return self._scripted(f"{method} {path}")

    def _session(self, body: Any) -> tuple[int, Any]:  # noqa: ANN401
        if body.get("passphrase") != PASSPHRASE:
            return 403, {"error": {"code": "not_allowed", "message": "That is wrong.", "hint": ""}}
        self.sessions += 1
        return 200, {"me": {"session": "s-1"}}

    def _scripted(self, line: str) -> tuple[int, Any]:
        found = self.replies.get(line)
        if not found:
            message = f"nothing was written down for {line}"
            return 404, {"error": {"code": "not_found", "message": message, "hint": ""}}
        value = found.pop(0) if len(found) > 1 else found[0]
        if isinstance(value, tuple):
            status, code, message = value
            return status, {"error": {"code": code, "message": message, "hint": "So be it."}}
        return 200, plain(value)


def _handler(node: ScriptedNode) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _play(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            line = f"{self.command} {self.path}"
            if line == node.broken:
                return
            if line == node.silent:
                node.ended.wait()
                return
            status, value = node.reply(self.command, self.path, body)
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if self.path == "/api/session":
                self.send_header("Set-Cookie", "askmesh_test=secret; HttpOnly")
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = _play  # noqa: N815 - the base's names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def address_string(self) -> str:
            """A Unix socket's peer has no address."""
            return "-"

    return Handler


class _UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@contextmanager
def scripted_node(home: Path) -> Iterator[ScriptedNode]:
    """A node that serves below `home` until the end of the block."""
    home.mkdir(mode=0o700, exist_ok=True)
    node = ScriptedNode(home)
    handler = _handler(node)
    page = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    socket = _UnixServer(str(home / "node.sock"), handler)
    port = page.server_address[1]
    facts = {
        "pid": 1,
        "version": "0.2.0",
        "home": str(home),
        "port": 7717,
        "web_port": port,
        "url": f"http://127.0.0.1:{port}/",
    }
    (home / "node.json").write_text(json.dumps(facts))
    servers = (page, socket)
    threads = [threading.Thread(target=server.serve_forever, args=(0.05,)) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield node
    finally:
        node.ended.set()
        for server in servers:
            server.shutdown()
            server.server_close()
        for thread in threads:
            thread.join()


def sign_in(screen: Screen) -> None:
    """Type the passphrase when it is asked for."""
    screen.expect("Passphrase:")
    screen.type(PASSPHRASE)
