"""The seeds of `deploy/test`, in four blocks that run side by side."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.architecture.sources import ROOT
from tests.sim import sometimes
from tests.sim.world import Result

BLOCKS = 4
SEEDS = 75
"""In each block."""


def seeds(*options: str) -> list[Result]:
    """Run seeds in a process of their own and return what came of each."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.sim", "--json", *options],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    results = [msgspec.json.decode(line, type=Result) for line in done.stdout.splitlines()]
    assert results, done.stderr
    return results


def shared(factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this very run of pytest use."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def check_block(number: int, factory: pytest.TempPathFactory) -> None:
    """Run one block; whichever ends last holds what all of them ran against the list."""
    results = seeds("--from", str(number * SEEDS), "--seeds", str(SEEDS))
    failed = {
        f"python -m tests.sim --seed {result.seed} --trace": result.faults
        for result in results
        if result.faults
    }
    assert failed == {}
    assert len(results) == SEEDS
    folder = shared(factory)
    ran: dict[str, int] = {}
    for result in results:
        for name, times in result.sometimes.items():
            ran[name] = ran.get(name, 0) + times
    begun = folder / f"sim-{number}.part"
    begun.write_bytes(msgspec.json.encode(ran))
    begun.rename(folder / f"sim-{number}.json")
    found = sorted(folder.glob("sim-*.json"))
    if len(found) == BLOCKS:
        total: dict[str, int] = {}
        for path in found:
            for name, times in msgspec.json.decode(path.read_bytes()).items():
                total[name] = total.get(name, 0) + times
        assert sometimes.missing(total) == []
