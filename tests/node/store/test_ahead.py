"""Marks stamped too far ahead of this clock: kept and relayed, merged when time catches up."""

from functools import partial
from pathlib import Path

import pytest

from node.store import derive, receive, releasing
from node.store.rebuild import compare
from node.store.transaction import Transaction
from sync.limits import CLOCK_AHEAD_MS
from sync.log.entry import Entry
from sync.log.facts import MarkFacts, pack_facts
from sync.log.hlc import COUNTER_BITS
from sync.log.kinds import EntryType
from tests.node.desk.fleets import fleet_of
from tests.node.store.stores import Kept, SetTimes, let_in, looked, mark, writing
from tests.sync.log.entries import entry, key

OTHER = key(21)
AHEAD = 60_000


def stamped(kept: Kept, wall: int) -> Entry:
    facts = MarkFacts(ask="n-1", person="ann", read=False, at=1)
    return entry(
        by=OTHER,
        kind=EntryType.MARK,
        facts=pack_facts(facts),
        hlc=wall << COUNTER_BITS,
        fleet=kept.opened.identity.fleet,
    )


def marks(kept: Kept) -> list[tuple[object, ...]]:
    return looked(kept.home, "SELECT ask, person, read FROM mark")


@pytest.mark.parametrize("off", [0, 1, AHEAD])
async def test_a_mark_is_held_until_its_stamp_is_near(tmp_path: Path, off: int) -> None:
    times = SetTimes()
    async with writing(tmp_path / "home", times=times) as kept:
        await kept.writer.run("in", partial(let_in_one))
        one = stamped(kept, times.wall + CLOCK_AHEAD_MS + off)
        await kept.writer.run("receive", lambda job: receive.keep(job, [one]))
        assert marks(kept) == ([] if off else [("n-1", "ann", 0)])
        due = await kept.writer.run("due", lambda job: releasing.next_release(job.connection))
        assert due == (times.wall + off if off else None)
        if not off:
            return
        assert compare(kept.home) == []
        # Telling the log again does not let it in either.
        await kept.writer.run("anew", lambda job: derive.rebuild_in_place(job.connection))
        times.advance(off - 1)
        assert await kept.writer.run("release", releasing.release) == 0
        assert marks(kept) == []
        times.advance(1)
        assert await kept.writer.run("release", releasing.release) == 1
        assert marks(kept) == [("n-1", "ann", 0)]
        assert await kept.writer.run("release", releasing.release) == 0
        assert compare(kept.home) == []


def let_in_one(transaction: Transaction) -> None:
    let_in(transaction, OTHER)


async def test_a_stamp_far_ahead_does_not_move_our_clock_nor_win_before_its_time(
    tmp_path: Path,
) -> None:
    times = SetTimes()
    async with writing(tmp_path / "home", times=times) as kept:
        await kept.writer.run("in", let_in_one)
        one = stamped(kept, times.wall + CLOCK_AHEAD_MS + AHEAD)
        await kept.writer.run("receive", lambda job: receive.keep(job, [one]))
        times.advance(10)
        await kept.writer.run("mark", partial(mark, ask="n-1"))
        assert marks(kept) == [("n-1", "ann", 1)]
        ((stamp,),) = looked(kept.home, "SELECT hlc FROM mark")
        assert isinstance(stamp, int)
        assert stamp >> COUNTER_BITS == times.wall
        times.advance(AHEAD)
        await kept.writer.run("release", releasing.release)
        assert marks(kept) == [("n-1", "ann", 0)]


async def test_the_sweeper_lets_it_in_at_its_time(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        desk, laptop = fleet["desk"], fleet["laptop"]
        ask = await desk.ask()
        desk.times.advance(CLOCK_AHEAD_MS + AHEAD)
        await desk.writer.run("mark", partial(mark, ask=ask, person=fleet.ann))
        await fleet.carry("desk", "laptop")
        held = "SELECT count(*) FROM mark"
        assert looked(laptop.home, held) == [(0,)]
        assert await laptop.sweeper.sweep() <= AHEAD / 1000
        assert looked(laptop.home, held) == [(0,)]
        laptop.times.advance(AHEAD)
        await laptop.sweeper.sweep()
        assert looked(laptop.home, held) == [(1,)]
