"""The size of a store over a year: ten machines, fifty asks a day on each, texts kept 90 days."""

import sys
import time
from pathlib import Path

import pytest

from node.store import retention
from tests.bench.year import Year

pytestmark = [pytest.mark.bench, pytest.mark.timeout(3_600)]

MACHINES = 10
ASKS = 50
KEEP_DAYS = 90
MONTHS = 12
MIB = 1024 * 1024


def test_a_year(tmp_path: Path) -> None:
    year = Year(tmp_path / "home", machines=MACHINES, asks=ASKS, keep_days=KEEP_DAYS)
    sys.stdout.write("\nmonth | entries | file MiB | free | texts | kept | B an entry | calls\n")
    last = year.sizes()
    for month in range(1, MONTHS + 1):
        begun = time.perf_counter()
        for _ in range(30):
            year.day()
        now = year.sizes()
        added = now.entries - last.entries
        sys.stdout.write(
            f"{month} | {now.entries:,} | {now.file / MIB:.0f} | {now.free / MIB:.1f} |"
            f" {now.texts / MIB:.1f} | {now.kept / MIB:.0f} |"
            f" {(now.file - last.file) / added:.0f} | {now.blobs:,}"
            f"  ({time.perf_counter() - begun:.0f} s, longest job {now.longest_ms:.0f} ms)\n"
        )
        sys.stdout.flush()
        last = now
    begun = time.perf_counter()
    retention.due(year.opened.connection, year.times.wall_ms() - KEEP_DAYS * 86_400_000, 200)
    sys.stdout.write(f"one look for what is due: {(time.perf_counter() - begun) * 1000:.0f} ms\n")
    year.close()
