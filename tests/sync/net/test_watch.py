"""Sleep and changed addresses are noticed by looking."""

import asyncio
import time

from sync.limits import SLEPT_S
from sync.net.clocks import slept, system
from sync.net.interfaces import Interface
from sync.net.watch import Watch
from tests.sync.net.machines import until

ONE = Interface(name="eth0", host="10.0.0.1", prefix=24)
OTHER = Interface(name="eth0", host="10.0.0.2", prefix=24)


def test_a_long_pause_on_either_clock_is_sleep() -> None:
    assert not slept((0, 0), (1, 1))
    assert not slept((0, 0), (SLEPT_S, SLEPT_S))
    assert slept((0, 0), (1, SLEPT_S + 1)), "only the clock that counts sleep shows it"
    assert slept((0, 0), (SLEPT_S + 1, SLEPT_S + 1)), "the process was stopped"


def test_the_system_s_clocks_are_seconds() -> None:
    monotonic, boot = system()
    assert abs(monotonic - time.monotonic()) < 1
    assert boot >= monotonic - 1


class World:
    """Clocks and addresses that a test moves."""

    def __init__(self) -> None:
        self.clocks = (100.0, 500.0)
        self.addresses = [ONE]
        self.ticks = 0
        self.woke = 0
        self.gone: list[set[str]] = []

    def tick(self) -> None:
        self.ticks += 1

    def wake(self) -> None:
        self.woke += 1

    def watch(self) -> Watch:
        return Watch(
            lambda: self.clocks,
            tick=self.tick,
            woke=self.wake,
            moved=self.gone.append,
            tick_s=0.01,
            poll_s=0.01,
            read=lambda: list(self.addresses),
        )


async def test_sleep_is_told_once_and_no_tick_with_it() -> None:
    world = World()
    watch = world.watch()
    watch.start()
    await until(lambda: world.ticks > 2, "it ticks")
    assert world.woke == 0
    world.clocks = (101.0, 9_000.0)
    await until(lambda: world.woke, "it woke")
    before = world.ticks
    await until(lambda: world.ticks > before + 2, "it ticks again")
    assert world.woke == 1
    await watch.stop()


async def test_a_changed_address_is_told_with_what_is_gone() -> None:
    world = World()
    watch = world.watch()
    watch.start()
    await until(lambda: world.ticks > 2, "it runs")
    assert world.gone == []
    world.addresses = [OTHER]
    await until(lambda: world.gone, "it moved")
    world.addresses = [ONE, OTHER]
    await until(lambda: len(world.gone) == 2, "it moved again")
    assert world.gone == [{"10.0.0.1"}, set()]
    await watch.stop()
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
