"""A data directory short enough for a socket, and a stand-in for its node."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.bridge.scripted_node import ScriptedNode


@pytest.fixture
def home() -> Iterator[Path]:
    """A data directory that was never set up."""
    with tempfile.TemporaryDirectory(prefix="askmesh-") as folder:
        yield Path(folder)


@pytest.fixture
def node(home: Path) -> Iterator[ScriptedNode]:
    """A stand-in that listens; it looks like a node that was set up before."""
    for name in ("node.key", "store.db"):
        (home / name).touch()
    node = ScriptedNode(home)
    yield node
    node.kill()
