"""Words go by age, on each machine for itself; what was decided stays, and so does what is open."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from node import limits
from node.desk.retention import Retention
from node.store import retention
from node.store.rebuild import compare
from sync.limits import DAY_MS
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import CALL, Machine
from tests.node.desk.test_erasing import SECRET, holds

HOUR_MS = 3_600_000


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", "laptop") as made:
        made.link("desk", "laptop")
        yield made


class Days:
    """Days that pass on machines that run, an hour at a time where it matters."""

    def __init__(self, fleet: Fleet, **keep: int) -> None:
        self.fleet = fleet
        self.keepers = {
            name: Retention(
                msgspec.structs.replace(
                    machine.context, keep_texts_days=keep.get(name, limits.KEEP_TEXTS_DAYS)
                )
            )
            for name, machine in fleet.machines.items()
        }

    async def look(self) -> None:
        for name, keeper in self.keepers.items():
            clock = self.fleet[name].context.clock
            while True:
                now = clock.now()
                again = await keeper.step(now)
                if again is None or again - now > limits.RETENTION_PAUSE_MS:
                    break
                self.fleet[name].times.advance(again - now)

    async def passed(self, days: int) -> None:
        for _ in range(days):
            self.fleet.advance(DAY_MS)
            await self.look()


async def answered(machine: Machine, fleet: Fleet, title: str) -> str:
    ask = await machine.ask("approval", title=title, call=CALL)
    await machine.vote(fleet.ann, ask, "allow", because=title)
    await machine.fetch(ask)
    return ask


async def test_the_words_go_after_ninety_days_and_the_decision_stays(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    days = Days(fleet)
    await days.look()
    ask = await answered(desk, fleet, SECRET)
    note = await desk.ask("note", title=SECRET)
    still_open = await desk.ask(title="Open all the time")
    await fleet.meet_all()
    await days.passed(89)
    assert (await laptop.view(ask, fleet.ann)).title == SECRET
    await days.passed(2)
    for machine in (desk, laptop):
        assert holds(machine) == []
        assert list((machine.home / "blobs").iterdir()) == []
        assert compare(machine.home) == []
        for gone in (ask, note):
            view = await machine.view(gone, fleet.ann)
            assert view.erased is not None
            assert view.erased.by is None
        view = await machine.view(ask, fleet.ann)
        assert view.final is not None
        assert (view.final.outcome, view.final.by) == ("allowed", "Ann")
        assert (await machine.view(still_open, fleet.ann)).title == "Open all the time"
    await fleet.meet_all()
    assert holds(laptop) == []


async def test_who_let_it_go_does_not_get_it_again_and_who_is_new_lets_it_go_as_well(
    fleet: Fleet, tmp_path: Path
) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    days = Days(fleet, laptop=0)
    await days.look()
    await answered(desk, fleet, SECRET)
    await fleet.meet_all()
    await days.passed(100)
    assert holds(desk) == []
    assert holds(laptop) != []
    await answered(desk, fleet, "Another")
    await fleet.meet_all()
    assert holds(desk) == []
    shed = await fleet.add(tmp_path, "shed")
    try:
        shed.times.wall, shed.times.boot = desk.times.wall, desk.times.boot
        await fleet.carry("laptop", "shed")
        assert holds(shed) != []
        days = Days(fleet, laptop=0)
        await days.look()
        await days.passed(2)
        assert holds(shed) == []
        assert holds(laptop) != []
    finally:
        await shed.close()


async def test_a_clock_that_jumped_and_is_set_right_within_a_day_costs_nothing(
    fleet: Fleet,
) -> None:
    desk = fleet["desk"]
    days = Days(fleet)
    await days.look()
    await answered(desk, fleet, SECRET)
    await days.passed(1)
    right = desk.times.wall
    desk.times.wall += 400 * DAY_MS
    await desk.restart()
    days = Days(fleet)
    await days.look()
    for _ in range(3):
        fleet.advance(HOUR_MS)
        await days.look()
    assert holds(desk) != []
    desk.times.wall = right + 4 * HOUR_MS
    await desk.restart()
    days = Days(fleet)
    await days.passed(40)
    assert holds(desk) != []
    await days.passed(60)
    assert holds(desk) == []


async def test_many_go_a_few_at_a_time(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """And each job commits by itself: a crash between them leaves the rest for the next look."""
    desk = fleet["desk"]
    monkeypatch.setattr(limits, "RETENTION_BATCH", 3)
    monkeypatch.setattr(limits, "RETENTION_BATCHES", 2)
    keeper = Retention(desk.context)
    await keeper.step(desk.context.clock.now())
    for number in range(10):
        await desk.ask("note", title=f"Note {number}")
    for _ in range(90):
        fleet.advance(DAY_MS)
        await keeper.step(desk.context.clock.now())

    async def left() -> int:
        before = desk.context.clock.now()
        return len(await desk.reader.run(lambda one: retention.due(one, before, 99)))

    assert await left() == 10
    fleet.advance(DAY_MS)
    again = await keeper.step(desk.context.clock.now())
    assert await left() == 4
    assert again == desk.context.clock.now() + limits.RETENTION_PAUSE_MS
    fleet.advance(limits.RETENTION_PAUSE_MS)
    again = await keeper.step(desk.context.clock.now())
    assert await left() == 0
    assert again == desk.context.clock.now() + limits.RETENTION_EVERY_MS


async def test_what_waits_on_a_machine_that_was_removed_goes_too(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    days = Days(fleet)
    await days.look()
    await laptop.ask(title=SECRET)
    await fleet.meet_all()
    await fleet.remove("laptop")
    await days.passed(60)
    # The test's removal bears a time long ago.
    assert holds(desk) == []
    assert holds(laptop) != []
