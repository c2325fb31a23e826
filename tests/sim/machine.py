"""One simulated machine: the real node on a copy of a data directory, started and killed."""

import asyncio
import random
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from node.config import Settings
from node.desk.context import Limits
from node.desk.sweeper import Sweeper
from node.founding import open_store
from node.process import Node, Seams
from tests.sim import template
from tests.sim.loop import Life, SimLoop
from tests.sim.wire import Net
from tests.sim.writing import LoopWriter

Result = TypeVar("Result")
LIMITS = Limits(open_asks_per_session=99, asks_per_second_session=999, asks_per_second_node=999)
WALL = 1_800_000_200_000
"""A little after the template was made."""


class Gone(Exception):
    """The machine does not run, or died before it replied."""


class Times:
    """A machine's clocks: the loop's time, the wall clock put wrong by `off`."""

    def __init__(self, loop: SimLoop) -> None:
        self._loop = loop
        self.off = 0
        self.boot = 1

    def _ran(self) -> int:
        return int(self._loop.time() * 1000)

    def wall_ms(self) -> int:
        return WALL + self._ran() + self.off

    def boot_ms(self) -> int:
        return self._ran()

    def boot_id(self) -> str:
        return f"boot-{self.boot}"


class Machine:
    """A host with a data directory, and the node that runs there (or does not)."""

    def __init__(self, world: "Hosting", name: str, host: str, home: Path) -> None:
        self.world = world
        self.name = name
        self.host = host
        self.home = home
        self.times = Times(world.loop)
        self.life: Life | None = None
        self.node: Node | None = None
        self.sweeper: asyncio.Task[None] | None = None
        self.pending: dict[asyncio.Future[Any], None] = {}
        self.stop_at: Callable[[str], None] = lambda _name: None
        self.starts = 0
        self.open = False
        self.retired = False
        """Not started again: a clone that was found."""

    @property
    def up(self) -> bool:
        """Whether a node runs here and answers."""
        return self.open and self.life is not None and not self.life.asleep

    @property
    def id(self) -> str:
        """The node's id."""
        return self.world.template.ids[self.name.partition("'")[0]]

    # --- running ------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the node, as `node.process` does without its two listeners."""
        life = self.life = Life(self.host)
        life.kill = self.kill
        self.starts += 1
        ready = self.world.loop.create_task(self._begin(), context=life.copy())
        done: asyncio.Future[None] = self.world.loop.create_future()
        self.pending[done] = None
        ready.add_done_callback(lambda task: self._reply(done, task))
        await done

    async def _begin(self) -> None:
        chance = random.Random(self.world.chance.getrandbits(64))
        seams = Seams(
            times=self.times,
            random=chance.randbytes,
            stop_point=self._stop_point,
            limits=LIMITS,
        )
        opened = open_store(
            self.home, create=False, machine=self.name, times=seams.times, random=seams.random
        )
        node = self.node = Node(self.home, Settings(mdns=False), opened, seams, None)
        assert isinstance(node.writer, LoopWriter)
        node.writer.delays = self.world.commit_delay
        node.writer.died = self.kill
        node.writer.committed = lambda names: self.world.trace(self.name, "commit", names)
        await node.settle()
        self.open = True
        loop = asyncio.get_running_loop()
        self.sweeper = loop.create_task(Sweeper(node.context, node.answers).run())
        await node.network.start()

    def _stop_point(self, name: str) -> None:
        self.stop_at(name)

    async def stop(self) -> None:
        """Stop in order, as `askmesh down` does."""
        node, sweeper = self.node, self.sweeper
        assert node is not None
        assert sweeper is not None

        async def end(node: Node) -> None:
            sweeper.cancel()
            await node.pairings.stop()
            await node.network.stop()
            await node.writer.close()
            node.reader.close()

        await self.call(end)
        self._over()

    def kill(self) -> None:
        """Die: what was committed stays, everything else is gone."""
        self.die(silently=self.world.chance.random() < 0.3)

    def die(self, *, silently: bool, spoil: Callable[[Path], None] | None = None) -> None:
        """As `kill`; `spoil` changes what is left of the disk."""
        node, life = self.node, self.life
        if life is None or not life.alive:
            return
        self.world.trace(self.name, "died")
        life.alive = False
        self.world.net.drop(life, silently=silently)
        self.world.net.doors.pop(self.host, None)
        dead = self.home.with_name(f"{self.home.name}.dead")
        self.home.rename(dead)
        template.copy(dead, self.home)
        if node is not None:
            node.writer._connection.close()
            for connection in node.reader._open:
                connection.close()
        shutil.rmtree(dead)
        if spoil is not None:
            spoil(self.home)
        self.world.graveyard.append((node, life))
        self._over()

    def _over(self) -> None:
        self.node, self.life, self.sweeper, self.open = None, None, None, False
        self.world.ended(self)
        pending, self.pending = self.pending, {}
        for future in pending:
            if not future.done():
                future.set_exception(Gone())

    # --- asking -------------------------------------------------------------------------

    def begin(
        self, make: Callable[[Node], Awaitable[Result]]
    ) -> tuple[asyncio.Future[Result], "asyncio.Task[Result] | None"]:
        """Ask the node for something; its reply, and the task (to be cancelled)."""
        loop = self.world.loop
        future: asyncio.Future[Result] = loop.create_future()
        if not self.up:
            future.set_exception(Gone())
            return future, None
        node, life = self.node, self.life
        assert node is not None
        assert life is not None

        async def run() -> Result:
            return await make(node)

        self.pending[future] = None
        task = loop.create_task(run(), context=life.copy())
        task.add_done_callback(lambda done: self._reply(future, done))
        return future, task

    async def call(self, make: Callable[[Node], Awaitable[Result]]) -> Result:
        """Ask the node for something. Raises `Gone`."""
        return await self.begin(make)[0]

    def _reply(self, future: "asyncio.Future[Any]", task: "asyncio.Task[Any]") -> None:
        self.pending.pop(future, None)
        if future.done():
            return
        if task.cancelled():
            future.set_exception(Gone())
        elif (error := task.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(task.result())


class Hosting:
    """What a machine needs of its world."""

    loop: SimLoop
    net: Net
    chance: random.Random
    template: template.Template
    graveyard: list[object]

    def trace(self, *words: object) -> None:
        """Write down what happened."""
        raise NotImplementedError

    def commit_delay(self) -> float:
        """Until a commit is durable."""
        raise NotImplementedError

    def ended(self, machine: Machine) -> None:
        """A node does not run any more."""
        raise NotImplementedError
