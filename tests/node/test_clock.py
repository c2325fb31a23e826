"""The judging clock: it never falls, and no wall clock moves a deadline within a boot."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.clock import Anchor, Clock, SystemTimes
from tests.node.store.stores import SetTimes

DAY = 86_400_000
BOOT, WALL = 60_000, 1_800_000_000_000


def stored(clock: Clock) -> Anchor:
    """What a next start reads back."""
    return msgspec.json.decode(msgspec.json.encode(clock.anchor()), type=Anchor)


def test_it_begins_at_the_wall_clock() -> None:
    assert Clock(SetTimes(WALL, BOOT), None).now() == WALL


@pytest.mark.parametrize("jump", [-DAY, -1, 1, DAY])
def test_within_a_boot_the_wall_clock_moves_nothing(jump: int) -> None:
    times = SetTimes(WALL, BOOT)
    clock = Clock(times, None)
    times.wall += jump
    assert clock.now() == WALL
    times.boot += 500
    assert clock.now() == WALL + 500
    assert Clock(times, stored(clock)).now() == WALL + 500


def test_suspend_counts() -> None:
    """CLOCK_BOOTTIME runs on while the machine sleeps, and so do deadlines."""
    times = SetTimes(WALL, BOOT)
    clock = Clock(times, None)
    times.boot += 8 * 3_600_000
    assert clock.now() == WALL + 8 * 3_600_000


def test_a_restart_within_a_boot_counts_the_time_between() -> None:
    times = SetTimes(WALL, BOOT)
    anchor = stored(Clock(times, None))
    times.boot += 90_000
    times.wall -= DAY
    assert Clock(times, anchor).now() == WALL + 90_000


@pytest.mark.parametrize(
    ("away", "expected"), [(3_600_000, 3_600_000), (0, 0), (-DAY, 0), (DAY, DAY)]
)
def test_across_boots_the_wall_clock_rules_but_never_falls(away: int, expected: int) -> None:
    anchor = stored(Clock(SetTimes(WALL, BOOT), None))
    after = SetTimes(WALL + away, 5_000)
    after.boot_name = "boot-2"
    assert Clock(after, anchor).now() == WALL + expected


def test_a_boot_clock_that_fell_under_the_same_name_is_another_boot() -> None:
    """A virtual machine put back to a snapshot keeps its boot's name."""
    anchor = stored(Clock(SetTimes(WALL, BOOT), None))
    assert Clock(SetTimes(WALL + 700, BOOT - 1), anchor).now() == WALL + 700


def test_it_stays_where_a_source_falls() -> None:
    times = SetTimes(WALL, BOOT)
    clock = Clock(times, None)
    times.boot += 1_000
    high = clock.now()
    times.boot -= 600
    assert clock.now() == high


EVENTS = st.lists(
    st.tuples(st.just("run"), st.integers(0, DAY))
    | st.tuples(st.just("wall"), st.integers(-2 * DAY, 2 * DAY))
    | st.tuples(st.just("restart"), st.just(0))
    | st.tuples(st.just("reboot"), st.integers(0, DAY)),
    max_size=20,
)


@given(events=EVENTS)
def test_it_never_falls(events: list[tuple[str, int]]) -> None:
    times = SetTimes(WALL, BOOT)
    clock = Clock(times, None)
    last = clock.now()
    for number, (what, much) in enumerate(events):
        if what == "run":
            times.advance(much)
        elif what == "wall":
            times.wall += much
        else:
            anchor = stored(clock)
            if what == "reboot":
                times.boot, times.boot_name = 1_000, f"boot-{number + 2}"
                times.wall += much
            clock = Clock(times, anchor)
        assert clock.now() >= last
        last = clock.now()


@given(runs=st.lists(st.integers(0, DAY), max_size=10), walls=st.lists(st.integers(-DAY, DAY)))
def test_within_a_boot_it_passes_exactly_as_the_boot_clock(
    runs: list[int], walls: list[int]
) -> None:
    times = SetTimes(WALL, BOOT)
    clock = Clock(times, None)
    for number, run in enumerate(runs):
        times.boot += run
        times.wall += walls[number % len(walls)] if walls else 0
        clock = Clock(times, stored(clock)) if number % 3 == 2 else clock
    assert clock.now() == WALL + sum(runs)


def test_the_machines_own_clocks() -> None:
    times = SystemTimes()
    assert times.boot_id() == times.boot_id() != ""
    first = times.boot_ms()
    assert 0 < first <= times.boot_ms()
    assert times.wall_ms() > 1_600_000_000_000
