"""The thin programs say what they are for, with an example."""

import subprocess
import sys

import pytest

from tests.running import ROOT


@pytest.mark.parametrize("command", ["mcp", "hook"])
def test_help_shows_an_example(command: str) -> None:
    line = [sys.executable, "-I", "-S", str(ROOT / "askmesh" / "__main__.py"), command, "--help"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert f"usage: askmesh {command}" in done.stdout
    assert "Example" in done.stdout
    assert done.stderr == ""
