"""One simulated world: machines of one fleet, what happens to them, and what must hold."""

import asyncio
import logging
import random
from collections.abc import Awaitable
from pathlib import Path

import msgspec

from tests.sim import template
from tests.sim.history import History, Trace
from tests.sim.loop import SimLoop
from tests.sim.machine import Hosting, Machine
from tests.sim.outside import installed
from tests.sim.wire import Net, Pipe
from tests.sim.writing import LoopWriter


class Result(msgspec.Struct, kw_only=True):
    """What came of one seed."""

    seed: int
    faults: list[str]
    sometimes: dict[str, int]
    digest: str
    seconds: float = 0.0
    lines: list[str] = []


class World(Hosting):
    """Everything of one seed."""

    def __init__(self, seed: int, made: template.Template, folder: Path, *, keep: bool) -> None:
        self.seed = seed
        self.template = made
        self.folder = folder
        self.chance = random.Random(seed)
        self.loop = SimLoop()
        self.history = History()
        self.traced = Trace(keep=keep)
        self.net = Net(
            self.loop,
            random.Random(self.chance.getrandbits(64)),
            lambda text: self.trace("net", text),
        )
        self.net.sometimes = self.sometimes
        self.net.watch = self._frame
        self.graveyard: list[object] = []
        self.machines: dict[str, Machine] = {}
        self.slow_disk: float = 0.002
        self.loop.executor_delay = lambda: self.chance.uniform(0.0, 0.001)
        self.loop.set_exception_handler(self._broken)

    # --- Hosting --------------------------------------------------------------------------

    def trace(self, *words: object) -> None:
        self.traced.add(self.loop.time(), *words)

    def commit_delay(self) -> float:
        return self.chance.uniform(0.0002, self.slow_disk)

    def ended(self, machine: Machine) -> None:
        pass

    def sometimes(self, name: str) -> None:
        """A rare path has run."""
        self.history.sometimes[name] += 1

    def _frame(self, pipe: Pipe, data: bytes) -> None:
        self.trace("frame", f"{pipe.source}>{pipe.target}", data[0], len(data), hash(data))

    def _broken(self, _loop: object, context: dict[str, object]) -> None:
        error = context.get("exception")
        self.history.wrong(f"an unhandled fault: {context.get('message')} {error!r}")

    # --- the run --------------------------------------------------------------------------

    def run(self, scenario: Awaitable[None]) -> Result:
        """Run to the end."""
        asyncio.set_event_loop(self.loop)
        with installed(self.net, LoopWriter):
            self.loop.run_until_complete(scenario)  # type: ignore[arg-type]
        return Result(
            seed=self.seed,
            faults=self.history.faults,
            sometimes=dict(self.history.sometimes),
            digest=self.traced.digest(),
            lines=self.traced.lines,
        )

    async def open(self, names: tuple[str, ...]) -> None:
        """Start machines on copies of the template."""
        for name in names:
            home = self.folder / name
            template.copy(self.template.folder / name, home)
            self.machines[name] = Machine(self, name, template.host(name), home)
            await self.machines[name].start()


class Faults(logging.Handler):
    """What a node logs as an error must never happen here."""

    def __init__(self, history: History) -> None:
        super().__init__(logging.ERROR)
        self._history = history

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._history.wrong(f"a node logged: {record.getMessage()} {error!r}")
