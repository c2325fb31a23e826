"""A socket with a desk of the tests behind it."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from node.agents.socket import AgentSocket
from tests.node.agents.double import DeskDouble, GateDouble


@dataclass
class Node:
    """The socket, what is behind it, and where it lies."""

    home: Path
    desk: DeskDouble
    gate: GateDouble
    socket: AgentSocket

    async def restart(self) -> None:
        """Stop in order and serve again, as an upgrade does."""
        await self.socket.close()
        self.socket = AgentSocket(str(self.home), self.desk, self.gate, version="0")
        await self.socket.open()


@pytest.fixture
def home() -> Iterator[Path]:
    """A data directory short enough for a socket, as one that was set up looks."""
    with tempfile.TemporaryDirectory(prefix="askmesh-") as folder:
        for name in ("node.key", "store.db"):
            Path(folder, name).touch()
        yield Path(folder)


@pytest.fixture
async def node(home: Path) -> AsyncIterator[Node]:
    """A socket that serves."""
    desk = DeskDouble()
    gate = GateDouble(desk)
    socket = AgentSocket(str(home), desk, gate, version="0")
    await socket.open()
    node = Node(home=home, desk=desk, gate=gate, socket=socket)
    yield node
    await node.socket.close()
