"""A real node under test, a person over HTTP, and an agent on the socket."""

import contextlib
import http.client
import json
import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from node.bridge.client import NodeAway, call, connect

ROOT = Path(__file__).resolve().parent.parent
LAUNCHER = ROOT / "tests" / "launcher.py"
START_S = 30.0
PASSPHRASE = "four words are enough"


def until(condition: Callable[[], Any], what: str, seconds: float = 20.0) -> Any:  # noqa: ANN401
    """Return the first true value of `condition`; fails after `seconds`, saying `what`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"did not happen in {seconds} s: {what}")


def _ports() -> Iterator[int]:
    """Ports for this worker's nodes, the same one again only after thousands of others.

    The system hands none of these to a connection, as it does with those from 32768 on, and no
    other worker is given them: a node that was stopped finds its port free when it starts again.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw7").removeprefix("gw")
    first = 12_000 + int(worker) % 8 * 2_500
    begin = secrets.randbelow(2_500)
    while True:
        yield from (first + (begin + one) % 2_500 for one in range(2_500))


_PORTS = _ports()


def free_port() -> int:
    """Return a port of loopback that nobody uses, nor is given while a test lasts."""
    for port in _PORTS:
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


class Place(Protocol):
    """Where a node runs: this machine, or one of a lab (`tests.fleet.lab.Host`)."""

    def command(self, *arguments: str) -> tuple[str, ...]:
        """Return the command that runs another one there."""
        ...

    def inside(self) -> AbstractContextManager[None]:
        """Sockets that this thread makes meanwhile are made there."""
        ...


class Here:
    """This machine itself."""

    def command(self, *arguments: str) -> tuple[str, ...]:
        """As it stands."""
        return arguments

    def inside(self) -> AbstractContextManager[None]:
        """Nothing to do."""
        return contextlib.nullcontext()


HERE = Here()


class Person:
    """A browser's worth of HTTP: keeps its cookie, sends what the page sends."""

    def __init__(self, port: int, place: Place = HERE) -> None:
        self.port = port
        self.place = place
        self.cookie: str | None = None

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,  # noqa: ANN401
        *,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, Any]]:
        """Send one request; return status and JSON object."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        told = {"X-Askmesh": "1", "Content-Type": "application/json"}
        if self.cookie:
            told["Cookie"] = self.cookie
        told |= headers or {}
        data = None if method == "GET" else json.dumps({} if body is None else body)
        try:
            with self.place.inside():
                connection.connect()
            connection.request(method, path, body=data, headers=told)
            reply = connection.getresponse()
            text = reply.read()
            for line in reply.headers.get_all("Set-Cookie") or []:
                self.cookie = line.partition(";")[0]
            if b'"key":"' in text:
                # The half that a page keeps for its own port: whole, as a terminal's cookie is.
                self.cookie = f"{self.cookie}{json.loads(text)['key']}"
        finally:
            connection.close()
        return reply.status, json.loads(text) if text else {}

    def ok(self, method: str, path: str, body: Any = None) -> dict[str, Any]:  # noqa: ANN401
        """Send one request that must succeed."""
        status, value = self.send(method, path, body)
        assert status < 300, (status, value)
        return value

    def state(self) -> dict[str, Any]:
        """The page's snapshot."""
        return self.ok("GET", "/api/state")

    def ask(self, ask: str) -> dict[str, Any]:
        """One ask as the inbox shows it."""
        found: dict[str, Any] = self.ok("GET", f"/api/asks/{ask}")["ask"]
        return found

    def vote(self, ask: str, decision: str, **more: Any) -> tuple[int, dict[str, Any]]:  # noqa: ANN401
        """Answer what is shown right now."""
        seen = more.pop("seen", None) or self.ask(ask)["seen"]
        body = {"decision": decision, "seen": seen, **more}
        return self.send("POST", f"/api/asks/{ask}/votes", body)


class RunningNode:
    """One data directory and the node process on it.

    `constants` are values of `sync.limits` that this node has otherwise (`tests.launcher`).
    """

    def __init__(
        self,
        home: Path,
        *,
        web_port: int | None = None,
        peer_port: int | None = None,
        name: str = "testbox",
        bind: str | None = "127.0.0.1",
        mdns: bool = False,
        place: Place = HERE,
        constants: dict[str, float] | None = None,
    ) -> None:
        self.home = home
        self.web_port = web_port or free_port()
        self.peer_port = peer_port or free_port()
        self.name = name
        self.bind = bind
        self.mdns = mdns
        self.place = place
        self.constants = constants or {}
        self.process: subprocess.Popen[bytes] | None = None
        self.token = secrets.token_urlsafe(32)
        self.log = home.parent / f"{home.name}.log"
        self._clock = home.parent / f"{home.name}.clock"
        self._offsets = [0, 0]
        self.set_clock()

    # --- the process --------------------------------------------------------------

    def start(
        self,
        *,
        stop: str | None = None,
        stop_after: int = 0,
        limits: dict[str, int] | None = None,
        wait: bool = True,
        prefix: tuple[str, ...] = (),
    ) -> "RunningNode":
        """Start the node; `stop` names the point at which it kills itself."""
        reading, writing = os.pipe()
        os.write(writing, self.token.encode())
        os.close(writing)
        plan = self.home.parent / f"{self.home.name}.plan.json"
        seams = {"stop": stop, "stop_after": stop_after, "limits": limits}
        plan.write_text(json.dumps(seams | self._plan(reading)))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.place.command(*prefix, sys.executable, "-I", str(LAUNCHER), str(plan)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(reading,),
                cwd="/",
            )
        os.close(reading)
        if wait:
            self.wait_ready()
        return self

    def _plan(self, sign_in_fd: int) -> dict[str, Any]:
        options = {
            "home": str(self.home),
            "port": self.peer_port,
            "web_port": self.web_port,
            "bind": self.bind,
            "no_mdns": not self.mdns,
            "name": self.name,
            "create": not (self.home / "node.key").exists(),
            "sign_in_fd": sign_in_fd,
        }
        return {"options": options, "clock": str(self._clock), "constants": self.constants}

    def wait_ready(self) -> None:
        """Return once page and socket are served."""
        process = self._running()

        def ready() -> bool:
            code = process.poll()
            assert code is None, f"the node ended with {code}:\n{self.log.read_text()}"
            facts = self.home / "node.json"
            with contextlib.suppress(OSError, ValueError):
                return bool(json.loads(facts.read_text())["pid"] == process.pid and self.answers())
            return False

        until(ready, "the node serves", START_S)

    def answers(self) -> bool:
        """Whether the socket takes connections."""
        try:
            connect(str(self.home)).close()
        except NodeAway:
            return False
        return True

    def kill(self) -> None:
        """kill -9, by its own id."""
        process = self._running()
        process.kill()
        process.wait()

    def wait_dead(self, seconds: float = 20.0) -> int:
        """Return the exit status once the node has ended by itself."""
        return self._running().wait(seconds)

    def stop(self) -> None:
        """Stop in order, if it still runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise

    def restart(self) -> "RunningNode":
        """Stop in order and start again."""
        self.stop()
        return self.start()

    def restart_to(self, stop: str) -> "RunningNode":
        """Kill it and start it anew, to kill itself at a stop point."""
        self.kill()
        return self.start(stop=stop)

    def _running(self) -> "subprocess.Popen[bytes]":
        assert self.process is not None
        return self.process

    # --- its clock ------------------------------------------------------------------

    def set_clock(self, *, wall_ms: int | None = None, boot_ms: int | None = None) -> None:
        """Set how far the node's clocks are off the machine's."""
        if wall_ms is not None:
            self._offsets[0] = wall_ms
        if boot_ms is not None:
            self._offsets[1] = boot_ms
        temporary = self._clock.with_suffix(".new")
        temporary.write_bytes(struct.pack(">qq", *self._offsets))
        temporary.replace(self._clock)

    def advance(self, milliseconds: int) -> None:
        """Let time pass: both clocks, as a suspended machine sees it."""
        self.set_clock(
            wall_ms=self._offsets[0] + milliseconds, boot_ms=self._offsets[1] + milliseconds
        )

    # --- who uses it --------------------------------------------------------------------

    def person(self, name: str = "Ann") -> Person:
        """A signed-in person: the first one, of this name, or by passphrase."""
        person = self.stranger()
        if person.ok("GET", "/api/hello")["has_person"]:
            person.ok("POST", "/api/session", {"passphrase": PASSPHRASE})
        else:
            person.ok(
                "POST",
                "/api/session",
                {"token": self.token, "name": name, "passphrase": PASSPHRASE},
            )
        return person

    def stranger(self) -> Person:
        """Someone at its page who is not signed in."""
        return Person(self.web_port, self.place)

    def agent(
        self,
        route: str,
        arguments: dict[str, Any] | None = None,
        *,
        session: str = "session-1",
        project: str = "example.org/team/app",
        request: str | None = None,
        timeout: float = 60.0,
    ) -> dict[str, Any]:
        """Call one agent route. Raises `node.bridge.client.Refused` and `NodeAway`."""
        who = {
            "agent": "claude",
            "session": session,
            "project": project,
            "cwd": "/",
            "branch": "main",
            "client": "test",
        }
        return call(str(self.home), route, who, arguments or {}, request, timeout)

    def flag(self, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
        """Raise an ask as `session-1`."""
        session = fields.pop("session", "session-1")
        request = fields.pop("request", None)
        return self.agent("flag", fields, session=session, request=request)

    def rules(self, person: Person, source: str, name: str = "rules") -> dict[str, Any]:
        """Put rules into force as a person."""
        before = person.ok("GET", "/api/rules")["rules"]
        body = {
            "name": name,
            "source": source,
            "replaces": None if before is None else before["version"],
        }
        applied: dict[str, Any] = person.ok("PUT", "/api/rules", body)["rules"]
        return applied


@contextlib.contextmanager
def node_in(folder: Path) -> Iterator[RunningNode]:
    """A node on an empty directory below `folder`, stopped at the end."""
    node = RunningNode(folder / "home")
    try:
        yield node
    finally:
        if node.process is not None and node.process.poll() is None:
            node.stop()
