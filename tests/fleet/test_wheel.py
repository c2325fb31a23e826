"""The built wheel, in an environment of its own, run where everything tries to shadow it."""

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from node.version import VERSION
from tests.architecture.sources import ROOT, files
from tests.fleet.checkout import Place, place, run

SHADOWS = ("node", "sync", "web")
TRAP = "raise SystemExit('a package of the repository was imported')\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-I", "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the locked packages and the wheel, and with a rival `web`."""
    folder = tmp_path_factory.mktemp("installed") / "env"
    script, lock = ROOT / "deploy" / "environment.py", ROOT / "deploy/requirements/run.lock"
    subprocess.run([sys.executable, "-I", script, folder, lock], check=True, timeout=300)
    pip = [str(folder / "bin" / "python"), "-I", "-m", "pip", "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--quiet", wheel], check=True, timeout=120)
    (packages,) = folder.glob("lib/python3*/site-packages")
    for name in SHADOWS:
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text(TRAP)
    return folder


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        found.environment["PYTHONPATH"] = "."
        yield found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose own packages have our names and end whoever imports them."""
    folder = tmp_path / "repository"
    for name in SHADOWS:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(TRAP)
    (folder / "click.py").write_text(TRAP)
    return folder


def test_the_wheel_holds_the_whole_program_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    program = {f"askmesh/app/{name}" for name in files() if name.split("/", 1)[0] in SHADOWS}
    launcher = {name for name in files() if name.startswith("askmesh/")}
    assert names == program | launcher
    assert any(name.endswith("schema.sql") for name in names)
    assert any(name.startswith("askmesh/app/web/static/") for name in names)


@pytest.mark.slow
def test_the_wheel_runs_its_own_code_whatever_lies_around(
    installed: Path, repository: Path, here: Place, tmp_path: Path
) -> None:
    askmesh = installed / "bin" / "askmesh"
    link = ["--first-sign-in", str(tmp_path / "link")]
    version = run([askmesh, "--version"], here, cwd=repository)
    assert version.stdout == f"askmesh {VERSION}\n"
    assert run([askmesh, "up", *here.options, *link], here, cwd=repository).returncode == 0
    asked = run([askmesh, "ask", "--kind", "note", "--title", "hello"], here, cwd=repository)
    assert asked.returncode == 0
    listed = run([askmesh, "list", "--all", "--json"], here, cwd=repository)
    assert "hello" in json.dumps(json.loads(listed.stdout))
    assert run([askmesh, "down"], here, cwd=repository).returncode == 0


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
CALL = {
    "hook_event_name": "PreToolUse",
    "session_id": "s1",
    "transcript_path": "/nowhere",
    "permission_mode": "default",
    "tool_name": "Bash",
    "tool_input": {"command": "true"},
    "tool_use_id": "toolu_1",
}


@pytest.mark.slow
def test_bridge_and_hook_of_the_wheel_run_there_too(
    installed: Path, repository: Path, here: Place, tmp_path: Path
) -> None:
    askmesh = installed / "bin" / "askmesh"
    link = ["--first-sign-in", str(tmp_path / "link")]
    assert run([askmesh, "up", *here.options, *link], here, cwd=repository).returncode == 0
    server = first_line([askmesh, "mcp"], INITIALIZE, here, repository)
    assert json.loads(server)["result"]["serverInfo"]["name"] == "askmesh"
    # No rule is applied, so the host decides; anything gone wrong would print a deny.
    hook: list[str | Path] = [askmesh, "hook", "claude", "PreToolUse", "--home", here.home]
    assert first_line(hook, {**CALL, "cwd": str(repository)}, here, repository) == ""


def first_line(
    command: Sequence[str | Path], line: Mapping[str, object], here: Place, cwd: Path
) -> str:
    """Send one JSON line to a program that reads it, and return the first it prints."""
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=here.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(line) + "\n")
        process.stdin.flush()
        if line is not INITIALIZE:
            process.stdin.close()  # a hook reads to the end; a bridge ends with its input
        printed = process.stdout.readline()
        process.stdin.close()
        assert process.wait(30) == 0
    return printed


@pytest.mark.parametrize("isolated", [True, False])
def test_a_checkout_runs_its_own_code(repository: Path, here: Place, *, isolated: bool) -> None:
    launcher = ROOT / "askmesh" / "__main__.py"
    flags = ["-I"] if isolated else []
    version = run([sys.executable, *flags, launcher, "--version"], here, cwd=repository)
    assert version.stdout == f"askmesh {VERSION}\n"
    help_text = run([sys.executable, *flags, launcher, "up", "--help"], here, cwd=repository)
    assert help_text.returncode == 0
    assert "--web-port" in help_text.stdout


def test_the_version_stands_once() -> None:
    holders = [
        name
        for name in files()
        if name.endswith((".py", ".toml")) and f'"{VERSION}"' in (ROOT / name).read_text()
    ]
    assert [name for name in holders if not name.startswith("tests/")] == ["node/version.py"]
