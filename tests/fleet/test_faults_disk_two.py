"""A full disk on either of two machines, at each step of an ask's life."""

from pathlib import Path

import pytest

from tests.fleet.disks import in_namespace
from tests.running import ROOT


@pytest.mark.root
def test_a_full_disk_on_either_side_says_so_loses_nothing_and_goes_on_by_itself(
    tmp_path: Path,
) -> None:
    told = in_namespace(ROOT / "tests" / "fleet" / "full_two.py", tmp_path)
    full = "store_full: The disk is full, so nothing was recorded"
    assert told["behind"] > 0
    assert told["still shows"] == "waiting"
    for step in ("call", "ask", "hand-over", "resolve"):
        assert told[step].startswith(full), step
    assert told["vote"][:2] == [503, "store_full"]
    assert told["vote while the home is full"] == [202, "recorded"]
    assert told["card"] in {"sending", "kept"}
    assert (told["votes"], told["finals"], told["handed"]) == (0, 0, 0)
    assert told["taken"] == "allowed"
    if told["start"] is None:
        assert told["start shows"] == "done"
    else:
        assert told["said"].startswith("askmesh: The node cannot start: the disk of ")
        assert "is full. Free some space" in told["said"]
