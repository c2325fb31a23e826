"""Fixtures for all tests: real nodes on empty directories.

`node_home`: a path for a data directory that does not exist yet. `node`: a
`RunningNode` not started yet. `running_node`: started. `person`: signed in on it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.counts import LONG, SHORT
from tests.machine import skip_what_cannot_run
from tests.running import Person, RunningNode, node_in

# How long one example takes says nothing on a machine that does other things as well.
settings.register_profile("askmesh", deadline=None, max_examples=SHORT)
settings.register_profile("long", deadline=None, max_examples=LONG)
settings.load_profile("askmesh")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what this machine cannot run, each with its reason."""
    skip_what_cannot_run(items)


@pytest.fixture
def node_home(tmp_path: Path) -> Path:
    """A data directory's path."""
    return tmp_path / "home"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[RunningNode]:
    """A node that the test starts itself."""
    with node_in(tmp_path) as found:
        yield found


@pytest.fixture
def running_node(node: RunningNode) -> RunningNode:
    """A node that serves."""
    return node.start()


@pytest.fixture
def person(running_node: RunningNode) -> Person:
    """The first person, signed in on `running_node`."""
    return running_node.person()
