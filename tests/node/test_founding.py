"""Genesis: one fleet, one key, and a first start that was killed is finished by the next."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from node.identity import KEY_FILE, RECOVERY_BYTES, create_key, recovery_key, recovery_words
from node.store.rebuild import compare
from sync.errors import StoreError
from sync.log.entry import decode, verify
from sync.log.facts import CertificateFacts, GenesisFacts, read
from sync.log.kinds import EntryType
from sync.net.certificate import certificate_of
from tests.node.store.stores import SetTimes, found, looked, mode
from tests.running import ROOT, RunningNode

KILLER = ROOT / "tests" / "node" / "genesis_killer.py"


def test_the_first_entry_says_all_a_fleet_begins_with(tmp_path: Path) -> None:
    opened = found(tmp_path, SetTimes(wall=1_800_000_000_000))
    (row,) = opened.connection.execute("SELECT header, signature, facts, text FROM entry")
    entropy = opened.connection.execute(
        "SELECT value FROM local WHERE name = 'recovery_entropy'"
    ).fetchone()[0]
    opened.connection.close()
    genesis = decode(*row)
    verify(genesis, opened.identity.key.public)
    assert (genesis.header.seq, genesis.header.type) == (1, EntryType.GENESIS)
    assert genesis.header.fleet == opened.identity.fleet
    assert read(GenesisFacts, genesis.facts) == GenesisFacts(
        node_key=opened.identity.key.public,
        recovery_key=recovery_key(entropy).public,
        machine="box",
        certificate=certificate_of(opened.identity.key),
        at=1_800_000_000_000,
    )
    assert len(entropy) == RECOVERY_BYTES
    assert compare(tmp_path) == []


def test_a_second_start_founds_nothing(tmp_path: Path) -> None:
    first = found(tmp_path)
    first.connection.close()
    again = found(tmp_path, create=False)
    again.connection.close()
    assert (again.store_id, again.identity.fleet, again.identity.name, again.machine) == (
        first.store_id,
        first.identity.fleet,
        first.identity.name,
        "box",
    )
    assert looked(tmp_path, "SELECT count(*) FROM entry") == [(1,)]


def test_a_fleet_without_a_certificate_states_it_at_the_next_start_and_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before_machines_were_paired:
        before_machines_were_paired.setattr("node.founding.certificate_of", lambda _key: b"")
        before_machines_were_paired.setattr("node.founding._state_certificate", lambda *_: None)
        found(tmp_path).connection.close()
    assert looked(tmp_path, "SELECT certificate FROM node") == [(None,)]
    for _ in range(2):
        opened = found(tmp_path)
        opened.connection.close()
        certificate = certificate_of(opened.identity.key)
        assert looked(tmp_path, "SELECT certificate FROM node") == [(certificate,)]
    said = looked(tmp_path, "SELECT facts FROM entry WHERE type = 7")
    assert [read(CertificateFacts, row[0]).certificate for row in said] == [certificate]  # type: ignore[arg-type]
    assert compare(tmp_path) == []


def test_the_clock_goes_on_where_it_stood(tmp_path: Path) -> None:
    found(tmp_path, SetTimes(wall=1_800_000_000_000)).connection.close()
    back = SetTimes(wall=1_700_000_000_000)
    back.boot_name = "boot-2"
    opened = found(tmp_path, back)
    opened.connection.close()
    assert opened.clock.now() == 1_800_000_000_000


def test_nothing_is_founded_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No node was ever started") as told:
        found(tmp_path / "home", create=False)
    assert "askmesh up" in told.value.hint
    assert list((tmp_path / "home").iterdir()) == []


def test_a_store_of_another_key_is_refused(tmp_path: Path) -> None:
    found(tmp_path / "home").connection.close()
    before = (tmp_path / "home" / "store.db").read_bytes()
    (tmp_path / "home" / KEY_FILE).unlink()
    create_key(tmp_path / "home")
    with pytest.raises(StoreError, match="another key"):
        found(tmp_path / "home")
    assert (tmp_path / "home" / "store.db").read_bytes() == before


def test_a_store_without_its_key_is_refused_and_gets_no_new_one(tmp_path: Path) -> None:
    found(tmp_path).connection.close()
    (tmp_path / KEY_FILE).unlink()
    with pytest.raises(StoreError, match=r"node\.key.* is gone") as told:
        found(tmp_path)
    assert "backup" in told.value.hint
    assert not (tmp_path / KEY_FILE).exists()


def test_a_key_without_its_store_founds_no_second_fleet(node: RunningNode) -> None:
    node.start().stop()
    for path in node.home.glob("store.db*"):
        path.unlink()
    with pytest.raises(StoreError, match=r"store\.db.* is gone") as told:
        found(node.home)
    assert "backup" in told.value.hint
    assert not (node.home / "store.db").exists()


def test_all_is_for_this_user_only(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        opened = found(tmp_path / "home")
        opened.connection.execute("CREATE TABLE x (y)")
        modes = {path.name: mode(path) for path in (tmp_path / "home").iterdir()}
    finally:
        os.umask(before)
    opened.connection.close()
    assert modes == dict.fromkeys(
        [KEY_FILE, "starts.json", "store.db", "store.db-wal", "store.db-shm"], 0o600
    )


@pytest.mark.parametrize(("first", "before", "step"), [(0, 24, 1), (24, 10_000, 61)])
def test_killed_at_any_line_the_next_start_finishes(
    tmp_path: Path, first: int, before: int, step: int
) -> None:
    """Some of thousands of lines; `genesis_killer.py FOLDER 0 10000 1` tries each of them."""
    tried = subprocess.run(
        [sys.executable, "-I", str(KILLER), str(tmp_path), str(first), str(before), str(step)],
        check=True,
        capture_output=True,
        text=True,
        cwd="/",
    )
    told = json.loads(tried.stdout)
    assert told["wrong"] == [], tried.stderr
    assert told["points"] > 150


def test_a_genesis_that_fails_says_why_and_the_next_start_finishes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_given: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as broken:
        broken.setattr("node.founding.Transaction.append", full)
        with pytest.raises(StoreError, match="disk is full"):
            found(tmp_path)
    opened = found(tmp_path)
    opened.connection.close()
    assert compare(tmp_path) == []


def test_the_recovery_words_are_forgotten_once_shown(running_node: RunningNode) -> None:
    secret = looked(running_node.home, "SELECT value FROM local WHERE name = 'recovery_entropy'")
    (entropy,) = secret[0]
    assert isinstance(entropy, bytes)
    person = running_node.person()
    assert person.cookie is not None
    # A page asks for this once its reader has put the words away.
    person.state()
    running_node.stop()
    left = b"".join(path.read_bytes() for path in running_node.home.iterdir() if path.is_file()) + (
        running_node.log.read_bytes()
    )
    assert entropy not in left
    for words in (" ".join(recovery_words(entropy)), running_node.token):
        assert words.encode() not in left


def test_a_real_node_keeps_its_directory_to_itself(running_node: RunningNode) -> None:
    running_node.flag(kind="approval", title="Deploy", call={"tool": "deploy"})
    for path in [running_node.home, *running_node.home.rglob("*")]:
        with contextlib.suppress(FileNotFoundError):
            assert mode(path) == (0o700 if path.is_dir() else 0o600), path
