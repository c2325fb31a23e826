"""Two machines whose clocks differ by a day, either way, and by ten minutes.

Whose clock is right nobody can know: what closes an ask is the clock of its home alone.
"""

from collections.abc import Iterator

import pytest

from sync.limits import CLOCK_AHEAD_MS, DAY_MS, HOUR_MS, MINUTE_MS
from sync.log.kinds import EntryType
from tests.fleet.fleets import Machine, equal, fleet_of
from tests.fleet.history import check_life, entries
from tests.running import until

OFF = {"a day ahead": DAY_MS, "a day behind": -DAY_MS, "ten minutes ahead": 10 * MINUTE_MS}
ABOUT_MS = 30_000


@pytest.fixture(scope="module", params=OFF)
def fleet(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Machine, Machine, int]]:
    """The desk is right, the laptop is off; they were paired so."""
    off = OFF[request.param]
    folder = tmp_path_factory.mktemp("clocks")
    with fleet_of(folder, "desk", "laptop", ahead={"laptop": off}) as (desk, laptop):
        yield desk, laptop, off


def test_each_shows_how_far_the_other_is_off(fleet: tuple[Machine, Machine, int]) -> None:
    desk, laptop, off = fleet

    def shown(machine: Machine, other: Machine, skew: int) -> bool:
        said = machine.sees(other.name).get("skew_ms")
        return said is not None and abs(said - skew) < ABOUT_MS

    until(lambda: shown(desk, laptop, off), "the desk shows it")
    until(lambda: shown(laptop, desk, -off), "the laptop shows it")


def test_answers_count_both_ways(fleet: tuple[Machine, Machine, int]) -> None:
    desk, laptop, _ = fleet
    for home, other in ((desk, laptop), (laptop, desk)):
        ask = str(home.node.flag(kind="question", title=f"Of {home.name}?")["full_id"])
        other.meets(ask)
        status, receipt = other.person.vote(ask, "answer", text="yes", wait_s=20)
        assert (status, receipt["state"]) == (202, "accepted")
        assert home.node.agent("await", {"ask_id": ask, "wait_s": 20})["text"] == "yes"
        other.becomes(ask, "handed")
        equal(desk, laptop)
        check_life(home.home, ask, approval=False)


def test_a_deadline_is_the_home_s(fleet: tuple[Machine, Machine, int]) -> None:
    """The other machine may think that it has passed, or that there is time: it says no more."""
    desk, laptop, off = fleet
    deadline_s = 6 * HOUR_MS // 1_000
    ask = str(
        desk.node.flag(kind="question", title="Until then?", deadline_s=deadline_s)["full_id"]
    )
    shown = laptop.meets(ask)
    if off > deadline_s * 1_000:
        assert shown["card"]["state"] == "deadline_passed"
        assert "desk has not confirmed it" in shown["card"]["sentence"]
        assert desk.person.vote(ask, "answer", text="in time", wait_s=20)[0] == 202
    else:
        assert laptop.person.vote(ask, "answer", text="in time", wait_s=20)[0] == 202
    final = laptop.becomes(ask, "answered_here", "answered_elsewhere")["final"]
    assert final["text"] == "in time"
    equal(desk, laptop)
    assert len(entries(laptop.home, EntryType.FINAL, ask)) == 1


def test_a_mark_from_the_future_waits_for_it(fleet: tuple[Machine, Machine, int]) -> None:
    """Else a wrong clock would have the last word for a day."""
    desk, laptop, off = fleet
    note = str(desk.node.flag(kind="note", title="Built")["full_id"])
    laptop.meets(note)
    laptop.person.ok("PUT", f"/api/asks/{note}/read", {"read": True})
    equal(desk, laptop)
    if off <= CLOCK_AHEAD_MS:
        until(lambda: desk.person.ask(note)["read"], "it is read at the desk")
        return
    assert desk.person.ask(note)["read"] is False
    desk.node.advance(off - CLOCK_AHEAD_MS + MINUTE_MS)
    until(lambda: desk.person.ask(note)["read"], "it is read at the desk once time caught up", 40)
    equal(desk, laptop)
