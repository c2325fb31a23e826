"""Takes on a new identity, and dies at a point of it.

python -m tests.node.fleet.rejoin_killer HOME PERSON POINT
"""

import asyncio
import sys
from pathlib import Path

from node.fleet import rejoining
from node.identity import next_key, settle_key
from tests.node.desk.machines import viewer
from tests.node.fleet.dying import dies_at, dying


async def run(home: Path, person: str, point: str) -> None:
    """Do it, up to the point at which it dies."""
    stop = dies_at(point)
    writer = dying(home, stop)
    key = next_key(home)
    stop("key")
    await writer.run("rejoin", lambda job: rejoining.rejoin(job, key, viewer(person)))
    settle_key(home, key.node_id)
    stop("named")
    await writer.close()


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
