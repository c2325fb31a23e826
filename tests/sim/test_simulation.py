"""The simulation itself: the same seed is the same run, and faults in the core are found."""

import pytest

from tests.sim import sometimes
from tests.sim.blocks import seeds
from tests.sim.planted import PLANTS


def test_a_seed_replays_exactly() -> None:
    first, second = (seeds("--from", "20", "--seeds", "3") for _ in range(2))
    assert [one.digest for one in first] == [one.digest for one in second]
    assert [one.sometimes for one in first] == [one.sometimes for one in second]
    assert len({one.digest for one in first}) == 3


def test_a_trace_is_what_the_digest_stands_for() -> None:
    (quiet,), (traced,) = seeds("--seed", "7"), seeds("--seed", "7", "--trace")
    assert quiet.digest == traced.digest
    assert len(traced.lines) > 100


@pytest.mark.timeout(600)
def test_every_planted_fault_is_found() -> None:
    """Within a thousand seeds: which of them does it changes with the core."""
    results = dict(zip(PLANTS, seeds("--proven"), strict=True))
    lost = [plant for plant, result in results.items() if not result.faults]
    assert lost == []


def test_what_the_other_history_states_counts_everywhere() -> None:
    """An owner's machine is copied and removes another one: worlds are sound, and it happens."""
    for first in range(30, 230, 4):  # the first of these has it, unless the core has changed
        results = seeds("--from", str(first), "--seeds", "4", "--fates")
        assert [one.faults for one in results if one.faults] == []
        if any("stated in the other history" in one.sometimes for one in results):
            return
    pytest.fail("no world has it")


def test_a_path_that_never_ran_is_missed() -> None:
    ran = dict.fromkeys(sometimes.REQUIRED, 1)
    assert sometimes.missing(ran) == []
    assert sometimes.missing({**ran, "torn tail": 0}) == ["torn tail"]
