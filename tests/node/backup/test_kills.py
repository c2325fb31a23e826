"""kill -9 anywhere in a backup or a restore: it is there whole or not at all."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import ROOT

SCRIPT = ROOT / "tests" / "node" / "backup" / "killer.py"
STEP = 9
"""Each place takes some 50 ms; run by hand with 1 for all of them."""


@pytest.mark.parametrize(("what", "first"), [("backup", 4), ("restore", 1)])
def test_it_is_whole_or_nothing(tmp_path: Path, what: str, first: int) -> None:
    command = [sys.executable, "-I", str(SCRIPT), str(tmp_path), what, str(first), str(STEP)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert told["wrong"] == []
    assert told["lines"] > 20 * STEP
    assert told["ended"] == ["nothing", "whole"]
