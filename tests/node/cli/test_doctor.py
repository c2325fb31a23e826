"""`doctor` finds what is wrong, says how to mend it, and changes nothing."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from node.cli.doctor import with_progress
from node.cli.examination import examine
from node.cli.examine_store import WAL_MOST, sqlite
from node.cli.finding import Finding
from node.cli.main import askmesh
from node.store.connection import open_writer
from node.store.migrations import migrate
from tests.node.store.test_disks import own_namespace
from tests.running import ROOT


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    (folder / "node.key").touch(0o600)
    (folder / "settings.json").write_text('{"port": 0, "web_port": 0, "mdns": false}')
    store = open_writer(folder)
    migrate(store, now=0)
    store.close()
    return folder


def faults(home: Path) -> list[Finding]:
    return [finding for finding in examine(str(home)) if finding.level == "fault"]


def test_a_store_that_is_not_brought_in_is_a_warning(home: Path) -> None:
    os.truncate(os.open(home / "store.db-wal", os.O_CREAT | os.O_RDWR), WAL_MOST + 1)
    (found,) = [one for one in examine(str(home)) if "write-ahead" in one.what]
    assert (found.level, found.about) == ("warning", "store")
    assert found.remedy


HELD = """INSERT INTO local VALUES ('hold', cast('{"sign":"copied","at":1}' AS BLOB))"""
FORKED = (
    "INSERT INTO fork SELECT fleet.value, node.value, 0, 1, x'', x'', x'', x'', 1"
    " FROM local AS fleet, local AS node WHERE fleet.name = 'fleet' AND node.name = 'node'"
)


@pytest.mark.parametrize(
    ("spoil", "remedy"), [(HELD, "askmesh node go"), (FORKED, "askmesh node rejoin")]
)
def test_a_machine_that_may_not_decide_is_told_what_to_do(
    home: Path, spoil: str, remedy: str
) -> None:
    with sqlite3.connect(home / "store.db") as store:
        store.execute("INSERT INTO local VALUES ('fleet', zeroblob(16)), ('node', zeroblob(32))")
        store.execute(spoil)
    store.close()
    (fault,) = faults(home)
    assert (fault.about, fault.remedy) == ("history", remedy)


@pytest.mark.parametrize(
    ("version", "level"),
    [
        ((3, 36, 0), "fault"),
        ((3, 40, 1), "note"),
        ((3, 44, 5), "note"),
        ((3, 44, 6), "ok"),
        ((3, 45, 0), "note"),
        ((3, 50, 6), "note"),
        ((3, 50, 7), "ok"),
        ((3, 51, 2), "note"),
        ((3, 51, 3), "ok"),
        ((3, 53, 0), "ok"),
        ((4, 0, 0), "ok"),
    ],
)
def test_what_is_known_of_each_sqlite_is_said(version: tuple[int, ...], level: str) -> None:
    (found,) = sqlite(version)
    assert found.level == level
    assert ("WAL-reset" in found.what) == (level == "note")


@pytest.mark.root
def test_a_small_disk_is_a_fault(home: Path) -> None:
    start = (
        "import sys, shutil, subprocess;"
        "kept = shutil.copytree(sys.argv[1], sys.argv[1] + '.kept');"
        "subprocess.run("
        "['mount', '-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'tmpfs', sys.argv[1]], check=True);"
        "shutil.copytree(kept, sys.argv[1], dirs_exist_ok=True);"
        "sys.exit(subprocess.run(sys.argv[2:]).returncode)"
    )
    command = (sys.executable, "-I", str(ROOT / "askmesh"), "--home", str(home), "doctor", "--json")
    ended = own_namespace(sys.executable, "-c", start, str(home), *command)
    assert ended.returncode == 1, ended.stderr
    (fault,) = [one for one in json.loads(ended.stdout)["findings"] if one["level"] == "fault"]
    assert fault["about"] == "disk"
    assert "Free some space" in fault["remedy"]


@pytest.mark.netns
def test_an_interface_on_which_nothing_is_heard_is_named(home: Path) -> None:
    """A network of its own, in which nobody can listen to multicast."""
    (home / "settings.json").unlink()
    script = (
        "ip link add v0 type veth peer name v1 && ip addr add 198.51.100.7/24 dev v0"
        " && ip link set v0 up && ip link set v1 up"
        " && echo 0 > /proc/sys/net/ipv4/igmp_max_memberships"
        ' && exec "$@"'
    )
    program = (sys.executable, "-I", str(ROOT / "askmesh"), "--home", str(home))
    command = ("unshare", "-n", "sh", "-c", script, "sh", *program, "doctor", "--json")
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    rows = json.loads(ended.stdout)["findings"]
    (found,) = [row for row in rows if row["about"] == "mdns"]
    assert found["level"] == "warning"
    assert "v0 (198.51.100.7): an announcement made there was not heard" in found["what"]
    assert "… trying the network" in ended.stderr
    assert "askmesh node address add" in found["remedy"]


def test_a_sound_directory_has_no_fault(home: Path) -> None:
    before = sorted(path.name for path in home.iterdir())
    assert faults(home) == []
    assert sorted(path.name for path in home.iterdir()) == before
    about = {finding.about for finding in examine(str(home))}
    assert {"python", "sqlite", "data", "modes", "disk", "store", "schema", "node", "gate"} <= about


def test_a_place_without_a_node_is_named(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path / "nothing")
    assert fault.remedy == "Run `askmesh up` in a terminal."


@pytest.mark.parametrize(("name", "mode"), [("node.key", 0o644), (".", 0o755), ("store.db", 0o660)])
def test_open_modes_are_found_with_the_command_that_closes_them(
    home: Path, name: str, mode: int
) -> None:
    (home / name).chmod(mode)
    (fault,) = faults(home)
    assert fault.about == "modes"
    words = fault.remedy.split()
    assert words[0] == "chmod"
    Path(words[2]).chmod(int(words[1], 8))
    assert faults(home) == []


def test_a_damaged_store_is_found(home: Path) -> None:
    size = (home / "store.db").stat().st_size
    with (home / "store.db").open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    assert "store" in {fault.about for fault in faults(home)}


def test_what_is_no_store_is_found(home: Path) -> None:
    (home / "store.db").write_bytes(b"not a database, not at all" * 100)
    (fault,) = faults(home)
    assert fault.about == "store"


def test_a_store_of_a_newer_askmesh_is_found(home: Path) -> None:
    with sqlite3.connect(home / "store.db") as store:
        store.execute("INSERT INTO migration VALUES ('9999-later', 0)")
    store.close()
    (fault,) = faults(home)
    assert "9999-later" in fault.what


def test_the_exit_code_and_the_object_say_the_same(home: Path) -> None:
    runner = CliRunner()
    well = runner.invoke(askmesh, ["--home", str(home), "doctor", "--json"])
    assert well.exit_code == 0
    assert json.loads(well.stdout)["ok"] is True
    (home / "node.key").chmod(0o644)
    ill = runner.invoke(askmesh, ["--home", str(home), "doctor", "--json"])
    assert ill.exit_code == 1
    reply = json.loads(ill.stdout)
    assert reply["ok"] is False
    assert {tuple(row) for row in reply["findings"]} == {("about", "level", "what", "remedy")}


def test_rebuilding_compares_the_tables_with_the_log(home: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(askmesh, ["--home", str(home), "doctor", "--rebuild"]).exit_code == 0
    with sqlite3.connect(home / "store.db") as store:
        store.execute("INSERT INTO person VALUES ('p', 'Mallory', 'owner', 0, x'00', 0, 0)")
    store.close()
    result = runner.invoke(askmesh, ["--home", str(home), "doctor", "--rebuild"])
    assert result.exit_code == 1
    assert "person: not in the log" in result.output


def test_work_that_takes_long_says_that_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> list[str]:
        end = time.monotonic() + 30
        while "comparing" not in said:
            assert time.monotonic() < end
            said.append(capsys.readouterr().err[2:11])
            time.sleep(0.05)
        return ["done"]

    said: list[str] = []
    assert with_progress(work, "comparing") == ["done"]


def test_a_failure_of_the_work_is_raised() -> None:
    def work() -> list[str]:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        with_progress(work, "working")
