"""One node on a directory: the second is told who holds it, and touches nothing."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from node.config import LOCK_FILE, lock, prepare
from node.process import HELD_BY_ANOTHER
from sync.errors import StoreError, StoreHeld
from tests.node.store.stores import mode
from tests.running import RunningNode


def test_a_second_node_is_told_who_holds_the_directory(running_node: RunningNode) -> None:
    first = running_node.process
    assert first is not None
    before = (running_node.home / "store.db").read_bytes()
    second = RunningNode(running_node.home)
    second.log = running_node.home.parent / "second.log"
    second.start(wait=False)
    assert second.wait_dead() == HELD_BY_ANOTHER == 5
    told = second.log.read_text()
    assert f"Another node (pid {first.pid}) already runs on {running_node.home}" in told
    assert "askmesh down" in told
    assert "Traceback" not in told
    assert (running_node.home / "store.db").read_bytes() == before
    assert running_node.flag(kind="note", title="The first goes on")["state"] == "posted"
    assert json.loads((running_node.home / LOCK_FILE).read_text())["pid"] == first.pid


def test_a_killed_node_holds_nothing(running_node: RunningNode) -> None:
    running_node.kill()
    running_node.start()
    assert running_node.flag(kind="note", title="Back")["state"] == "posted"


def test_the_lock_lives_as_long_as_its_descriptor(tmp_path: Path) -> None:
    held = lock(tmp_path, {"pid": 42})
    with pytest.raises(StoreHeld, match="pid 42"):
        lock(tmp_path, {"pid": 43})
    assert json.loads((tmp_path / LOCK_FILE).read_text()) == {"pid": 42}
    assert mode(tmp_path / LOCK_FILE) == 0o600
    os.close(held)
    again = lock(tmp_path, {"pid": 7})
    assert json.loads((tmp_path / LOCK_FILE).read_text()) == {"pid": 7}
    os.close(again)


def test_a_holder_that_said_nothing_is_still_a_holder(tmp_path: Path) -> None:
    handle = os.open(tmp_path / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(StoreHeld, match="unknown"):
        lock(tmp_path, {"pid": 43})
    os.close(handle)


def test_a_lock_is_not_inherited(tmp_path: Path) -> None:
    handle = lock(tmp_path, {"pid": 42})
    assert not os.get_inheritable(handle)
    os.close(handle)


@pytest.mark.parametrize("bits", [0o755, 0o770, 0o701])
def test_a_directory_open_to_others_is_closed_to_them(tmp_path: Path, bits: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(bits)
    prepare(home, create=False)
    assert mode(home) == 0o700


def test_a_directory_is_made_only_when_asked(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be used"):
        prepare(tmp_path / "a" / "home", create=False)
    before = os.umask(0o022)
    try:
        prepare(tmp_path / "a" / "home", create=True)
    finally:
        os.umask(before)
    assert mode(tmp_path / "a" / "home") == 0o700


def test_a_file_in_place_of_the_directory_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        prepare(tmp_path / "home", create=True)


@pytest.mark.root
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(StoreError, match="belongs to another user"):
        prepare(tmp_path, create=True)
