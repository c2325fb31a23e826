"""The hybrid clock only rises, whatever the wall clock and the peers say."""

from hypothesis import given
from hypothesis import strategies as st

from sync.limits import CLOCK_AHEAD_MS
from sync.log.hlc import COUNTER_BITS, milliseconds, newer, receive, tick, too_far_ahead

MOMENTS = st.integers(0, 2**47)
STAMPS = st.integers(0, 2**63 - 1)


@given(start=STAMPS, walls=st.lists(MOMENTS, max_size=30))
def test_own_stamps_rise_also_when_the_wall_clock_jumps_back(start: int, walls: list[int]) -> None:
    last = start
    for wall in walls:
        stamp = tick(last, wall)
        assert stamp > last
        assert milliseconds(stamp) >= wall
        last = stamp


@given(wall=MOMENTS, entries=st.integers(1, 50))
def test_without_a_clock_ahead_stamps_stay_on_the_wall(wall: int, entries: int) -> None:
    last = 0
    for _ in range(entries):
        last = tick(last, wall)
    assert milliseconds(last) == wall


def test_a_full_counter_carries_into_the_milliseconds() -> None:
    full = (5 << COUNTER_BITS) | (2**COUNTER_BITS - 1)
    assert tick(full, 5) == 6 << COUNTER_BITS


@given(last=STAMPS, seen=STAMPS, wall=MOMENTS)
def test_a_received_stamp_moves_the_clock_up_or_not_at_all(last: int, seen: int, wall: int) -> None:
    after = receive(last, seen, wall)
    assert after >= last
    assert after in {last, seen}
    if too_far_ahead(seen, wall):
        assert after == last
    else:
        assert after >= seen


@given(wall=MOMENTS, counter=st.integers(0, 2**COUNTER_BITS - 1))
def test_five_minutes_ahead_is_still_taken(wall: int, counter: int) -> None:
    edge = wall + CLOCK_AHEAD_MS
    assert not too_far_ahead((edge << COUNTER_BITS) | counter, wall)
    assert too_far_ahead((edge + 1) << COUNTER_BITS, wall)
    assert not too_far_ahead((edge + 1) << COUNTER_BITS, wall + 1)


@given(marks=st.lists(st.tuples(STAMPS, st.binary(min_size=1, max_size=3)), min_size=1))
def test_the_last_writer_does_not_depend_on_the_order(marks: list[tuple[int, bytes]]) -> None:
    def settle(order: list[tuple[int, bytes]]) -> tuple[int, bytes]:
        stands = order[0]
        for mark in order[1:]:
            if newer(mark, stands):
                stands = mark
        return stands

    assert settle(marks) == settle(marks[::-1]) == max(marks)
