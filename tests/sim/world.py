"""One simulated world: machines of one fleet, what happens to them, and what must hold."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from zlib import crc32

import msgspec

from sync.log.names import node_name
from sync.wire import frames
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
        self.slow_disk = 0.002
        self.patience = self.chance.choice((10.0, 20.0, 60.0))
        """Seconds after which persons look again, at most."""
        self.lost_replies = self.chance.choice((0.0, 0.1, 0.4))
        self.away: set[str] = set()
        self.returned: dict[str, float] = {}
        self.removed: set[str] = set()
        """Names of machines that the owner removed."""
        self.governed = False
        """Whether the owner said anything of persons or accounts."""
        self.fates: set[str] = set()
        """Which of the faults that no machine comes back from as it was."""
        self.lost: set[str] = set()
        """Names of machines that broke for good."""
        self.copied: set[str] = set()
        """Names of machines whose directory was copied, and used twice or put back."""
        self.staff: Callable[[Machine], None] = lambda _machine: None
        self.loop.executor_delay = lambda: self.chance.uniform(0.0, 0.001)
        self.loop.set_exception_handler(self._broken)

    # --- Hosting --------------------------------------------------------------------------

    def trace(self, *words: object) -> None:
        self.traced.add(self.loop.time(), *words)

    def commit_delay(self) -> float:
        return self.chance.uniform(0.0002, self.slow_disk)

    def ended(self, machine: Machine) -> None:
        self.trace(machine.name, "ended")

    def sometimes(self, name: str) -> None:
        """A rare path has run."""
        self.history.sometimes[name] += 1

    def linked(self, machine: Machine) -> set[str]:
        """The ids of the nodes that a machine has a link to."""
        node = machine.node
        return set() if node is None else {node_name(one) for one in node.network.mesh.linked()}

    def split(self, machine: Machine) -> bool:
        """Whether a machine's directory was copied: its past may be another's."""
        return machine.name.rstrip("'") in self.copied

    def is_over(self, node: str) -> bool:
        """Whether what a node said last may count no more."""
        return any(
            self.template.ids[name.rstrip("'")] == node for name in self.removed | self.copied
        )

    def _frame(self, pipe: Pipe, data: bytes) -> None:
        self.trace("frame", f"{pipe.source}>{pipe.target}", data[0], len(data), crc32(data))
        if data[0] in (frames.FrameType.ACK, frames.FrameType.ENTRIES):
            self._durable(pipe, frames.decode_frame(data))

    def _durable(self, pipe: Pipe, frame: object) -> None:
        """What a machine says it has stored, and what it signed, is in its store by then."""
        life = pipe.back.life
        machine = next((one for one in self.machines.values() if one.life is life), None)
        if machine is None or machine.node is None:
            return
        said: dict[tuple[bytes, int], int] = {}
        if isinstance(frame, frames.Ack):
            said = {(row.author, row.log): row.seq for row in frame.heads}
        elif isinstance(frame, frames.Entries):
            for entry in frame.entries:
                header = entry.header
                said[header.author, header.log] = header.seq
                if node_name(header.author) != machine.id:
                    self.sometimes("entry delivered by a third machine")
        connection = machine.node.reader._open[0]
        for place, seq in said.items():
            row = connection.execute(
                "SELECT seq FROM head WHERE author = ? AND log = ?", place
            ).fetchone()
            if row is None or row[0] < seq:
                self.history.wrong(
                    f"{machine.name} told of entry {seq} of {node_name(place[0])[:4]} before it"
                    f" was durable ({row})"
                )

    def _broken(self, _loop: object, context: dict[str, object]) -> None:
        error = context.get("exception")
        self.history.wrong(f"an unhandled fault: {context.get('message')} {error!r}")

    # --- the run --------------------------------------------------------------------------

    def run(self, scenario: Awaitable[None]) -> Result:
        """Run to the end."""
        asyncio.set_event_loop(self.loop)
        with installed(self.net, LoopWriter):
            self.loop.run_until_complete(scenario)
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
