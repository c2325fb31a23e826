"""A disk that becomes read-only under a running node, and one that is so at its start."""

from pathlib import Path

import pytest

from tests.fleet.disks import in_namespace
from tests.running import ROOT


@pytest.mark.root
def test_a_disk_that_becomes_read_only_is_told_of_and_loses_nothing(tmp_path: Path) -> None:
    told = in_namespace(ROOT / "tests" / "fleet" / "read_only.py", tmp_path)
    assert told["ask"].startswith("store")
    assert "nothing was recorded" in told["ask"]
    assert "Nothing can be asked or answered on this machine." in told["banner"]
    assert told["vote"] == "recorded"
    assert told["desk shows"] == "waiting"
    assert told["start"] == 1
    assert "cannot be written: Read-only file system. Make it writable" in told["said"]
    assert told["after"] == ["answered", "yes"]
