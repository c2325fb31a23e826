"""Appends without end in groups and prints each number once it was acknowledged.

python -I tests/node/store/endless_writer.py HOME FIRST
"""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent.parent))

from tests.node.store.stores import marks, writing

AT_ONCE = 7


async def run(home: Path, first: int) -> None:
    """Several agents at once, each waiting for its own acknowledgement."""
    async with writing(home) as kept:

        async def agent(start: int) -> None:
            number = start
            while True:
                await kept.writer.run("mark", marks(f"a-{number}"))
                print(number, flush=True)
                number += AT_ONCE

        await asyncio.gather(*(agent(first + step) for step in range(AT_ONCE)))


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), int(sys.argv[2])))
