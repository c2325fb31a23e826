"""The bridge's connection to the node: find it, start it when that is due, say who we are."""

import json
import os
import socket
import time
from typing import BinaryIO, Final

from node.bridge.client import NodeAway, Refused, connect, read_body, read_head, refusal
from node.bridge.paths import is_initialised
from node.bridge.start import Start, not_set_up

UPGRADE: Final = (
    b"GET /agent/mcp HTTP/1.1\r\nHost: askmesh\r\n"
    b"Connection: Upgrade\r\nUpgrade: askmesh-mcp\r\n\r\n"
)
REPLY_S: Final = 5.0
"""A node that takes this long to reply to a handshake is stuck."""

PAUSE_S: Final = 0.02
PAUSE_MAX_S: Final = 0.2


class Link:
    """A connection that carries MCP lines."""

    def __init__(self, home: str) -> None:
        self._socket = connect(home)
        self._socket.settimeout(REPLY_S)
        self._reader: BinaryIO = self._socket.makefile("rb")

    def upgrade(self, hello: dict[str, object]) -> None:
        """Turn it into a stream of lines, the first of which is ours. Raises `Refused`."""
        self._socket.sendall(UPGRADE)
        status, headers = read_head(self._reader)
        if status != 101:
            raise refusal(status, read_body(self._reader, headers))
        self.send(json.dumps(hello).encode() + b"\n")

    def send(self, line: bytes) -> None:
        """Send one line. Raises `OSError` when the node is gone."""
        self._socket.sendall(line)

    def receive(self) -> bytes:
        """The next whole line; empty at the end, where a torn last line is dropped."""
        line = self._reader.readline()
        return line if line.endswith(b"\n") else b""

    def wait_long(self) -> None:
        """From now on a line may take as long as it takes."""
        self._socket.settimeout(None)

    def leave(self) -> None:
        """End it: whoever waits in `receive` is told that it ended."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            self._socket.close()


def reach(home: str, *, until: float, start_at: float) -> Link:
    """A connection to the node, tried until then. Raises `NodeAway` with the reason.

    From `start_at` on a node that was set up before is started.
    """
    start, pause = Start(home), PAUSE_S
    while True:
        try:
            return Link(home)
        except NodeAway:
            if not is_initialised(home):
                raise not_set_up(home) from None
            now = time.monotonic()
            if now >= start_at:
                start.begin()
            if start.problem:
                raise start.failed() from None
            if now >= until:
                raise
        time.sleep(pause)
        pause = min(pause * 2, PAUSE_MAX_S)


def greeted(link: Link, hello: dict[str, object]) -> None:
    """Say hello. Raises `NodeAway` with the reason when the node does not take us."""
    try:
        link.upgrade(hello)
    except Refused as error:
        link.leave()
        raise NodeAway(f"The node refuses: {error.message}", hint=error.hint) from error


def crashed(home: str) -> bool:
    """Whether the node that is gone did not stop in order: its facts are left behind."""
    return os.path.exists(os.path.join(home, "node.json"))
