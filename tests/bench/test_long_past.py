"""Figures of a machine with a million old entries, beside one that has none, in one run."""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.bench.figures import commit_floor, cpu_s, memory_mib, percentile, report
from tests.bench.million import live_on
from tests.bench.pairs import LIFTED, held
from tests.fleet.fleets import Machine, fleet_of, linked, machines_of
from tests.running import until

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1_800)]

ENTRIES = int(os.environ.get("ASKMESH_BENCH_ENTRIES", "1000000"))
ASKS = 300
LIVES = 60
STARTS = 7
LOOK_S = 0.5
RATIO = 1.5
START_S = 3.0
RATE = 10_000


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    """One with a long past, a second one of its fleet that was away all the time, an empty one."""
    folder = tmp_path_factory.mktemp("past")
    with (
        fleet_of(folder, "old", "away", constants={}) as (old, away),
        machines_of(folder, "empty", constants={}) as (empty,),
    ):
        for machine in (old, away):
            machine.node.stop()
        empty.found()
        empty.node.stop()
        begun = time.perf_counter()
        made = live_on(old.home, ENTRIES)
        seconds = time.perf_counter() - begun
        size = (old.home / "store.db").stat().st_size / 2**20
        print(f"\n{made} entries written in {seconds:.0f} s, {size:.0f} MiB", flush=True)
        for machine in (old, empty):
            machine.node.start(limits=LIFTED)
        yield [old, away, empty]


def beside(
    name: str, runs: dict[str, Callable[[], object]], times: int, target: float, floor: str
) -> None:
    """Run both by turns; report how much longer the first takes in the median."""
    samples: dict[str, list[float]] = {which: [] for which in runs}
    begun = time.perf_counter()
    for number in range(times + 5):
        for which, run in runs.items():
            start = time.perf_counter()
            run()
            if number >= 5:
                samples[which].append((time.perf_counter() - start) * 1000)
    old, empty = samples.values()
    told = ", ".join(
        f"{which} p50 {statistics.median(one):.2f} p99 {percentile(one, 0.99):.2f} ms"
        for which, one in samples.items()
    )
    report(
        name,
        statistics.median(old) / statistics.median(empty),
        target,
        "x that of an empty fleet",
        samples=times,
        window_s=time.perf_counter() - begun,
        floor=floor,
        more=told,
    )


def test_one_more_ask(machines: list[Machine], tmp_path: Path) -> None:
    old, _, empty = machines
    floor = f"{commit_floor(tmp_path):.2f} ms a durable commit"
    numbers = iter(range(10**6))

    def asks(machine: Machine, kind: str) -> Callable[[], object]:
        return lambda: machine.node.flag(kind=kind, title=f"Row {next(numbers)}?")

    def lives(machine: Machine) -> Callable[[], object]:
        def live() -> None:
            ask = machine.node.flag(kind="question", title=f"Row {next(numbers)}?")["id"]
            assert machine.person.vote(ask, "answer", text="yes")[0] < 300
            told = machine.node.agent("await", {"ask_id": ask, "wait_s": 30})
            assert told["state"] == "answered"
            machine.node.agent("resolve", {"ask_id": ask, "outcome": "done", "ok": True})

        return live

    pair = {f"{held(old.home)} entries": old, "empty": empty}
    for kind in ("question", "note"):
        runs = {which: asks(machine, kind) for which, machine in pair.items()}
        beside(f"one more {kind}", runs, ASKS, RATIO, floor)
    runs = {which: lives(machine) for which, machine in pair.items()}
    beside("asked, answered, picked up, resolved", runs, LIVES, RATIO, floor)
    runs = {which: machine.person.state for which, machine in pair.items()}
    beside("the page's first state (its asks are many more)", runs, LIVES, 10, floor)


def test_start_to_ready(machines: list[Machine]) -> None:
    old, _, empty = machines
    samples: dict[str, list[float]] = {"old": [], "empty": [], "old, killed": []}
    begun = time.perf_counter()
    for _ in range(STARTS):
        for which, machine in (("old", old), ("empty", empty), ("old, killed", old)):
            if which == "old, killed":
                machine.node.kill()
            else:
                machine.node.stop()
            start = time.perf_counter()
            machine.node.start(limits=LIFTED)
            samples[which].append(time.perf_counter() - start)
    told = ", ".join(
        f"{which} p50 {statistics.median(one):.2f} s worst {max(one):.2f} s"
        for which, one in samples.items()
    )
    for which in ("old", "old, killed"):
        report(
            f"start to ready with {ENTRIES} entries ({which}), worst",
            max(samples[which]),
            START_S,
            "s",
            samples=STARTS,
            window_s=time.perf_counter() - begun,
            floor=f"{min(samples['empty']):.2f} s with none",
            more=told,
        )


def test_catching_up_with_all_of_it(machines: list[Machine]) -> None:
    old, away, _ = machines
    goal, before = held(old.home), held(away.home)
    away.node.start()
    assert old.node.process is not None
    assert away.node.process is not None
    pids = (old.node.process.pid, away.node.process.pid)
    until(lambda: held(away.home) > before, "it has begun", 90)
    first, start = held(away.home), time.perf_counter()
    most, before_s = [memory_mib(pid) for pid in pids], [cpu_s(pid) for pid in pids]
    while held(away.home) < goal:
        assert time.perf_counter() - start < 900
        most = [max(one, memory_mib(pid)) for one, pid in zip(most, pids, strict=True)]
        time.sleep(LOOK_S)
    window = time.perf_counter() - start
    there, here = (cpu_s(pid) - before for pid, before in zip(pids, before_s, strict=True))
    report(
        f"{goal - first} entries caught up",
        window,
        (goal - first) / RATE,
        "s",
        samples=1,
        window_s=window,
        floor=f"{there:.0f} s of a processor there, {here:.0f} s here",
        more=f"{(goal - first) / window:.0f} entries/s; memory at most"
        f" {most[0]:.0f} MiB there, {most[1]:.0f} MiB here",
    )
    linked(old, away, seconds=90)
