"""Starting a node that is away: only one that was set up, detached, in a clean environment."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from node.bridge import start
from node.bridge.client import NodeAway

LISTENER = """
import json, os, socket, sys, time
home = sys.argv[1]
with open(os.path.join(home, "seen"), "w") as file:
    json.dump({"environment": dict(os.environ), "cwd": os.getcwd(),
               "session": os.getsid(0) == os.getpid()}, file)
listening = socket.socket(socket.AF_UNIX)
listening.bind(os.path.join(home, "node.sock"))
listening.listen()
listening.accept()
"""


@pytest.fixture
def initialised(home: Path) -> Path:
    for name in ("node.key", "store.db"):
        (home / name).touch()
    return home


def program(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Have this run in the node's place."""

    def command(home: str) -> list[str]:
        return [sys.executable, "-I", "-c", text, home]

    monkeypatch.setattr(start, "command", command)


def test_a_directory_without_a_fleet_is_never_given_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(monkeypatch, "raise SystemExit('started')")
    with pytest.raises(NodeAway, match="not set up") as raised:
        start.start_node(str(home))
    assert raised.value.hint == "Run `askmesh up` once in a terminal."
    assert list(home.iterdir()) == []


def test_the_node_runs_detached_without_the_callers_environment(
    initialised: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(monkeypatch, LISTENER)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("ASKMESH_HOME", "/elsewhere")
    monkeypatch.setenv("LANG", "C.UTF-8")
    start.start_node(str(initialised))
    seen = json.loads((initialised / "seen").read_text())
    assert seen["cwd"] == "/"
    assert seen["session"]
    allowed = {"HOME", "USER", "LOGNAME", "SHELL", "PATH", "XDG_RUNTIME_DIR", "LC_CTYPE"}
    assert set(seen["environment"]) <= allowed | set(start.KEPT_VARIABLES)
    assert (initialised / "node.log").stat().st_mode & 0o777 == 0o600


def test_a_node_that_cannot_start_is_quoted(
    initialised: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(monkeypatch, "raise SystemExit('askmesh: the disk is full')")
    with pytest.raises(NodeAway, match="could not start: askmesh: the disk is full") as raised:
        start.start_node(str(initialised))
    assert "askmesh up" in raised.value.hint


def test_a_program_that_is_not_there_is_reported(
    initialised: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "command", lambda home: ["/nowhere/python"])
    with pytest.raises(NodeAway, match=r"could not start: .*No such file"):
        start.start_node(str(initialised))


def test_another_node_that_is_starting_is_waited_for(
    initialised: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(monkeypatch, f"raise SystemExit({start.HELD_BY_ANOTHER})")
    began = start.Start(str(initialised))
    with pytest.raises(NodeAway, match="is not running"):
        began.wait(0.3)
    assert began.problem is None


def test_it_leaves_no_zombie(initialised: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(monkeypatch, "import os, sys; open(sys.argv[1] + '/pid', 'w').write(str(os.getpid()))")
    with pytest.raises(NodeAway):
        start.start_node(str(initialised))
    pid = int((initialised / "pid").read_text())
    until = time.monotonic() + 10
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < until:  # noqa: PTH110
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_launcher_of_this_checkout_is_the_one_started() -> None:
    found = Path(start.launcher())
    assert found.is_file()
    assert found.parent.name == "askmesh"
    assert start.command("home")[-3:] == ["_node", "--home", str(Path("home").absolute())]
