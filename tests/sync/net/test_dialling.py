"""When to dial, where, and which of two links stays."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.limits import ADDRESSES_RACED, ATTEMPT_S, BACKOFF_MAX_S
from sync.net.dialling import (
    Backoff,
    Paces,
    Side,
    chance_of,
    in_order,
    round_of,
    second_stays,
)
from sync.net.ledger import Address

SMALL, LARGE = b"\1" * 32, b"\2" * 32


def address(host: str, source: str = "told", good_at: int = 0) -> Address:
    return Address(host=host, port=7717, source=source, good_at=good_at)


# --- when ----------------------------------------------------------------------------------


def test_the_ceiling_doubles_to_a_minute_and_stays() -> None:
    backoff = Backoff(lambda: 1.0)
    assert [backoff.next() for _ in range(9)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_each_wait_is_spread_over_all_of_it() -> None:
    assert Backoff(lambda: 0.0).next() == 0
    half = Backoff(lambda: 0.5)
    assert [half.next() for _ in range(4)] == [0.5, 1, 2, 4]


def test_a_change_begins_anew() -> None:
    backoff = Backoff(lambda: 1.0)
    for _ in range(20):
        backoff.next()
    backoff.reset()
    assert (backoff.next(), backoff.next()) == (1, 2)


def test_weeks_of_tries_stay_a_number() -> None:
    backoff = Backoff(lambda: 1.0)
    backoff.tries = 10**6
    assert backoff.next() == BACKOFF_MAX_S


@given(st.binary(min_size=4, max_size=4))
def test_chance_is_below_one(four: bytes) -> None:
    assert 0 <= chance_of(lambda _: four)() < 1


# --- where ---------------------------------------------------------------------------------


def test_what_was_sighted_comes_first_then_where_it_was_last() -> None:
    known = [
        address("told"),
        address("given", "given"),
        address("older", "good", 5),
        address("latest", "good", 9),
        address("given-and-good", "given", 7),
    ]
    hosts = [one.host for one in in_order(known, [address("near", "mdns")])]
    assert hosts == ["near", "latest", "given-and-good", "older", "given", "told"]


def test_a_place_is_tried_once() -> None:
    found = in_order([address("a", "good", 3), address("b")], [address("b", "mdns")])
    assert [one.host for one in found] == ["b", "a"]


def test_few_addresses_are_all_tried() -> None:
    few = [address(str(n)) for n in range(ADDRESSES_RACED)]
    assert round_of(few, 5) == few


@given(count=st.integers(ADDRESSES_RACED + 1, 60))
def test_of_many_the_best_always_and_the_rest_by_turns(count: int) -> None:
    many = [address(str(n)) for n in range(count)]
    rounds = [round_of(many, turn) for turn in range(count)]
    assert all(len(one) <= ADDRESSES_RACED for one in rounds)
    assert all(len(set(map(id, one))) == len(one) for one in rounds)
    assert all(one[0] is many[0] for one in rounds)
    assert {one.host for one in itertools.chain(*rounds)} == {one.host for one in many}


# --- which of two --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "apart", "stays"),
    [
        (SMALL, LARGE, 0.1, False),
        (LARGE, SMALL, 0.1, True),
        (SMALL, SMALL, 0.1, True),
        (LARGE, LARGE, 0.1, True),
        (SMALL, LARGE, ATTEMPT_S + 1, True),
        (LARGE, SMALL, ATTEMPT_S + 1, True),
    ],
)
def test_two_links_become_one(first: bytes, second: bytes, apart: float, *, stays: bool) -> None:
    assert (
        second_stays(Side(dialler=first, opened=5.0), Side(dialler=second, opened=5.0 + apart))
        is stays
    )


@pytest.mark.parametrize("apart", [0.0, 0.1, ATTEMPT_S + 1])
@pytest.mark.parametrize(("first", "second"), [(SMALL, LARGE), (LARGE, SMALL), (SMALL, SMALL)])
def test_another_run_of_the_program_is_heard(first: bytes, second: bytes, apart: float) -> None:
    """It was started anew, or it is a copy: refused, the two would never be compared."""
    before = Side(dialler=first, opened=5.0, run="one")
    assert second_stays(before, Side(dialler=second, opened=5.0 + apart, run="two"))


@given(apart=st.floats(0, ATTEMPT_S / 2))
def test_both_sides_keep_the_same_link(apart: float) -> None:
    """Each sees the two in its own order."""
    one, other = Side(dialler=SMALL, opened=1.0), Side(dialler=LARGE, opened=1.0)
    later = 1.0 + apart
    kept_here = SMALL if not second_stays(one, Side(dialler=LARGE, opened=later)) else LARGE
    kept_there = SMALL if second_stays(other, Side(dialler=SMALL, opened=later)) else LARGE
    assert kept_here == kept_there == SMALL


# --- how often others may come ---------------------------------------------------------------


def test_a_burst_and_then_a_pace() -> None:
    paces = Paces(burst=3, per_second=2.0, remembered=10)
    assert [paces.admits("a", 0.0) for _ in range(5)] == [True, True, True, False, False]
    assert [paces.admits("a", 1.0) for _ in range(3)] == [True, True, False]
    assert paces.admits("b", 1.0), "another caller has its own"


def test_of_many_callers_few_are_remembered_and_the_busiest_stays() -> None:
    paces = Paces(burst=1, per_second=0.001, remembered=3)
    assert paces.admits("busy", 0.0)
    for n in range(50):
        paces.admits(f"caller {n}", 0.0)
        assert not paces.admits("busy", 0.0)
    assert len(paces._buckets) == 3
