"""Fills a small disk under a writer, then frees it; prints what happened as JSON.

unshare -m python -I tests/node/store/full_disk.py FOLDER
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent.parent))

from node.store.blobs import FOLDER, Blobs
from node.store.rebuild import compare
from node.store.writer import Writer
from sync.errors import StoreFull
from tests.node.store.stores import Kept, looked, note, writing

DISK = "2m"
TITLE = "x" * 150


def small_disk(folder: Path) -> Path:
    """Mount a small disk below `folder`; return its top."""
    disk = folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0700", "tmpfs", str(disk)]
    subprocess.run(command, check=True)
    return disk


async def add(writer: Writer, number: int) -> None:
    """Append one note."""
    await writer.run("note", lambda transaction: _noted(transaction, number))


def _noted(transaction: Any, number: int) -> None:  # noqa: ANN401 -- a job
    note(transaction, number, TITLE)
    transaction.change("ask", str(number))


async def fill(kept: Kept, told: dict[str, Any]) -> None:
    """Append in groups until the disk is full, then a while longer."""
    failures: list[BaseException] = []
    number = 0
    while len(failures) < 40:
        jobs = [add(kept.writer, number + step) for step in range(1, 9)]
        number += len(jobs)
        for outcome in await asyncio.gather(*jobs, return_exceptions=True):
            if outcome is None:
                told["acknowledged"] += 1
            else:
                failures.append(outcome)
    assert all(isinstance(failure, StoreFull) for failure in failures), failures
    told["failed_jobs"] = len(failures)
    told["sentences"] = sorted({str(failure) for failure in failures})


async def run(folder: Path) -> dict[str, Any]:
    """Fill, look, free, go on."""
    disk = small_disk(folder)
    home = disk / "home"
    ballast = disk / "ballast"
    ballast.write_bytes(os.urandom(900 * 1024))
    told: dict[str, Any] = {"acknowledged": 0}
    async with writing(home) as kept:
        blobs = Blobs(home)
        await fill(kept, told)
        told["seen_while_full"] = looked(home, "SELECT count(*) FROM ask")[0][0]
        try:
            blobs.put(b"x" * 1024 * 1024, b"s" * 16)
        except StoreFull as error:
            told["blob"] = type(error).__name__
        told["blob_left"] = [path.name for path in (home / FOLDER).iterdir()]
        ballast.unlink()
        for number in range(3):
            await add(kept.writer, 1_000_000 + number)
        told["after_freeing"] = 3
        await asyncio.sleep(0)
        told["published"] = len(kept.changes)
    told["durable"] = looked(home, "SELECT count(*) FROM ask")[0][0]
    told["findings"] = compare(home)
    return told


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(Path(sys.argv[1])))))
