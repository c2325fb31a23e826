"""`askmesh hook claude STAGE`: brings one hook event to the node and prints its verdict.

A host takes silence as consent. So at a gating stage every way out of this program prints
an explicit deny, but for the one on which the node said to let the host go on.

Nothing here reads the environment, or any file that a project could have written for us:
what to run and where was fixed when the hook was installed.
"""

import json
import os
import pwd
import select
import socket
import sys
import time
from typing import Any, Final

from node.bridge.client import NodeAway, Refused, connect, read_body, read_head, refusal, send
from node.bridge.identity import branch_of, project_of
from node.bridge.start import start_node

GATING: Final = ("PreToolUse", "PermissionRequest")
ROUTE: Final = "/agent/hook/claude"

INPUT_BYTES: Final = 8 * 1024 * 1024
"""More than the node takes, so that it is the node which says what is too large."""

GATE_S: Final = 635.0
"""A gate's whole time: below the wrapper's own limit, which is below the host's 660 s."""

DONE_S: Final = 8.0
"""For telling what became of a call: long enough to meet a node that is starting again."""

SESSION_S: Final = 1.0
"""For everything else; the host gives all its hooks 1.5 s when a session ends."""

PRINT_S: Final = 5.0
"""Kept for the printing when the node is told how long it may hold the call."""

LOOK_MS: Final = 1_000
"""How often a waiting hook looks whether its wrapper is still there."""

RETRY_S: Final = 0.05
RETRY_MOST_S: Final = 1.0
"""A node that goes away at each try is tried ever more slowly."""

REPLY_S: Final = 10.0
"""For the rest of a reply that has begun, and for a request to be taken."""

SENTENCE_CHARACTERS: Final = 2_000

PRINTED: Final = 10
PASSED: Final = 11
"""What the wrapper is told. Neither is 0: that is what a broken interpreter may return."""

WRAPPED_OUTPUT: Final = 4
"""Where the wrapper wants the verdict; whatever else is printed by mistake, it throws away."""

USAGE: Final = "usage: askmesh hook claude STAGE --home DIR [--wrapped PID]"
HELP: Final = """
Carry one hook of a host to the node and print its verdict. The host runs it through the
wrapper that `askmesh agent install claude` writes; you need not run it yourself.

Example: askmesh hook claude PreToolUse --home ~/.askmesh < event.json
"""


class Gone(Exception):
    """The host no longer waits for this hook, so nothing is to be printed."""


class BadInput(Exception):
    """What stands on standard input is not a hook's event."""


class Options:
    """The command line. No dataclass: to import those takes longer than to run this."""

    def __init__(self, stage: str, home: str, wrapper: int | None) -> None:
        self.stage = stage
        self.home = home
        self.wrapper = wrapper
        """The wrapper's process; None when the host runs this program itself."""

    @property
    def output(self) -> int:
        """The descriptor that the host reads."""
        return 1 if self.wrapper is None else WRAPPED_OUTPUT


def main() -> int:
    """Carry out one hook; the exit code."""
    if sys.argv[2:] in (["--help"], ["-h"]):
        sys.stdout.write(f"{USAGE}\n{HELP}")
        return 0
    options = read_options(sys.argv[2:])
    if options is None:
        sys.stderr.write(f"{USAGE}\n")
        return 2
    try:
        printed = answer(options)
    except Gone:
        return 1
    except BaseException as error:  # noqa: BLE001 - any way out of here must be a deny
        printed = deny(options.stage, sentence_of(error))
    write(options.output, printed)
    if options.wrapper is None:
        return 0
    # At once: nothing that happens while Python shuts down may undo what is printed.
    os._exit(PRINTED if printed else PASSED)


def read_options(words: list[str]) -> Options | None:
    """The command line; None when it is not as it must be."""
    if len(words) < 2 or words[0] != "claude" or words[1].startswith("-") or len(words) % 2:
        return None
    given = dict(zip(words[2::2], words[3::2], strict=True))
    home, wrapper = given.pop("--home", ""), given.pop("--wrapped", "")
    if given or (wrapper and not wrapper.isdigit()):
        return None
    home = home or os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".askmesh")
    return Options(words[1], os.path.abspath(home), int(wrapper) if wrapper else None)


def answer(options: Options) -> bytes:
    """What to print for the event on standard input."""
    began = time.monotonic()
    raw, event = read_event()
    session, cwd = event.get("session_id"), event.get("cwd")
    if not isinstance(session, str) or not isinstance(cwd, str):
        raise BadInput("The hook's input names no session or no working directory.")
    try:
        reply = Errand(options, raw, who(session, cwd), began).run()
    except (NodeAway, Refused):
        if options.stage in GATING:
            raise
        return b""
    return printable(options.stage, reply)


def read_event() -> tuple[str, dict[str, Any]]:
    """Standard input as text and as the object it is."""
    data = bytearray()
    while chunk := os.read(0, 1024 * 1024):
        data += chunk
        if len(data) > INPUT_BYTES:
            raise BadInput(f"The hook's input has more than {INPUT_BYTES} bytes.")
    try:
        raw = data.decode()
        event = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadInput("The hook's input is not JSON.") from error
    if not isinstance(event, dict):
        raise BadInput("The hook's input is not an object.")
    return raw, event


def who(session: str, cwd: str) -> dict[str, str | None]:
    """Who asks: the session by the id that the host's MCP servers are told as well."""
    return {
        "agent": "claude",
        "session": session,
        "project": project_of(cwd),
        "cwd": cwd,
        "branch": branch_of(cwd),
        "client": "claude-code",
    }


class Errand:
    """One question to the node, asked again under the same secret when the node went away."""

    def __init__(
        self, options: Options, raw: str, asker: dict[str, str | None], began: float
    ) -> None:
        self.options = options
        self.raw = raw
        self.asker = asker
        self.invocation = os.urandom(32).hex()
        """Known to this process alone: who shows it again is the one that was given a verdict."""
        gating, done = options.stage in GATING, options.stage.startswith("PostToolUse")
        self.until = began + (GATE_S if gating else DONE_S if done else SESSION_S)
        self.starts = gating or done
        """A session that begins or ends is no reason to start a node."""

    def run(self) -> dict[str, Any]:
        """The node's reply. Raises `NodeAway`, `Refused` and `Gone`."""
        pause = RETRY_S
        while True:
            try:
                reply = self.ask()
                self.look()
                return reply
            except NodeAway:
                if not self.starts or self.left() <= 0:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, RETRY_MOST_S)
            self.look()
            start_node(self.options.home, wait_s=min(DONE_S, max(self.left(), 0.0)))

    def left(self) -> float:
        """The seconds left of this hook's time."""
        return self.until - time.monotonic()

    def body(self) -> bytes:
        """The request; the event goes in as the host wrote it, to the last digit."""
        known = {
            "who": self.asker,
            "invocation": self.invocation,
            "stage": self.options.stage,
            "hold_s": max(0.0, self.left() - PRINT_S),
        }
        return f'{json.dumps(known)[:-1]}, "event": {self.raw}}}'.encode()

    def ask(self) -> dict[str, Any]:
        """Ask once, on a connection of its own, which is how the node knows we are there."""
        link = connect(self.options.home)
        with link, link.makefile("rb") as reply:
            try:
                link.settimeout(REPLY_S)
                send(link, "POST", ROUTE, self.body())
                self.wait(link)
                status, headers = read_head(reply)
                body = read_body(reply, headers)
            except (OSError, ValueError) as error:
                raise NodeAway("The node went away before it replied.", sent=True) from error
        if status != 200:
            raise refusal(status, body)
        value = json.loads(body)
        return value if isinstance(value, dict) else {}

    def wait(self, link: socket.socket) -> None:
        """Return when the node replies. Raises `Gone`, or `NodeAway` when the time is over."""
        events = select.poll()
        events.register(link, select.POLLIN)
        events.register(self.options.output, 0)  # tells only that its reader has gone
        while (left := self.left()) > 0:
            ready = events.poll(min(LOOK_MS, left * 1000))
            if any(place == self.options.output for place, _ in ready):
                raise Gone
            if ready:
                return
            self.look()
        raise NodeAway("The node did not reply in time.", sent=True)

    def look(self) -> None:
        """Raise `Gone` when the wrapper was killed: what we print would decide nothing."""
        if self.options.wrapper not in (None, os.getppid()):
            raise Gone


def printable(stage: str, reply: dict[str, Any]) -> bytes:
    """The node's verdict as the host reads it; empty lets the host go on."""
    printed = reply.get("stdout")
    if printed is None and "stdout" in reply and reply.get("exit") == 0:
        return b""
    if stage in GATING and not is_verdict(stage, printed):
        return deny(stage, "The node's reply was not a verdict.")
    return f"{json.dumps(printed)}\n".encode()


def is_verdict(stage: str, printed: object) -> bool:
    """Whether the host will read this as a verdict of the stage."""
    output = printed.get("hookSpecificOutput") if isinstance(printed, dict) else None
    return isinstance(output, dict) and output.get("hookEventName") == stage


def deny(stage: str, sentence: str) -> bytes:
    """The host's own refusal; empty at a stage that refuses nothing."""
    text = f"askmesh refuses this call because it cannot decide about it. {sentence}"
    if stage == "PreToolUse":
        verdict = {"permissionDecision": "deny", "permissionDecisionReason": text}
    elif stage == "PermissionRequest":
        verdict = {"decision": {"behavior": "deny", "message": text}}  # type: ignore[dict-item]
    else:
        return b""
    output = {"hookSpecificOutput": {"hookEventName": stage, **verdict}}
    return f"{json.dumps(output)}\n".encode()


def sentence_of(error: BaseException) -> str:
    """What went wrong, for the agent and whoever reads along."""
    if isinstance(error, NodeAway):
        text = f"{error.sentence} {error.hint}"
    elif isinstance(error, Refused):
        text = f"{error.message} {error.hint}"
    elif isinstance(error, BadInput):
        text = str(error)
    else:
        text = f"The hook failed ({type(error).__name__})."
    return text.strip()[:SENTENCE_CHARACTERS]


def write(output: int, printed: bytes) -> None:
    """Print in one piece where the pipe takes it, so that half a verdict is never read."""
    while printed:
        try:
            printed = printed[os.write(output, printed) :]
        except BlockingIOError:
            select.select([], [output], [])
