"""Whether a node runs is read from its lock, never guessed from a file that it left behind."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from node.cli.main import askmesh
from node.cli.running import facts, lock_holder, serving

HOLDER = """
import fcntl, sys, time
file = open(sys.argv[1], "r+")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    lock = tmp_path / "node.lock"
    lock.touch()
    command = [sys.executable, "-I", "-c", HOLDER, str(lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        lock.write_text(json.dumps({"pid": process.pid, "started": 0, "web_port": 1}))
        yield process
        process.kill()


def test_a_lock_that_is_held_names_its_process(
    tmp_path: Path, holder: "subprocess.Popen[str]"
) -> None:
    assert lock_holder(str(tmp_path)) == holder.pid


def test_a_lock_left_behind_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "node.lock").write_text(json.dumps({"pid": os.getpid()}))
    assert lock_holder(str(tmp_path)) is None
    assert lock_holder(str(tmp_path / "nothing")) is None


def test_looking_at_a_lock_does_not_hold_it(tmp_path: Path) -> None:
    (tmp_path / "node.lock").write_text("{}")
    assert lock_holder(str(tmp_path)) is None
    with (tmp_path / "node.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize("content", ["", "{}", '{"pid": 1}', '{"pid": "7"}', '{"pid": -4}', "[]"])
def test_a_lock_that_names_no_process_stops_nothing(
    tmp_path: Path, holder: "subprocess.Popen[str]", content: str
) -> None:
    (tmp_path / "node.lock").write_text(content)
    assert lock_holder(str(tmp_path)) == 0
    result = CliRunner().invoke(askmesh, ["--home", str(tmp_path), "down"])
    assert result.exit_code == 1
    assert "does not say by whom" in result.output
    assert holder.poll() is None


def test_down_stops_the_process_that_holds_the_lock(
    tmp_path: Path, holder: "subprocess.Popen[str]"
) -> None:
    result = CliRunner().invoke(askmesh, ["--home", str(tmp_path), "down"])
    assert result.exit_code == 0
    assert f"(pid {holder.pid}) has stopped" in result.output
    assert holder.wait() == -signal.SIGTERM


def test_down_without_a_node_says_so_and_is_done(tmp_path: Path) -> None:
    (tmp_path / "node.lock").write_text(json.dumps({"pid": os.getpid()}))
    for folder in (tmp_path, tmp_path / "nothing"):
        result = CliRunner().invoke(askmesh, ["--home", str(folder), "down"])
        assert result.exit_code == 0
        assert "No node is running" in result.output


def test_facts_left_behind_are_not_a_running_node(tmp_path: Path) -> None:
    left = {"pid": 7, "version": "1", "web_port": 7718, "port": 7717, "url": "x", "started": 0}
    (tmp_path / "node.json").write_text(json.dumps(left))
    assert facts(str(tmp_path)) is not None
    assert serving(str(tmp_path)) is None
    (tmp_path / "node.json").write_text('{"pid": 7}')
    assert facts(str(tmp_path)) is None
