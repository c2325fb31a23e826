"""What happens in one world, from the seed alone: work, faults, healing, and the checks."""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

from tests.sim.agents import Agent, Gate
from tests.sim.chaos import Chaos
from tests.sim.checker import Checker, check_quiet, odd, vectors
from tests.sim.machine import Machine
from tests.sim.persons import Person
from tests.sim.world import World

ACTIVE_S = (20.0, 100.0)
HEAL_S = 420.0
"""Within this every machine must hold the same: the longest backoff, and a few rounds more."""
DAY_S = 86_400.0


class Scenario:
    """One world's story."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.chance = random.Random(world.chance.getrandbits(64))
        self.workers: list[asyncio.Task[None]] = []
        self.persons: list[asyncio.Task[None]] = []
        world.staff = self.staff

    async def play(self) -> None:
        """The whole of it."""
        world = self.world
        await world.open(world.template.names)
        await asyncio.sleep(self.chance.uniform(0, 3))
        for machine in list(world.machines.values()):
            self.staff(machine)
        chaos = Chaos(world)
        active = self.chance.uniform(*ACTIVE_S)
        watch = world.loop.create_task(self.watch())
        await chaos.run(active)
        if self.workers:
            await asyncio.wait(self.workers, timeout=self.chance.uniform(1, 60))
        for task in (*self.workers, *self.persons, watch):
            task.cancel()
        await asyncio.wait((*self.workers, *self.persons, watch))
        self._failed()
        await self.heal()
        Checker(world).check()
        await self.next_day()

    def _failed(self) -> None:
        for task in (*self.workers, *self.persons):
            if not task.cancelled() and task.exception() is not None:
                self.world.history.wrong(f"an actor failed: {task.exception()!r}")

    def staff(self, machine: Machine) -> None:
        """Let somebody work on a machine."""
        world, chance = self.world, self.chance
        for number in range(chance.randint(0, 2)):
            agent = Agent(world, machine, f"{machine.name}-{number}")
            self._begin(self.workers, agent.run(chance.randint(1, 3)))
        if chance.random() < 0.5:
            gate = Gate(world, machine, f"{machine.name}-g")
            self._begin(self.workers, gate.run(chance.randint(1, 2)))
        for name, machines in world.template.speaks.items():
            if machine.name.rstrip("'") in machines and chance.random() < 0.8:
                self._begin(self.persons, Person(world, machine, name).run())

    def _begin(self, tasks: list[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
        tasks.append(self.world.loop.create_task(work))

    async def watch(self) -> None:
        """Look at every card at some quiet moments."""
        while True:
            await asyncio.sleep(self.chance.uniform(20, 80))
            check_quiet(self.world)

    # --- healing --------------------------------------------------------------------------

    async def heal(self) -> None:
        """End every fault; wait until all hold the same."""
        world = self.world
        world.trace("heal")
        world.net.heal()
        world.slow_disk = 0.002
        for machine in world.machines.values():
            machine.stop_at = lambda _name: None
            machine.times.off = 0
            if machine.life is not None:
                machine.life.dies_at = None
                if machine.life.asleep:
                    world.loop.wake(machine.life)
            elif not machine.retired:
                await machine.start()
        await self._retire_clones()
        until = world.loop.time() + HEAL_S
        same = 0
        while same < 3:
            await asyncio.sleep(4)
            held = vectors(world)
            same = same + 1 if all(one == held[0] for one in held) else 0
            if world.loop.time() >= until:
                world.history.wrong(
                    f"the machines do not hold the same after {HEAL_S:.0f} s: {odd(world)}"
                )
                return

    async def _retire_clones(self) -> None:
        clones = [one for one in self.world.machines.values() if one.name.endswith("'")]
        if clones:
            await asyncio.sleep(120)
        for clone in clones:
            clone.retired = True
            if clone.up:
                await clone.stop()

    async def next_day(self) -> None:
        """Long after: what was held for its clock counts, and nothing waits that may not."""
        if self.chance.random() < 0.3:
            self.world.loop.jump(4 * DAY_S)
            await asyncio.sleep(150)
            self.world.sometimes("days later")
            Checker(self.world).check(late=True)
