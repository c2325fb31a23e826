"""A node that dies where a test wants it, and callers that go on after that."""

import http.client
import os
import select
import signal
from pathlib import Path
from typing import Any

from node.bridge.client import NodeAway
from node.cli.running import lock_holder
from tests.running import Person, RunningNode, until

GONE = (NodeAway, OSError, http.client.HTTPException)
"""What a caller sees of a node that died under it."""


def end_holder(home: Path) -> None:
    """kill -9 of whichever node runs on this directory, also one that a hook has started."""
    pid = lock_holder(str(home))
    if not pid:
        return
    watching = os.pidfd_open(pid)
    try:
        os.kill(pid, signal.SIGKILL)
        assert select.select([watching], [], [], 20)[0]
    finally:
        os.close(watching)


def restart(node: RunningNode, stop: str | None = None) -> None:
    """Kill the node and start it anew, to be killed at a stop point."""
    end_holder(node.home)
    if node.process is not None:
        node.process.wait()
    node.start(stop=stop)


class Persistent(Person):
    """A person whose page reads again when the node comes back."""

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,  # noqa: ANN401
        *,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, Any]]:
        def sent() -> tuple[int, dict[str, Any]] | None:
            try:
                return super(Persistent, self).send(method, path, body, headers=headers)
            except GONE:
                if method == "GET":
                    return None
                raise

        reply: tuple[int, dict[str, Any]] = until(sent, "the page answers again")
        return reply

    def decide(self, ask: str, decision: str) -> None:
        """Answer, and after a crash look again and answer only what is still open."""

        def decided() -> bool:
            if self.ask(ask)["final"] is not None:
                return True
            try:
                return self.vote(ask, decision)[0] == 202
            except GONE:
                return False

        until(decided, "the answer is recorded")
