"""Many seeds, each in a process of its own: a copy of one that has made the templates.

A fresh copy begins as every other one did, so a seed alone decides what happens; and a
world that ends leaves nothing behind.
"""

import gc
import logging
import os
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.sim import planted, template
from tests.sim.scenario import Scenario
from tests.sim.world import Faults, Result, World

SIZES = (3, 2, 3, 2, 4)
"""Machines of a fleet: most surprises need three."""


@contextmanager
def workshop() -> Iterator[Path]:
    """A folder in memory, where there is one."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="askmesh-sim-", dir=memory if memory.is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Runner:
    """Runs seeds one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._templates: dict[int, template.Template] = {}

    def run(self, seed: int, *, keep: bool = False, plant: str | None = None) -> Result:
        """Run one seed in a process of its own."""
        made = self._template(SIZES[seed % len(SIZES)])
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            self._child(write, made, seed, keep=keep, plant=plant)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            data = pipe.read()
        os.waitpid(child, 0)
        if not data:
            return Result(seed=seed, faults=["the run died"], sometimes={}, digest="")
        return msgspec.msgpack.decode(data, type=Result)

    def _template(self, size: int) -> template.Template:
        if size not in self._templates:
            self._templates[size] = template.make(self._folder / f"template-{size}", size)
        return self._templates[size]

    def _child(
        self, pipe: int, made: template.Template, seed: int, *, keep: bool, plant: str | None
    ) -> None:
        began = time.process_time()
        gc.disable()
        folder = self._folder / f"world-{os.getpid()}"
        try:
            folder.mkdir()
            result = play(seed, made, folder, keep=keep, plant=plant)
            result.seconds = time.process_time() - began
        except BaseException:  # noqa: BLE001 -- told to the parent, whatever it was
            text = traceback.format_exc()
            result = Result(seed=seed, faults=[f"the run failed:\n{text}"], sometimes={}, digest="")
        shutil.rmtree(folder, ignore_errors=True)
        with os.fdopen(pipe, "wb") as out:
            out.write(msgspec.msgpack.encode(result))
        # Nothing is collected: what died in this world must not run its last words.
        os._exit(0)


def play(
    seed: int, made: template.Template, folder: Path, *, keep: bool, plant: str | None
) -> Result:
    """Run one seed in this process."""
    world = World(seed, made, folder, keep=keep)
    logger = logging.getLogger()
    logger.handlers[:] = [Faults(world.history)]
    with planted.planted(plant):
        return world.run(Scenario(world).play())


def total(results: Sequence[Result]) -> Counter[str]:
    """Add up what ran."""
    found: Counter[str] = Counter()
    for result in results:
        found.update(result.sometimes)
    return found
