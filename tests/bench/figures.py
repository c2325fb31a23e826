"""What every bench prints: samples, window, figures, the floor of the same run, the target."""

import os
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the value below which `share` of the samples lie (nearest rank)."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def report(
    name: str,
    value: float,
    target: float,
    unit: str,
    *,
    samples: int,
    window_s: float,
    floor: str,
    more: str = "",
) -> None:
    """Print one figure against its target; it never fails a run."""
    met = "met" if value <= target else "MISSED"
    extra = f"; {more}" if more else ""
    sys.stdout.write(
        f"\n{name}: {value:.2f} {unit} (target {target:g}: {met}; {samples} samples in"
        f" {window_s:.1f} s; floor {floor}{extra})"
    )
    sys.stdout.flush()


def timed(action: Callable[[], object], times: int) -> tuple[list[float], float]:
    """Return the milliseconds of each run and the seconds of all."""
    samples: list[float] = []
    begun = time.perf_counter()
    for _ in range(times):
        start = time.perf_counter()
        action()
        samples.append((time.perf_counter() - start) * 1000)
    return samples, time.perf_counter() - begun


def commit_floor(folder: Path) -> float:
    """Return the median milliseconds of one durable SQLite commit on this disk now."""
    connection = sqlite3.connect(folder / "floor.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE t (b BLOB)")
    body = os.urandom(600)
    samples, _ = timed(lambda: connection.execute("INSERT INTO t VALUES (?)", (body,)), 200)
    connection.close()
    return statistics.median(samples)


def spawn_floor() -> float:
    """Return the median milliseconds of starting and ending an isolated Python."""
    line = [sys.executable, "-I", "-S", "-c", "pass"]
    samples, _ = timed(lambda: subprocess.run(line, check=True), 15)
    return statistics.median(samples)


def memory_mib(pid: int) -> float:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(pid)


def cpu_s(pid: int) -> float:
    """Return the processor seconds a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
