"""The node as a process: whether it runs, where, how it is started and stopped."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import click

from node.bridge.client import NodeAway, connect
from node.bridge.start import HELD_BY_ANOTHER, command, environment
from node.cli.stop import AWAY, Stop
from sync.decide.visible import visible_line

START_S: Final = 30.0
"""Opening a large store after a crash takes seconds; the process tells if it fails."""

STOP_S: Final = 30.0
"""An orderly stop ends the calls in flight first."""

LOOK_S: Final = 0.03
LOG_BYTES: Final = 5 * 1024 * 1024
"""A longer log is put aside at the next start; one older one is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """`node.json`: what the running node says of itself."""

    pid: int
    version: str
    web_port: int
    port: int
    url: str

    @property
    def page(self) -> str:
        """The page's plain address: no token, no session."""
        return f"http://127.0.0.1:{self.web_port}/"


def facts(home: str) -> Facts | None:
    """What `node.json` says; None when no node runs or it is not ready."""
    found = read_object(Path(home, "node.json"))
    try:
        return Facts(
            pid=int(found["pid"]),
            version=str(found["version"]),
            web_port=int(found["web_port"]),
            port=int(found["port"]),
            url=str(found["url"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object of a small file; empty when it is not there or is none."""
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def lock_holder(home: str) -> int | None:
    """The pid of the node that holds the data directory; None when none does.

    0: it is held by a process that does not (yet) say its pid.
    """
    path = Path(home, "node.lock")
    try:
        file = path.open("rb")
    except (FileNotFoundError, NotADirectoryError):
        return None
    with file:
        try:
            # Shared, so that two of these tests do not take each other for a node.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = read_object(path).get("pid")
            return pid if isinstance(pid, int) and pid > 1 else 0
    return None


def answers(home: str) -> bool:
    """Whether the node takes connections on its socket."""
    try:
        connect(home).close()
    except NodeAway:
        return False
    return True


def serving(home: str) -> Facts | None:
    """The facts of a node that answers on its socket, else None.

    The socket's owner was checked, so its ports are this user's node and not those of a
    program that took a dead node's port.
    """
    return facts(home) if answers(home) else None


def need_serving(home: str) -> Facts:
    """The facts of the running node. Raises `NodeAway` when there is none."""
    connect(home).close()
    found = facts(home)
    if found is None:
        raise NodeAway(f"The node of {home} is just starting or stopping.")
    return found


class Launch:
    """One start of the node; the process runs when this is made.

    The token goes through a pipe, never through argv, the environment or a file.
    """

    def __init__(self, home: str, arguments: list[str], token: str, *, detached: bool) -> None:
        self.home = home
        self.detached = detached
        self.log = Path(home, "node.log")
        self._log_from = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._signal: int | None = None
        if not detached:
            self._pass_signals_on()
        reading, writing = os.pipe()
        try:
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(token.encode())
            line = [*command(home), *arguments, "--sign-in-fd", str(reading)]
            self._process = self._start(line, reading)
        finally:
            os.close(reading)
        self._pass_on_pending()

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        """The node's process."""
        if self._process is None:
            raise RuntimeError("the node's process was not started")
        return self._process

    def stay(self) -> int:
        """Stay with a node in the foreground until it ends; its exit code.

        Ctrl-C reaches the node too, as it runs in the same process group.
        """
        while True:
            try:
                return self.process.wait()
            except KeyboardInterrupt:
                click.echo("askmesh: stopping the node", err=True)

    def _pass_on_pending(self) -> None:
        """What was heard before there was a process to tell it to."""
        if self._signal is not None:
            self.process.send_signal(self._signal)

    def _pass_signals_on(self) -> None:
        """From now on, let the node hear what a service manager tells this process."""

        def pass_on(number: int, _frame: object) -> None:
            self._signal = number
            if self._process is not None:
                self._process.send_signal(number)

        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, pass_on)

    def _start(self, line: list[str], reading: int) -> "subprocess.Popen[bytes]":
        with contextlib.ExitStack() as opened:
            log = opened.enter_context(self._open_log()) if self.detached else None
            return subprocess.Popen(
                line,
                cwd="/",
                env=environment() | {"ASKMESH_HOME": self.home},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=self.detached,
                pass_fds=(reading,),
            )

    def _open_log(self) -> BinaryIO:
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES:
            self.log.replace(self.log.with_name("node.log.1"))
        descriptor = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._log_from = os.fstat(descriptor).st_size
        return os.fdopen(descriptor, "ab")

    def wait(self) -> Facts:
        """Return once page and socket are served. Raises `Stop` with the node's last sentence."""
        try:
            return self._wait()
        except BaseException:
            self._abandon()
            raise

    def _wait(self) -> Facts:
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            code = self.process.poll()
            if code is not None:
                raise self._ended(code)
            found = facts(self.home)
            if found is not None and found.pid == self.process.pid and answers(self.home):
                return found
            time.sleep(LOOK_S)
        raise Stop(
            f"The node was started (pid {self.process.pid}) but does not answer yet.",
            hint=f"Look again with `askmesh status`; its log is {self.log}.",
            exit_code=AWAY,
            code="node_away",
        )

    def _abandon(self) -> None:
        """End a node in the foreground that nobody stays with; a detached one runs on."""
        if not self.detached and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()

    def _ended(self, code: int) -> Stop:
        said = self._last_words()
        if code == HELD_BY_ANOTHER:
            return Stop(
                said or "Another node already runs on this data directory.",
                hint="Look with `askmesh status`.",
                code="store_held",
            )
        sentence = f"The node could not start: {said}" if said else "The node could not start."
        hint = "Look with `askmesh doctor`."
        return Stop(sentence, hint=f"{hint} Its log is {self.log}." if self.detached else hint)

    def _last_words(self) -> str:
        if not self.detached:
            return ""  # they stand on the screen already
        with self.log.open("rb") as file:
            file.seek(self._log_from)
            lines = file.read().decode(errors="replace").strip().splitlines()
        return visible_line(lines[-1].removeprefix("askmesh: ")) if lines else ""


def stop_node(home: str, pid: int) -> None:
    """Ask the node to stop and wait until it has. Raises `Stop` when it does not."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + STOP_S
    while lock_holder(home) == pid:
        if time.monotonic() >= until:
            raise Stop(
                f"The node (pid {pid}) was told to stop and still runs after {STOP_S:.0f} s.",
                hint=f"It may be finishing calls; look at {Path(home, 'node.log')}.",
            )
        time.sleep(LOOK_S)
