"""Figures of two machines on loopback, beside the floor of the same run."""

import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.bridge.client import get
from tests.bench.figures import memory_mib, percentile, report
from tests.bench.pairs import LIFTED, Listening, fill, floor_ms, held, looking
from tests.fleet.fleets import Machine, fleet_of, linked
from tests.fleet.lab import lab
from tests.running import until

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

ASKS = 200
VOTES = 120
SHOWN = "SELECT 1 FROM ask WHERE id = ?"
SHARE_MS = 6.0
IDLE_S = 90.0
LOOK_S = 0.25
"""How often progress is looked at: a page reads it no more often, and each look costs."""


@pytest.fixture
def two(tmp_path: Path) -> Iterator[list[Machine]]:
    """Two linked machines without limits on how much is asked."""
    with fleet_of(tmp_path, "desk", "laptop", constants={}) as made:
        for machine in made:
            machine.node.stop()
        for machine in made:
            machine.node.start(limits=LIFTED)
        linked(*made, seconds=90)
        yield made


def both(name: str, samples: list[float], targets: tuple[float, float], **more: object) -> None:
    """Report p50 and p99."""
    for share, word, target in ((0.5, "p50", targets[0]), (0.99, "p99", targets[1])):
        value = percentile(samples, share)
        report(f"{name}, {word}", value, target, "ms", samples=len(samples), **more)  # type: ignore[arg-type]


def test_flag_is_visible_there(two: list[Machine], tmp_path: Path) -> None:
    desk, laptop = two
    floor, words = floor_ms(tmp_path)
    begun = time.perf_counter()
    samples = []
    with looking(laptop) as seen:
        for number in range(ASKS + 20):
            start = time.perf_counter()
            ask = desk.node.flag(kind="question", title=f"Question {number}?")["full_id"]
            samples.append((seen(SHOWN, ask) - start) * 1000)
    samples = samples[20:]
    window = time.perf_counter() - begun
    both("flag to visible there", samples, (15, 50), window_s=window, floor=words)
    report(
        "flag to visible there, ours above the floor",
        statistics.median(samples) - floor,
        SHARE_MS,
        "ms",
        samples=len(samples),
        window_s=window,
        floor=words,
    )


def test_a_vote_there_releases_the_agent_here(two: list[Machine], tmp_path: Path) -> None:
    desk, laptop = two
    _, words = floor_ms(tmp_path)
    begun = time.perf_counter()
    samples = [_released(desk, laptop, number) for number in range(VOTES)]
    window = time.perf_counter() - begun
    both("vote there to waiting agent here", samples, (20, 80), window_s=window, floor=words)


def _released(desk: Machine, laptop: Machine, number: int) -> float:
    ask = desk.node.flag(kind="question", title=f"Question {number}?")["full_id"]
    seen = laptop.meets(ask)["seen"]
    released: list[float] = []

    def wait() -> None:
        told = desk.node.agent("await", {"ask_id": ask, "wait_s": 30})
        released.append(time.perf_counter())
        assert told["state"] == "answered"

    waiter = threading.Thread(target=wait)
    waiter.start()
    time.sleep(0.05)
    start = time.perf_counter()
    laptop.person.vote(ask, "answer", text="yes", seen=seen)
    waiter.join(30)
    return (released[0] - start) * 1000


def test_a_page_hears_of_another_machine(two: list[Machine], tmp_path: Path) -> None:
    desk, laptop = two
    _, words = floor_ms(tmp_path)
    page = Listening(laptop)
    begun = time.perf_counter()
    samples = []
    for number in range(ASKS):
        start = time.perf_counter()
        ask = desk.node.flag(kind="question", title=f"Question {number}?")["full_id"]
        samples.append((page.ask(ask) - start) * 1000)
    page.close()
    window = time.perf_counter() - begun
    both("page event from another machine", samples, (200, 200), window_s=window, floor=words)


@pytest.mark.parametrize(("number", "target"), [(10_000, 1.5), (100_000, 12.0)])
def test_a_machine_catches_up(tmp_path: Path, number: int, target: float) -> None:
    with fleet_of(tmp_path, "desk", "laptop", constants={}) as (desk, laptop):
        laptop.node.stop()
        desk.node.stop()
        fill(desk.home, number)
        begun = time.perf_counter()
        desk.node.start()
        report_start(number, time.perf_counter() - begun)
        goal, before = held(desk.home), held(laptop.home)
        laptop.node.start()
        assert desk.node.process is not None
        assert laptop.node.process is not None
        pids = (desk.node.process.pid, laptop.node.process.pid)
        until(lambda: held(laptop.home) > before, "it has begun", 90)
        memory = [memory_mib(pid) for pid in pids]
        start, most, told = time.perf_counter(), list(memory), set()
        while held(laptop.home) < goal:
            assert time.perf_counter() - start < 300
            most = [max(one, memory_mib(pid)) for one, pid in zip(most, pids, strict=True)]
            told.add(behind(laptop))
            time.sleep(LOOK_S)
        window = time.perf_counter() - start
        grown = ", ".join(f"{after - first:.0f}" for after, first in zip(most, memory, strict=True))
        report(
            f"{number} entries caught up",
            window,
            target,
            "s",
            samples=1,
            window_s=window,
            floor=f"{goal - before} entries of 1 log",
            more=f"memory + {grown} MiB there, here; {len(told)} figures of progress shown",
        )
        linked(desk, laptop, seconds=90)
        laptop.node.stop()
        begun = time.perf_counter()
        laptop.node.start()
        report_start(number, time.perf_counter() - begun)


def behind(machine: Machine) -> int:
    """How many entries it says that it lacks: what its page shows as progress."""
    rows = get(str(machine.home), "/agent/node")["fleet"]["machines"]
    return max(row["behind_us"] for row in rows)


def report_start(number: int, seconds: float) -> None:
    """What a node takes until it serves."""
    report(
        f"start to ready with {number} entries",
        seconds,
        1.5,
        "s",
        samples=1,
        window_s=seconds,
        floor="-",
    )


@pytest.mark.netns
@pytest.mark.parametrize("mdns", [False, True], ids=["links", "links and mDNS"])
def test_an_idle_pair(tmp_path: Path, mdns: bool) -> None:
    names = ("desk", "laptop")
    with (
        lab(2) as hosts,
        fleet_of(tmp_path, *names, hosts=hosts.hosts, mdns=mdns, constants={}) as made,
    ):
        # What they say to each other right after they have met is not part of it.
        time.sleep(10)
        wires = [f"/proc/{one.node.process.pid}/net/dev" for one in made if one.node.process]
        before, start = [carried(wire) for wire in wires], time.perf_counter()
        time.sleep(IDLE_S)
        window = time.perf_counter() - start
        after = [carried(wire) for wire in wires]
        report(
            f"idle pair, {'links and mDNS' if mdns else 'links'}",
            (after[0] - before[0]) / window,
            200,
            "B/s",
            samples=1,
            window_s=window,
            floor="0",
            more="all bytes of all frames on the wire, both directions",
        )


def carried(wire: str) -> int:
    """Bytes in and out of the one interface of a host."""
    for line in Path(wire).read_text().splitlines():
        name, _, figures = line.partition(":")
        if name.strip() == "eth0":
            fields = figures.split()
            return int(fields[0]) + int(fields[8])
    raise AssertionError(wire)
