"""A data directory that outlives every crash of the tests of one module."""

from collections.abc import Iterator

import pytest

from tests.fleet.crashing import end_holder
from tests.running import RunningNode


@pytest.fixture(scope="module")
def home_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """A node with its first person; each test may kill and start it as it likes."""
    node = RunningNode(tmp_path_factory.mktemp("crashes") / "home")
    node.start()
    node.person()
    yield node
    end_holder(node.home)
    if node.process is not None:
        node.process.wait()
