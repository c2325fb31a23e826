"""Twelve real nodes of one fleet on loopback: each asks, another one answers, all are equal."""

import statistics
import time
from pathlib import Path

import pytest

from tests.bench.figures import memory_mib, report
from tests.fleet.fleets import Machine, equal, fleet_of

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

MACHINES = 12
ROUNDS = 3


def memory(machines: list[Machine]) -> list[float]:
    """What each process holds."""
    return [memory_mib(one.node.process.pid) for one in machines if one.node.process is not None]


def answered(asker: Machine, answerer: Machine, title: str) -> tuple[float, float]:
    """Ask on one, answer on another; milliseconds until it was seen there, and known here."""
    start = time.perf_counter()
    ask = asker.node.flag(kind="question", title=title)["full_id"]
    seen = answerer.meets(ask)["seen"]
    shown = time.perf_counter()
    status, said = answerer.person.vote(ask, "answer", text=f"yes from {answerer.name}", seen=seen)
    assert status < 300, said
    told = asker.node.agent("await", {"ask_id": ask, "wait_s": 30})
    assert told["state"] == "answered", told
    assert answerer.name in told["text"], told
    return (shown - start) * 1000, (time.perf_counter() - shown) * 1000


def test_twelve_machines(tmp_path: Path) -> None:
    names = [f"m{number:02}" for number in range(MACHINES)]
    begun = time.perf_counter()
    with fleet_of(tmp_path, *names, constants={}) as machines:
        paired = time.perf_counter() - begun
        before = memory(machines)
        start, seen, back = time.perf_counter(), [], []
        for turn in range(1, ROUNDS + 1):
            for number, asker in enumerate(machines):
                answerer = machines[(number + turn) % MACHINES]
                shown, told = answered(asker, answerer, f"Question {turn} of {asker.name}?")
                seen.append(shown)
                back.append(told)
        window = time.perf_counter() - start
        start = time.perf_counter()
        equal(*machines, seconds=60)
        settled = time.perf_counter() - start
        for one in machines:
            rows = one.fleet()["machines"]
            assert len(rows) == MACHINES
            assert {row["state"] for row in rows} == {"here", "connected"}
        most = max(memory(machines))
    tell(seen, back, window)
    report(
        f"{MACHINES} machines, memory of each at most",
        most,
        150,
        "MiB",
        samples=MACHINES,
        window_s=window,
        floor=f"{max(before):.0f} MiB before the first ask",
        more=f"started and paired in {paired:.0f} s, equal {settled:.1f} s after the last answer",
    )


def tell(seen: list[float], back: list[float], window: float) -> None:
    """Print how long each way took."""
    for name, samples in (("seen there", seen), ("answer back at the agent", back)):
        report(
            f"{MACHINES} machines, {name}, median",
            statistics.median(samples),
            500,
            "ms",
            samples=len(samples),
            window_s=window,
            floor="-",
            more=f"worst {max(samples):.0f} ms",
        )
