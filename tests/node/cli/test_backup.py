"""`backup` by its owner at a terminal, of a node that runs or does not; by nobody else."""

import json
import sqlite3
import stat
from pathlib import Path

from tests.node.backup.copies import tree, unpacked
from tests.node.cli.conftest import Command
from tests.running import PASSPHRASE

OWNER = "Passphrase of an owner on this machine, or the recovery words:"
FIRST = "New passphrase for the backup:"
AGAIN = "The same once more:"
KEPT = "kept well out of sight"


def back_up(command: Command, file: Path, *words: str) -> str:
    """Back up as Ann would; what was printed."""
    with command.on_screen("backup", str(file), *words) as screen:
        screen.expect(OWNER)
        screen.type(PASSPHRASE)
        if "--no-passphrase" in words:
            screen.expect("[y/N]")
            screen.type("y")
        else:
            screen.expect(FIRST)
            screen.type(KEPT)
            screen.expect(AGAIN)
            screen.type(KEPT)
        code, printed = screen.end()
    assert code == 0, printed
    return printed


def test_a_running_node_is_backed_up_whole_and_so_is_a_stopped_one(signed_in: Command) -> None:
    ask = signed_in.ask("--kind", "question", "--title", "Which port?", "--detail", "8080 or 9090")
    running, stopped = signed_in.project / "running", signed_in.project / "stopped"
    printed = back_up(signed_in, running)
    assert f"{running}: backup of" in printed
    assert "nobody can open it, you included" in printed
    signed_in.run("down")
    assert json.loads(back_up(signed_in, stopped, "--json"))["locked"] is True
    for file in (running, stopped):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert (signed_in.home / "node.key").read_bytes() not in file.read_bytes()
        manifest, found = unpacked(file, KEPT)
        assert found["node.key"] == (signed_in.home / "node.key").read_bytes()
        assert json.loads(found["settings.json"])["web_port"] == signed_in.web_port
        copied = signed_in.project / "copied.db"
        copied.write_bytes(found["store.db"])
        rows = sqlite3.connect(copied).execute("SELECT id FROM ask").fetchall()
        assert [row[0].rpartition("-")[2] for row in rows] == [ask.rpartition("-")[2]]
        assert manifest.heads[0].seq >= 4
    names = {path.name for path in signed_in.home.iterdir()}
    assert not {name for name in names if name.startswith(".copy-")}


def test_a_file_without_a_passphrase_is_made_only_by_saying_so_twice(signed_in: Command) -> None:
    file = signed_in.project / "bare"
    with signed_in.on_screen("backup", str(file), "--no-passphrase") as screen:
        screen.expect(OWNER)
        screen.type(PASSPHRASE)
        screen.expect("has this machine's key")
        screen.expect("[y/N]")
        screen.type("")
        assert screen.end()[0] == 1
    assert not file.exists()
    assert "has this machine's key" in back_up(signed_in, file, "--no-passphrase")
    assert unpacked(file)[1]["node.key"] == (signed_in.home / "node.key").read_bytes()


def test_only_an_owner_may_and_a_file_is_never_replaced(signed_in: Command) -> None:
    file = signed_in.project / "copy"
    with signed_in.on_screen("backup", str(file)) as screen:
        for _ in range(3):
            screen.expect(OWNER)
            screen.type("not it at all")
        code, printed = screen.end()
    assert (code, file.exists()) == (1, False)
    assert "only an owner may do this" in printed
    file.write_text("mine")
    with signed_in.on_screen("backup", str(file)) as screen:
        code, printed = screen.end()
    assert code == 1
    assert "exists already" in printed
    assert "Passphrase" not in screen.shown, "told before anything is typed"
    assert file.read_text() == "mine"
    assert {path.name for path in signed_in.project.iterdir()} == {"copy"}


def test_an_agent_has_no_way_to_it(signed_in: Command) -> None:
    before = tree(signed_in.home)
    file = signed_in.project / "copy"
    for words in ((), ("--no-passphrase",), ("--json",)):
        result = signed_in.run("backup", str(file), *words, text=f"{PASSPHRASE}\ny\n" * 4)
        assert result.code == 1
        assert "for a person at a terminal" in result.err
    assert not file.exists()
    assert tree(signed_in.home).keys() == before.keys()


def test_where_nobody_signed_in_and_where_no_node_is(command: Command) -> None:
    file = command.project / "copy"
    with command.on_screen("backup", str(file)) as screen:
        assert "No node was ever started" in screen.end()[1]
    assert command.up().code == 0
    with command.on_screen("backup", str(file)) as screen:
        code, printed = screen.end()
    assert code == 1
    assert "Nobody has ever signed in" in printed
    assert not file.exists()
