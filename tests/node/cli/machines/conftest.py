"""A node that plays a part, under the real command."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.cli.conftest import Command
from tests.node.cli.scripted_node import ScriptedNode, scripted_node


@pytest.fixture
def command(tmp_path: Path) -> Command:
    # A socket's path is short, a test's own folder need not be.
    (tmp_path / "project").mkdir()
    home = Path(tempfile.mkdtemp(prefix="askmesh-"), "data")
    return Command(home=home, project=tmp_path / "project", web_port=1, port=1)


@pytest.fixture
def node(command: Command) -> Iterator[ScriptedNode]:
    with scripted_node(command.home) as playing:
        yield playing
    for path in (*command.home.iterdir(), command.home, command.home.parent):
        path.rmdir() if path.is_dir() else path.unlink()
