"""Faults, drawn from the seed: what networks, disks, clocks and people do to machines."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

from node.process import Node
from sync.errors import CallerError, StoreError
from sync.limits import DAY_MS, MINUTE_MS
from tests.node.desk.machines import viewer
from tests.sim import disk
from tests.sim.government import Government
from tests.sim.machine import Gone, Machine
from tests.sim.persons import Stranger
from tests.sim.template import MOVED
from tests.sim.world import World
from tests.sim.writing import Killed

CLONE_HOST = "10.0.0.9"
WEEK_S = 7 * 86_400.0
STOPS = ("vote", "rule", "hand_over", "gate_hand_over", "gate", "flag", "receive", "resolve", "")
"""Jobs at whose commit a machine is killed; "": at any."""
RARE = {"clone": 0.12, "restore": 0.12, "remove": 0.2, "lose": 0.1, "week": 0.12, "nap": 0.12}
"""What happens once in a world, if at all, and how often it does."""
FATES = {"clone": 0.5, "remove": 1.0, "lose": 0.0}
"""The same where a removal and a copy are to meet."""
GOVERNED = 0.3
"""How often roles or accounts change besides whatever else happens."""


class Chaos:
    """What goes wrong in one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.chance = random.Random(world.chance.getrandbits(64))
        self.government = Government(world, random.Random(self.chance.getrandbits(64)))
        kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "crash": self.crash,
            "stop point": self.stop_point,
            "torn": self.torn,
            "stop": self.stop,
            "weather": self.bad_weather,
            "one way": self.one_way,
            "partition": self.partition,
            "slow": self.slow,
            "clock": self.clock,
            "nap": self.nap,
            "suspend": self.suspend,
            "week": self.week,
            "stranger": self.stranger,
            "cheat": self.cheat,
            "people": self.government.people,
            "account": self.government.account,
            "clone": self.clone,
            "restore": self.restore,
            "remove": self.remove,
            "lose": self.lose,
        }
        common = [kind for kind in kinds if kind not in RARE]
        themes = self.chance.sample(common, self.chance.randint(1, 4))
        if self.chance.random() < GOVERNED:
            themes.append(self.chance.choice(("people", "account")))
        once = [kind for kind, share in RARE.items() if self.chance.random() < share]
        self.kinds = kinds
        self.themes = themes
        self.once = once
        world.trace("faults", *themes, *once)

    async def run(self, seconds: float) -> None:
        """Let things go wrong for so long; what is under way is finished."""
        loop = self.world.loop
        until = loop.time() + seconds
        moments = sorted(loop.time() + self.chance.uniform(0, seconds) for _ in self.once)
        tasks: set[asyncio.Task[None]] = set()
        while loop.time() < until:
            await asyncio.sleep(self.chance.uniform(1, 15))
            if moments and loop.time() >= moments[0]:
                moments.pop(0)
                kind = self.once.pop(0)
            else:
                kind = self.chance.choice(self.themes)
            tasks.add(loop.create_task(self._one(kind)))
        if tasks:
            await asyncio.wait(tasks)

    async def _one(self, kind: str) -> None:
        self.world.trace("fault", kind)
        try:
            await self.kinds[kind]()
        except (Gone, CallerError, StoreError) as error:
            self.world.trace("fault", kind, "came to nothing", type(error).__name__)

    # --- machines -------------------------------------------------------------------------

    def _machine(self, *, up: bool = True) -> Machine:
        found = [one for one in self.world.machines.values() if one.up == up and one.life]
        if not found:
            raise Gone
        return self.chance.choice(found)

    async def _rise(self, machine: Machine, *, least: float = 0.2, most: float = 40.0) -> None:
        await asyncio.sleep(self.chance.uniform(least, most))
        if machine.life is None and not machine.retired:
            if self.chance.random() < 0.3:
                machine.times.boot += 1
            await machine.start()

    async def crash(self) -> None:
        """Any await can be the last."""
        machine = self._machine()
        assert machine.life is not None
        machine.life.dies_at = machine.life.steps + self.chance.randint(1, 300)
        await self._dead(machine, 20)
        self.world.sometimes("crash at an await")
        await self._rise(machine)

    async def _dead(self, machine: Machine, seconds: float) -> None:
        life = machine.life
        until = self.world.loop.time() + seconds
        while machine.life is life and life is not None and life.alive:
            if self.world.loop.time() >= until:
                life.dies_at = None
                machine.stop_at = lambda _name: None
                raise Gone
            await asyncio.sleep(0.05)

    async def stop_point(self) -> None:
        """Die right before or right after a commit."""
        machine, job = self._machine(), self.chance.choice(STOPS)
        after = self.chance.random() < 0.6
        end = ":after-commit" if after else ":before-commit"

        def stop(name: str) -> None:
            if name.startswith(job) and name.endswith(end):
                machine.stop_at = lambda _name: None
                raise Killed

        machine.stop_at = stop
        await self._dead(machine, 60)
        self.world.sometimes("crash between commit and reply" if after else "crash before commit")
        await self._rise(machine)

    async def torn(self) -> None:
        """Die while a commit is written: what lies behind the last sync is spoilt."""
        machine = self._machine()
        synced = [-1]

        def stop(name: str) -> None:
            if name.endswith(":before-commit") and synced[0] < 0:
                synced[0] = disk.size(machine.home)
            elif name.endswith(":after-commit"):
                machine.stop_at = lambda _name: None
                grown = disk.size(machine.home) > synced[0]
                spoil = disk.tear(self.chance, synced[0]) if grown else None
                machine.die(silently=True, spoil=spoil)
                if grown:
                    self.world.sometimes("torn tail")
                raise Killed

        machine.stop_at = stop
        await self._dead(machine, 60)
        await self._rise(machine)

    async def stop(self) -> None:
        """Stop in order, and start again."""
        machine = self._machine()
        await machine.stop()
        await self._rise(machine)

    async def suspend(self) -> None:
        """A process that is stopped, or starved, for a while."""
        machine = self._machine()
        life = machine.life
        assert life is not None
        life.asleep = True
        await asyncio.sleep(self.chance.uniform(1, 90))
        if life.alive:
            self.world.loop.wake(life)
            self.world.sometimes("suspended")

    async def nap(self) -> None:
        """Every machine sleeps for hours; deadlines pass meanwhile."""
        self.world.loop.jump(self.chance.uniform(60, 100_000))
        self.world.sometimes("all slept")

    async def week(self) -> None:
        """One machine is away for a week."""
        machine = self._machine()
        await machine.stop()
        self.world.away.add(machine.name)
        await asyncio.sleep(self.chance.uniform(10, 60))
        self.world.loop.jump(WEEK_S)
        await asyncio.sleep(self.chance.uniform(5, 30))
        self.world.away.discard(machine.name)
        self.world.returned[machine.name] = self.world.loop.time()
        if machine.life is None and not machine.retired:
            await machine.start()

    # --- the network ----------------------------------------------------------------------

    def _pair(self) -> tuple[str, str]:
        one, other = self.chance.sample(list(self.world.machines.values()), 2)
        return one.host, other.host

    async def bad_weather(self) -> None:
        """Frames are lost, doubled, late, out of order."""
        weather = self.world.net.weather
        weather.delay_s = self.chance.choice(((0.001, 0.02), (0.05, 0.8), (0.5, 3.0)))
        weather.lose = self.chance.choice((0.0, 0.02, 0.1))
        weather.double = self.chance.choice((0.0, 0.02, 0.1))
        weather.swap = self.chance.choice((0.0, 0.02, 0.1))
        await asyncio.sleep(self.chance.uniform(5, 40))
        weather.delay_s, weather.lose, weather.double, weather.swap = (0.001, 0.02), 0.0, 0.0, 0.0

    async def one_way(self) -> None:
        """What one machine sends reaches the other no more; the way back is open."""
        source, target = self._pair()
        self.world.net.shut(source, target)
        await asyncio.sleep(self.chance.uniform(2, 80))
        self.world.net.open(source, target)
        self.world.sometimes("one-way cut")

    async def partition(self) -> None:
        """One machine, or two of them, cut off from the rest."""
        hosts = [one.host for one in self.world.machines.values()]
        here = self.chance.sample(hosts, self.chance.randint(1, max(1, len(hosts) - 1)))
        await self._apart(here, self.chance.uniform(5, 120))
        self.world.sometimes("partition")

    async def _apart(self, here: list[str], seconds: float, *, open_again: bool = True) -> None:
        for one, other in self._ways(here):
            self.world.net.shut(one, other)
        await asyncio.sleep(seconds)
        if open_again:
            self._open(here)

    def _open(self, here: list[str]) -> None:
        for one, other in self._ways(here):
            self.world.net.open(one, other)

    def _ways(self, here: list[str]) -> list[tuple[str, str]]:
        hosts = [one.host for one in self.world.machines.values()]
        ways = [(one, other) for one in here for other in hosts if other not in here]
        return ways + [(other, one) for one, other in ways]

    async def slow(self) -> None:
        """A machine that takes little, and whose disk is slow."""
        machine = self._machine()
        self.world.net.weather.slow[machine.host] = self.chance.uniform(200, 20_000)
        self.world.slow_disk = self.chance.uniform(0.01, 1.5)
        await asyncio.sleep(self.chance.uniform(5, 60))
        self.world.net.weather.slow.pop(machine.host, None)
        self.world.slow_disk = 0.002
        self.world.sometimes("slow peer")

    async def clock(self) -> None:
        """Somebody sets a machine's wall clock wrong, and perhaps starts it anew."""
        machine = self._machine()
        jump = self.chance.choice((DAY_MS, -DAY_MS, 10 * MINUTE_MS, -10 * MINUTE_MS))
        machine.times.off += jump
        self.world.sometimes("clock set")
        if self.chance.random() < 0.4:
            await machine.stop()
            machine.times.boot += 1
            await machine.start()
            self.world.sometimes("reboot under a wrong clock")

    # --- people and copies ----------------------------------------------------------------

    async def stranger(self) -> None:
        """A changed program signs a vote for somebody it does not speak for."""
        speaks = self.world.template.speaks
        found = [
            (machine, name)
            for machine in self.world.machines.values()
            for name in ("ann", "bob")
            if machine.up and machine.name not in speaks[name] and not machine.retired
        ]
        if found:
            stranger = Stranger(self.world, *self.chance.choice(found))
            await stranger.vote("vote by a machine that does not speak")

    async def cheat(self) -> None:
        """A changed program signs what its own persons may not say."""
        speaks = self.world.template.speaks
        found = [
            (machine, name)
            for machine in self.world.machines.values()
            for name in ("ann", "bob", "cyd")
            if machine.up and machine.name in speaks[name] and not machine.retired
        ]
        if found:
            cheat = Stranger(self.world, *self.chance.choice(found))
            least = self.chance.choice((1, 1, 2))
            await cheat.vote("vote that nobody checked", least=least)

    async def remove(self) -> None:
        """The owner removes a machine; it may be at work, or cut off from all this."""
        desk = self.world.machines["desk"]
        names = [name for name in self.world.machines if name not in ("desk", "laptop")]
        names = [name for name in names if "'" not in name]
        if not names or not desk.up:
            raise Gone
        self._only("remove")
        name = self.chance.choice(names)
        ann = viewer(self.world.template.people["ann"])
        if self.chance.random() < 0.7:
            # What the machine says meanwhile reaches the others before its end is known.
            await self._apart([desk.host], self.chance.uniform(10, 50), open_again=False)
        self.world.removed.add(name)

        async def remove(node: Node) -> None:
            await node.person_desk.remove_machine(ann, self.world.template.ids[name])

        try:
            await desk.call(remove)
        finally:
            await asyncio.sleep(self.chance.uniform(0, 5))
            self._open([desk.host])
        self.world.sometimes("machine removed")

    async def lose(self) -> None:
        """A machine breaks for good: what others have of it is all there is."""
        machine = self._machine()
        if len(self.world.machines) < 3:
            raise Gone
        self._only("lose")
        self.world.lost.add(machine.name)
        machine.retired = True
        machine.die(silently=True)
        self.world.sometimes("machine lost for good")

    async def clone(self) -> None:
        """A directory is copied and used on a second machine, while the first goes on."""
        machine = self._machine()
        self._only("copy")
        world = self.world
        world.copied.add(machine.name)
        home = disk.keep(machine.home, "clone")
        self._seen_to_be_copied(home)
        await asyncio.sleep(self.chance.uniform(0, 20))
        name = f"{machine.name}'"
        twin = world.machines[name] = Machine(world, name, CLONE_HOST, home)
        world.sometimes("cloned")
        await twin.start()
        world.staff(twin)

    def _only(self, fate: str) -> None:
        """One world has one of these, but for a removal and a copy: what an owner states in
        either of two histories counts everywhere. What a lost machine knew alone does not.
        """
        fates = self.world.fates
        together = {fate, *fates} == {"remove", "copy"} and len(fates) == 1
        if (fates and not together) or (fate == "copy" and self.world.governed):
            raise Gone
        fates.add(fate)
        if together:
            self.world.sometimes("removed and copied in one world")

    def _seen_to_be_copied(self, home: Path) -> None:
        """An image of a whole disk looks like the disk; a copied folder does not."""
        if self.chance.random() < 0.5:
            MOVED.add(str(home))
            self.world.sometimes("copy that can be seen")
        else:
            self.world.sometimes("copy that cannot be seen")

    async def restore(self) -> None:
        """A machine goes on from an older copy of its directory."""
        machine = self._machine()
        self._only("copy")
        kept = disk.keep(machine.home, "backup")
        await asyncio.sleep(self.chance.uniform(5, 60))
        machine.die(silently=False)
        self.world.copied.add(machine.name)
        disk.put_back(kept, machine.home)
        self._seen_to_be_copied(machine.home)
        self.world.sometimes("restored")
        await self._rise(machine, most=5.0)
