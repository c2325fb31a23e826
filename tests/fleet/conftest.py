"""Nodes that outlive every crash of the tests of one module: one, or two of one fleet."""

from collections.abc import Iterator

import pytest

from tests.fleet.crashing import end_holder
from tests.fleet.fleets import Machine, alive, fleet_of
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


@pytest.fixture(scope="module")
def pair_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    """Two machines of one fleet, of one owner."""
    with fleet_of(tmp_path_factory.mktemp("two"), "desk", "laptop") as made:
        yield made


@pytest.fixture
def two(pair_of_module: list[Machine]) -> list[Machine]:
    """Both alive and linked, whatever the test before has done to them."""
    alive(*pair_of_module)
    return pair_of_module
