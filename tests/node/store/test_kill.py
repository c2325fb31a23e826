"""kill -9 in the middle of commits: what was acknowledged is there, and the chain is whole."""

import subprocess
import sys
from pathlib import Path

from node.store.rebuild import compare
from tests.node.store.stores import looked
from tests.running import ROOT

SCRIPT = ROOT / "tests" / "node" / "store" / "endless_writer.py"
ACKNOWLEDGED = (1, 40, 150)
"""How many acknowledgements are read before each kill."""


def killed_after(home: Path, first: int, count: int) -> list[int]:
    """Let a writer run, kill it; return all that it acknowledged."""
    command = [sys.executable, "-I", str(SCRIPT), str(home), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/") as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(count)]
        process.kill()
        rest = process.stdout.read().splitlines(keepends=True)
    return told + [int(line) for line in rest if line.endswith("\n")]


def test_what_was_acknowledged_survives_every_kill(tmp_path: Path) -> None:
    home = tmp_path / "home"
    acknowledged: set[str] = set()
    for turn, count in enumerate(ACKNOWLEDGED):
        told = killed_after(home, (turn + 1) * 1_000_000, count)
        acknowledged |= {f"a-{number}" for number in told}
        durable = {str(ask) for (ask,) in looked(home, "SELECT ask FROM mark")}
        assert acknowledged <= durable
        assert compare(home) == []
    numbers = [n for (n,) in looked(home, "SELECT n FROM event ORDER BY n")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(acknowledged) >= sum(ACKNOWLEDGED)
