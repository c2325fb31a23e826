"""A stand-in for the node's socket that says byte for byte what a test wants it to say.

For what a sound node never does: torn lines, silence, refusals, death in the middle.
"""

import contextlib
import json
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

SWITCH: Final = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: askmesh-mcp\r\n\r\n"
)
WAIT_S: Final = 20.0


class Side:
    """The node's side of one connection."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.reader: BinaryIO = link.makefile("rb")
        link.settimeout(WAIT_S)

    def head(self) -> bytes:
        """The head of an HTTP request."""
        lines = []
        while (line := self.reader.readline()) not in (b"\r\n", b""):
            lines.append(line)
        return b"".join(lines)

    def body(self, head: bytes) -> Any:  # noqa: ANN401 - whatever was sent
        """The JSON body that belongs to a head."""
        length = next(
            int(line.split(b":")[1])
            for line in head.splitlines()
            if line.startswith(b"Content-Len")
        )
        return json.loads(self.reader.read(length))

    def upgrade(self) -> dict[str, Any]:
        """Switch to a stream of lines; the bridge's hello."""
        assert b"Upgrade: askmesh-mcp" in self.head()
        self.link.sendall(SWITCH)
        return self.message()

    def message(self) -> dict[str, Any]:
        """The next line as a message."""
        message: dict[str, Any] = json.loads(self.reader.readline())
        return message

    def say(self, **message: object) -> None:
        """Send a message as a line."""
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        """Send bytes."""
        self.link.sendall(data)

    def gone(self) -> bool:
        """Whether the other side ended the connection; waits for it."""
        return self.reader.readline() == b""

    def die(self) -> None:
        """End the connection as the kernel does for a killed process."""
        with contextlib.suppress(OSError):
            self.link.shutdown(socket.SHUT_RDWR)
        self.reader.close()
        self.link.close()


class ScriptedNode:
    """A socket whose connections a test takes one by one."""

    def __init__(self, home: Path) -> None:
        self.path = home / "node.sock"
        self.open: list[Side] = []
        self._listening: socket.socket | None = None
        self.up()

    def up(self) -> None:
        """Listen, as a node does that has just started."""
        self.path.unlink(missing_ok=True)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.path))
        self._listening.listen()
        self._listening.settimeout(WAIT_S)

    def take(self) -> Side:
        """The next connection."""
        assert self._listening is not None
        side = Side(self._listening.accept()[0])
        self.open.append(side)
        return side

    def kill(self) -> None:
        """Be gone at once, as after kill -9: the socket's file stays behind."""
        assert self._listening is not None
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits in `take`
        self._listening.close()
        for side in self.open:
            side.die()
        self.open.clear()


@contextlib.contextmanager
def in_thread(script: Callable[[], object]) -> Iterator[None]:
    """Run the node's part beside the test; what it raises is raised at the end."""
    raised: queue.Queue[BaseException] = queue.Queue()

    def run() -> None:
        try:
            script()
        except BaseException as error:  # noqa: BLE001 - it is raised in the test
            raised.put(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join(WAIT_S)
    if not raised.empty():
        raise raised.get()
