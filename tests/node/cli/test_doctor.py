"""`doctor` finds what is wrong, says how to mend it, and changes nothing."""

import json
import os
import socket
import sqlite3
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from node.cli.doctor import with_progress
from node.cli.examination import Finding, examine
from node.cli.main import askmesh
from node.store.connection import open_writer
from node.store.migrations import migrate


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    (folder / "node.key").touch(0o600)
    store = open_writer(folder)
    migrate(store, now=0)
    store.close()
    return folder


def faults(home: Path) -> list[Finding]:
    return [finding for finding in examine(str(home)) if finding.level == "fault"]


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


def test_a_taken_port_is_found_when_no_node_runs(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        (home / "settings.json").write_text(json.dumps({"web_port": port, "port": port}))
        found = faults(home)
    assert {f"127.0.0.1:{port}" in fault.what for fault in found} == {True}
    assert [fault.remedy.split("`")[1] for fault in found] == [
        "askmesh up --web-port",
        "askmesh up --port",
    ]


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
