"""`askmesh mcp`: standard input and output of an MCP client ⇄ the node's Unix socket.

A node that goes away while calls are in flight is met again and asked the same under the
same ids. Two threads: one reads the client, one reads the node.
"""

import math
import os
import signal
import sys
import threading
import time
from typing import Final

from node.bridge.client import NodeAway, new_request_id
from node.bridge.identity import branch_of, hello
from node.bridge.lines import TooLong, read_line
from node.bridge.link import Link, crashed, greeted, reach
from node.bridge.paths import data_home
from node.bridge.traffic import INVALID_REQUEST, Traffic, error_line

FIRST_S: Final = 3.0
"""A client whose MCP server takes longer to start holds up its whole session."""

AGAIN_S: Final = 10.0
"""A node that restarts is back in a second; an upgrade may take a few."""

GRACE_S: Final = 1.0
"""Left to whoever restarts a crashed node before it is started from here."""

LATE_S: Final = 0.05
"""For every further request of a client that was never connected: its start goes through
several, and one that is held up at each gives this server up for the session."""

PAUSE_S: Final = 0.05
"""Between connections that ended without a word."""

USAGE: Final = "usage: askmesh mcp [--home DIR] [--agent NAME] [--no-start]"
HELP: Final = """
Carry MCP between an agent's host and the node: a stdio server that the host starts itself.
It starts the node when it is away, and survives its restart with calls in flight.

Example, in an MCP host's settings:
  {"mcpServers": {"askmesh": {"command": "askmesh", "args": ["mcp"]}}}
For Claude Code: askmesh agent install claude
"""
WAY_OUT: Final = "Run `askmesh up` in a terminal."


def main() -> int:
    """Carry lines until the client ends; the exit code."""
    if sys.argv[2:] in (["--help"], ["-h"]):
        sys.stdout.write(f"{USAGE}\n{HELP}")
        return 0
    options = read_options(sys.argv[2:])
    if options is None:
        sys.stderr.write(f"{USAGE}\n")
        return 2
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    bridge = Bridge(options)
    threading.Thread(target=bridge.run, daemon=True).start()
    bridge.read_client()
    os._exit(0)  # the thread may wait for the node, and nobody waits for us


def working_folder() -> str:
    """The folder the client runs in; it may have been deleted."""
    try:
        return os.getcwd()
    except OSError:
        return "/"


class Options:
    """The command line."""

    home = ""
    agent: str | None = None
    may_start = True


def read_options(words: list[str]) -> Options | None:
    """The command line; None when it is not as it must be."""
    options, rest = Options(), iter(words)
    for word in rest:
        value = next(rest, None) if word in ("--home", "--agent") else None
        if word == "--home" and value:
            options.home = value
        elif word == "--agent" and value:
            options.agent = value
        elif word == "--no-start":
            options.may_start = False
        else:
            return None
    options.home = data_home(options.home)
    return options


class Bridge:
    """The two directions, and what they share.

    The order of locks is `writing`, `state`; `state` is never held while bytes are sent,
    or both sides could wait for each other with full buffers.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        folder = working_folder()
        self._hello = hello(os.environ, folder, agent=options.agent)
        self._folder = os.environ.get("CLAUDE_PROJECT_DIR") or folder
        self._traffic = Traffic(self._mint)
        self._state = threading.Condition()
        self._writing = threading.Lock()
        self._printing = threading.Lock()
        self._link: Link | None = None
        """None while there is no node."""
        self._ever_heard = False

    def _mint(self) -> dict[str, str]:
        branch = branch_of(self._folder)
        meta = {"askmesh/request": new_request_id()}
        return meta | {"askmesh/branch": branch} if branch else meta

    # --- from the client ----------------------------------------------------------
    def read_client(self) -> None:
        """Take the client's lines until it ends."""
        while True:
            try:
                line = read_line(sys.stdin.buffer)
            except TooLong as error:
                self._print(error_line(error.request, INVALID_REQUEST, str(error)))
                continue
            if line is None:
                return
            if line.strip():
                self._take(line)

    def _take(self, line: bytes) -> None:
        """One line of the client: recorded first, then sent."""
        with self._writing:
            with self._state:
                taken = self._traffic.from_client(line)
                link = self._link
                if link is not None and taken.anew:
                    link.leave()
                    self._link = link = None
                if link is not None and taken.forward is not None:
                    self._traffic.sent(taken.forward)
                self._state.notify()
            if link is not None and taken.forward is not None:
                try:
                    link.send(taken.forward)
                except OSError:
                    link.leave()  # the other thread notices, and asks the next node again
        self._print(taken.reply)

    def _print(self, lines: bytes) -> None:
        """Give the client whole lines, one writer at a time."""
        if not lines:
            return
        with self._printing:
            try:
                sys.stdout.buffer.write(lines)
                sys.stdout.buffer.flush()
            except OSError:
                os._exit(0)

    # --- from the node --------------------------------------------------------------
    def run(self) -> None:
        """Read the node; should that fail, end visibly rather than leave the client waiting."""
        try:
            self.read_node()
        except BaseException:  # noqa: BLE001 - and nothing is left to carry on with
            sys.excepthook(*sys.exc_info())
            os._exit(1)

    def read_node(self) -> None:
        """Meet the node, carry its lines, and meet it again, for as long as we run."""
        now = time.monotonic()
        until, start_at = now + FIRST_S, now
        while True:
            heard = gave_up = False
            try:
                heard = self._carry(self._meet(until, start_at), until)
                self._ever_heard |= heard
            except NodeAway as away:
                self._give_up(away)
                gave_up = True
            with self._state:
                in_flight = self._traffic.has_waiting and not gave_up
                self._state.wait_for(lambda: self._traffic.has_waiting)
            now = time.monotonic()
            if not in_flight:
                until, start_at = now + (AGAIN_S if self._ever_heard else LATE_S), now
                continue
            until = now + AGAIN_S if heard else until
            start_at = now + GRACE_S if crashed(self._options.home) else math.inf
            time.sleep(PAUSE_S)

    def _meet(self, until: float, start_at: float) -> Link:
        """A connection on which everything unanswered was asked again. Raises `NodeAway`."""
        start_at = start_at if self._options.may_start else math.inf
        while True:
            link = reach(self._options.home, until=until, start_at=start_at)
            try:
                greeted(link, self._hello)
                self._replay(link)
                self._ask_again(link)
                return link
            except (OSError, ValueError) as error:
                link.leave()
                if time.monotonic() >= until:
                    raise NodeAway("The node does not reply; it may be stuck.") from error
            time.sleep(PAUSE_S)

    def _replay(self, link: Link) -> None:
        """Repeat the handshake the client has had, and keep the reply from it."""
        with self._state:
            handshake = self._traffic.connected()
        if handshake is None:
            return
        link.send(handshake)
        done, news = False, b""
        while not done:
            line = link.receive()
            with self._state:
                done, news = self._traffic.replayed(line)
        self._print(news)

    def _ask_again(self, link: Link) -> None:
        """Send what has no reply yet; from then on the client's lines go to this node."""
        with self._writing:
            with self._state:
                lines = self._traffic.again()
                for line in lines:
                    self._traffic.sent(line)
            for line in lines:
                link.send(line)
            link.wait_long()
            with self._state:
                self._link = link

    def _carry(self, link: Link, until: float) -> bool:
        """Give the client the node's lines until it goes; whether there was any.

        Raises `NodeAway` when it ends every connection without a word until then.
        """
        heard = False
        try:
            while line := link.receive():
                with self._state:
                    told = self._traffic.from_node(line)
                heard = True
                self._print(told or b"")
        except (OSError, ValueError):
            pass  # whatever came is no line of a node, so it ends like a lost connection
        with self._state:
            if self._link is link:
                self._link = None
        link.leave()
        if not heard and time.monotonic() >= until:
            raise NodeAway("The node ends every connection at once; it may be stuck.")
        return heard

    def _give_up(self, away: NodeAway) -> None:
        """Tell the client what happened, for each request it waits for."""
        with self._state:
            replies = self._traffic.give_up(away.sentence, away.hint or WAY_OUT)
        self._print(replies)
