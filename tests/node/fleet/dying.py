"""A store whose process dies at a named point of its work."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from node.founding import open_store
from node.store.writer import Writer
from tests.node.store.stores import SetTimes


def dies_at(point: str) -> Callable[[str], None]:
    """Return what kills this process when it is told of that point."""

    def reached(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    return reached


def dying(home: Path, reached: Callable[[str], None]) -> Writer:
    """The writer of a store that is there, which tells `reached` of each of its points."""
    opened = open_store(home, create=False, machine=home.name, times=SetTimes(), random=os.urandom)
    return Writer(
        opened.connection,
        identity=opened.identity,
        clock=opened.clock,
        random=os.urandom,
        published=lambda _changes: None,
        stop_point=reached,
    )
