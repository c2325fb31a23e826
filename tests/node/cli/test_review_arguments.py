"""What a newcomer or a script may get wrong: answered in words, and nothing is spoiled by it."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.node.cli.conftest import Command


def run_bytes(command: Command, *words: bytes, cwd: bytes | None = None) -> tuple[int, str]:
    """Run it with words, or in a folder, that are not UTF-8."""
    done = subprocess.run(
        [*(word.encode() for word in command.line), *words],
        capture_output=True,
        env=command.environment(),
        cwd=cwd or os.fsencode(command.project),
        start_new_session=True,
        timeout=100,
        check=False,
    )
    said = (done.stdout + done.stderr).decode(errors="replace")
    assert "Traceback" not in said, said
    return done.returncode, said


def test_what_cannot_be_sent_is_refused_in_words(command: Command) -> None:
    assert command.up().code == 0
    call = '{"tool": "x", "arguments": {"a": 1e400}}'
    refused = command.run("ask", "--kind", "approval", "--title", "t", "--call", call)
    assert refused.code == 1
    assert "cannot be sent" in refused.err
    code, said = run_bytes(command, b"ask", b"--kind", b"note", b"--title", b"\xff\xfe")
    assert code == 1
    assert "cannot be sent" in said
    assert command.run("list", "--json").object["asks"] == []


def test_a_folder_whose_name_is_not_utf_8_is_a_place_to_work_in(command: Command) -> None:
    assert command.up().code == 0
    folder = os.fsencode(command.project) + b"/d\xff"
    Path(os.fsdecode(folder)).mkdir()
    code, said = run_bytes(command, b"ask", b"--kind", b"note", b"--title", b"here", cwd=folder)
    assert code == 0, said
    (row,) = command.run("list", "--json").object["asks"]
    assert row["project"].endswith(r"/d\xff")


def test_a_folder_with_other_things_in_it_does_not_become_a_data_directory(
    command: Command,
) -> None:
    command.home.mkdir(mode=0o755)
    (command.home / "notes.txt").write_text("mine")
    refused = command.up()
    assert refused.code == 1
    assert "notes.txt" in refused.err
    assert "ASKMESH_HOME" in refused.err
    assert [path.name for path in command.home.iterdir()] == ["notes.txt"]
    assert stat.S_IMODE(command.home.stat().st_mode) == 0o755


@pytest.mark.parametrize("left", ["node.key", "node.log", "hooks", "lost+found"])
def test_what_a_killed_first_start_or_an_installation_left_is_taken_over(
    command: Command, left: str
) -> None:
    # The key's file is made whole or not at all; an empty folder of that name stands for the rest.
    command.home.mkdir(mode=0o700)
    if left == "node.key":
        (command.home / "node.lock").write_text("")
        (command.home / ".node.key.tmp").write_text("")
    elif left == "node.log":
        (command.home / left).write_text("")
    else:
        (command.home / left).mkdir()
    assert command.up().code == 0


def test_a_file_is_no_data_directory(command: Command) -> None:
    Path(command.home).write_text("a file")
    refused = command.up()
    assert refused.code == 1
    assert "is a file, not a folder" in refused.err
    assert "ASKMESH_HOME" in refused.err
