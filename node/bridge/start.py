"""Start a node that is away. Only one that was set up before: a client never begins a fleet."""

import os
import pwd
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from node.bridge.client import NodeAway, connect
from node.bridge.paths import is_initialised

if TYPE_CHECKING:
    import subprocess

WAIT_S: Final = 10.0
"""Opening a large store after a crash takes seconds, not minutes."""

LOOK_S: Final = 0.02
HELD_BY_ANOTHER: Final = 5
"""The exit code of a node that finds another one on its data directory."""

KEPT_VARIABLES: Final = ("LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""The rest of the node's environment is made here: an agent's may hold anything."""

LOG_TAIL_BYTES: Final = 400


def start_node(home: str, *, wait_s: float = WAIT_S) -> None:
    """Start the node unless it runs, and wait until it answers. Raises `NodeAway`."""
    Start(home).wait(wait_s)


class Start:
    """One attempt to have the node running; looks first, starts it once, then waits."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.problem: str | None = None
        self.begun = False

    def wait(self, wait_s: float) -> None:
        """Return once the node takes connections. Raises `NodeAway` with the reason."""
        until = time.monotonic() + wait_s
        while True:
            try:
                connect(self.home).close()
                return
            except NodeAway as away:
                self.begin()
                if self.problem:
                    raise self.failed() from away
                if time.monotonic() >= until:
                    raise
            time.sleep(LOOK_S)

    def begin(self) -> None:
        """Start the process, the first time this is called. Raises `NodeAway`."""
        if self.begun:
            return
        if not is_initialised(self.home):
            raise not_set_up(self.home)
        self.begun = True
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        """Run the node detached, and take its exit code, so that it leaves no zombie."""
        try:
            code = self.start().wait()
        except OSError as error:
            self.problem = str(error)
        else:
            if code != HELD_BY_ANOTHER:
                self.problem = self.last_words()

    def start(self) -> "subprocess.Popen[bytes]":
        """Start the process; its output goes to the log, as nobody will be there to read it."""
        import subprocess

        log = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            return subprocess.Popen(
                command(self.home),
                cwd="/",
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)

    @property
    def log(self) -> str:
        """The node's log file."""
        return os.path.join(self.home, "node.log")

    def failed(self) -> NodeAway:
        """The error for a node that ended before it answered."""
        return NodeAway(
            f"The node could not start: {self.problem}", hint="Run `askmesh up` to see why."
        )

    def last_words(self) -> str:
        """Why the process ended: the last line of its log."""
        try:
            with open(self.log, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - LOG_TAIL_BYTES))
                lines = file.read().decode(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else "it gave no reason"


def not_set_up(home: str) -> NodeAway:
    """The error for a data directory in which no fleet was begun: no client begins one."""
    return NodeAway(
        f"There is no node in {home}: askmesh was not set up there.",
        hint="Run `askmesh up` once in a terminal.",
    )


def command(home: str) -> list[str]:
    """The command line of a node on this data directory."""
    return [sys.executable, "-I", launcher(), "_node", "--home", os.path.abspath(home)]


def launcher() -> str:
    """`askmesh/__main__.py`: above our folder in the wheel, beside it in a checkout."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if os.path.basename(root) == "app":
        return os.path.join(os.path.dirname(root), "__main__.py")
    return os.path.join(root, "askmesh", "__main__.py")


def environment() -> dict[str, str]:
    """A clean environment, made from the user's account and not from the caller's."""
    try:
        user = pwd.getpwuid(os.getuid())
    except KeyError:  # a container may run as a user that has no account
        user = pwd.struct_passwd(("askmesh", "", os.getuid(), os.getgid(), "", "/", "/bin/sh"))
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    made = {
        "HOME": user.pw_dir,
        "USER": user.pw_name,
        "LOGNAME": user.pw_name,
        "SHELL": user.pw_shell,
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    }
    runtime = f"/run/user/{os.getuid()}"
    if os.path.isdir(runtime):
        made["XDG_RUNTIME_DIR"] = runtime
    return made | kept
