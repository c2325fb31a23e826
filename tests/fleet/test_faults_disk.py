"""A full disk at the gate: what cannot be recorded is not released."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import ROOT


@pytest.mark.root
def test_a_full_disk_at_the_hand_over_is_a_deny_and_keeps_the_allow(tmp_path: Path) -> None:
    script = ROOT / "tests" / "fleet" / "full_gate.py"
    done = subprocess.run(
        [
            *("unshare", "-m", "--propagation", "private"),
            *(sys.executable, "-I", str(script), str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        cwd="/",
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    word, sentence = told["full"]
    assert word == "deny"
    assert "disk is full" in sentence
    assert told["handed while full"] == 0
    assert told["new call while full"] == "deny"
    assert (told["freed"], told["handed"], told["again"]) == ("allow", 1, "deny")
