"""A disk that is full or read-only: nothing acknowledged is lost, and it is said in words."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from node.bridge.client import Refused
from node.store.rebuild import compare
from tests.node.store.stores import looked
from tests.running import ROOT, RunningNode, node_in

SCRIPTS = ROOT / "tests" / "node" / "store"


def own_namespace(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a mount namespace of its own; the mounts end with it."""
    return subprocess.run(
        ["unshare", "-m", "--propagation", "private", *command],
        check=False,
        capture_output=True,
        text=True,
        cwd="/",
        timeout=100,
    )


def told_by(script: str, *arguments: str) -> dict[str, Any]:
    """Run a script of this folder in a mount namespace; return what it printed."""
    ended = own_namespace(sys.executable, "-I", str(SCRIPTS / script), *arguments)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


@pytest.mark.root
def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    told = told_by("full_disk.py", str(tmp_path))
    assert told["acknowledged"] > 20
    assert told["failed_jobs"] > 1
    assert told["sentences"] == [
        "The disk is full, so nothing was recorded; free some space and try again."
    ]
    assert told["seen_while_full"] == told["acknowledged"]
    assert told["durable"] == told["acknowledged"] + told["after_freeing"]
    assert told["after_freeing"] == 3
    assert told["published"] == told["durable"]
    assert told["blob"] == "StoreFull"
    assert told["blob_left"] == []
    assert told["findings"] == []


@pytest.mark.root
def test_a_first_start_on_a_full_disk_is_told_and_finished_later(tmp_path: Path) -> None:
    told = told_by("full_genesis.py", str(tmp_path))
    assert told["refused"] != []
    for sentence in told["refused"]:
        assert "disk is full" in sentence or "No space left" in sentence, sentence
    assert told["findings"] == []


@pytest.mark.root
def test_a_real_node_on_a_full_disk_refuses_and_then_goes_on(tmp_path: Path) -> None:
    told = told_by("full_node.py", str(tmp_path))
    assert "disk is full" in told["refused"]
    assert told["shown_while_full"] == told["acknowledged"]
    # Either nothing was recorded, and the second try was; or the vote was kept and then ruled.
    assert told["first"] in ([202, "recorded"], [202, "accepted"])
    assert told["final"] == told["handed"] == "this one"
    assert told["findings"] == []


@pytest.mark.root
def test_a_read_only_directory_is_told_in_words(node: RunningNode) -> None:
    node.start()
    node.flag(kind="question", title="Which?")
    node.stop()
    before = (node.home / "store.db").read_bytes()
    start = (
        "import sys, subprocess;"
        "subprocess.run(['mount', '--bind', sys.argv[1], sys.argv[1]], check=True);"
        "subprocess.run(['mount', '-o', 'remount,ro,bind', sys.argv[1]], check=True);"
        "sys.exit(subprocess.run(sys.argv[2:]).returncode)"
    )
    plan = node.home.parent / "home.plan.json"
    options = json.loads(plan.read_text())
    options["options"]["sign_in_fd"] = None
    plan.write_text(json.dumps(options))
    ended = own_namespace(
        sys.executable,
        "-c",
        start,
        str(node.home),
        sys.executable,
        "-I",
        str(ROOT / "tests" / "launcher.py"),
        str(plan),
    )
    assert ended.returncode == 1
    assert "cannot be written" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert (node.home / "store.db").read_bytes() == before
    node.start()
    assert compare(node.home) == []


def refused_at_last(node: RunningNode) -> dict[str, int]:
    """Raise notes until one is refused; return how many were not, and the status."""
    for number in range(400):
        try:
            node.flag(kind="note", title="Note", detail="x" * 8_000, session=f"s{number}")
        except Refused as error:
            return {"acknowledged": number, "status": error.status}
    raise AssertionError("the disk never filled")


def test_a_file_size_limit_is_a_full_disk(tmp_path: Path) -> None:
    """RLIMIT_FSIZE: a write that the system cuts short, without root."""
    with node_in(tmp_path) as node:
        node.start(prefix=("prlimit", f"--fsize={600 * 1024}"))
        told = refused_at_last(node)
        assert told["status"] == 503
        assert looked(node.home, "SELECT count(*) FROM ask") == [(told["acknowledged"],)]
        node.kill()
        node.start()
        node.flag(kind="note", title="With room again")
        assert compare(node.home) == []
