"""Takes on a new identity, and dies at a point of it.

python -m tests.node.fleet.rejoin_killer HOME PERSON POINT
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from node.fleet import rejoining
from node.founding import open_store
from node.identity import next_key, settle_key
from node.store.writer import Writer
from tests.node.desk.machines import viewer
from tests.node.store.stores import SetTimes


async def run(home: Path, person: str, point: str) -> None:
    """Do it, up to the point at which it dies."""

    def stop(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    opened = open_store(home, create=False, machine=home.name, times=SetTimes(), random=os.urandom)
    writer = Writer(
        opened.connection,
        identity=opened.identity,
        clock=opened.clock,
        random=os.urandom,
        published=lambda _changes: None,
        stop_point=stop,
    )
    key = next_key(home)
    stop("key")
    await writer.run("rejoin", lambda job: rejoining.rejoin(job, key, viewer(person)))
    settle_key(home, key.node_id)
    stop("named")
    await writer.close()


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
