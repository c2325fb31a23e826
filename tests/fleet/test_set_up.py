"""`deploy/up` on a machine with only Python, from a fresh copy of the checkout."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.checkout import Place, copy_checkout, place, run
from tests.running import until


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout; the first `deploy/up` in it makes the environment."""
    return copy_checkout(tmp_path_factory.mktemp("check out"))


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        yield found


def up(checkout: Path, here: Place, *more: str) -> subprocess.CompletedProcess[str]:
    return run([checkout / "deploy" / "up", *here.options, *more], here, cwd=here.home.parent)


def is_well(here: Place) -> bool:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", here.web_port)) as page:
        page.request("GET", "/healthz")
        return json.loads(page.getresponse().read())["ok"] is True


@pytest.mark.slow
def test_two_runs_of_up_leave_one_node(checkout: Path, here: Place) -> None:
    link = here.home.parent / "link"
    first = up(checkout, here, "--first-sign-in", str(link))
    assert first.returncode == 0
    assert is_well(here)
    assert "#t=" in link.read_text()
    assert "#t=" not in first.stdout + first.stderr
    pid = here.facts()["pid"]

    second = up(checkout, here)
    assert second.returncode == 0
    assert f"http://127.0.0.1:{here.web_port}" in second.stdout
    assert "runs" in second.stdout
    assert "Installing" not in second.stdout
    assert here.facts()["pid"] == pid

    command = checkout / ".venv" / "bin" / "askmesh"
    assert run([command, "down"], here, cwd=here.home.parent).returncode == 0
    assert here.facts() == {}


@pytest.mark.slow
def test_in_the_foreground_it_stays_until_it_is_told_to_stop(
    checkout: Path, here: Place, tmp_path: Path
) -> None:
    command = [str(checkout / "deploy" / "up"), "--foreground", *here.options]
    link = tmp_path / "link"  # written when all is up
    command += ["--first-sign-in", str(link)]
    with subprocess.Popen(command, env=here.environment, cwd=tmp_path) as process:
        until(
            lambda: (link.exists() and link.read_text()) or process.poll() is not None,
            "the node serves and the link is there",
            seconds=60,
        )
        assert process.poll() is None
        assert is_well(here)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert here.facts() == {}


def bare_path(folder: Path, python: str) -> str:
    """A PATH on which `python3` is this script and hardly anything else is."""
    folder.mkdir()
    for name in ("dirname", "sh"):
        (folder / name).symlink_to(f"/bin/{name}" if name == "sh" else "/usr/bin/dirname")
    (folder / "python3").write_text(f"#!/bin/sh\n{python}\n")
    (folder / "python3").chmod(0o755)
    return str(folder)


def test_without_a_new_python_it_says_what_is_needed(
    checkout: Path, here: Place, tmp_path: Path
) -> None:
    here.environment["PATH"] = bare_path(tmp_path / "bin", "exit 1")
    done = up(checkout, here)
    assert done.returncode == 1
    assert "Python 3.11 or newer" in done.stderr
    assert "apt install python3 python3-venv" in done.stderr


def test_without_venv_it_names_the_package_to_install(
    checkout: Path, here: Place, tmp_path: Path
) -> None:
    lame = tmp_path / "lame"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", lame], check=True)
    (packages,) = lame.glob("lib/python3*/site-packages")
    (packages / "lame.pth").write_text("import sys; sys.modules['ensurepip'] = None\n")
    here.environment["PATH"] = bare_path(tmp_path / "bin", f'exec {lame}/bin/python "$@"')
    (checkout / ".venv" / "askmesh.lock").unlink(missing_ok=True)
    done = up(checkout, here)
    assert done.returncode == 1
    assert "lacks ensurepip" in done.stderr
    assert "nstall" in done.stderr.partition("lacks ensurepip")[2]
    assert "Traceback" not in done.stderr


@pytest.fixture
def small_lock(checkout: Path, tmp_path: Path) -> Path:
    """A lock of one small package."""
    lines = (checkout / "deploy" / "requirements" / "run.lock").read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("mdurl=="))
    package = [lines[at], *(line for line in lines[at + 1 : at + 3] if "--hash" in line)]
    (tmp_path / "small.lock").write_text("\n".join(package) + "\n")
    return tmp_path / "small.lock"


def refresh(checkout: Path, here: Place, lock: Path) -> subprocess.CompletedProcess[str]:
    script = checkout / "deploy" / "environment.py"
    target = here.home.parent / "env"
    return run([sys.executable, "-I", script, target, lock], here, cwd=checkout)


def test_an_interrupted_installation_is_made_good(
    checkout: Path, here: Place, small_lock: Path, tmp_path: Path
) -> None:
    assert "Making" in refresh(checkout, here, small_lock).stdout
    assert refresh(checkout, here, small_lock).stdout == ""
    (tmp_path / "env" / "askmesh.lock").unlink()
    (tmp_path / "env" / "bin" / "pip").unlink()
    assert "Making" in refresh(checkout, here, small_lock).stdout
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([python, "-I", "-c", "import mdurl"], check=True)


def test_a_package_with_another_hash_is_refused(
    checkout: Path, here: Place, small_lock: Path, tmp_path: Path
) -> None:
    name = small_lock.read_text().splitlines()[0]
    small_lock.write_text(f"{name}\n    --hash=sha256:{'0' * 64}\n")
    done = refresh(checkout, here, small_lock)
    assert done.returncode == 1
    assert "HASHES" in done.stderr
    assert not (tmp_path / "env" / "askmesh.lock").exists()


def test_a_changed_lock_installs_again(checkout: Path, here: Place, small_lock: Path) -> None:
    assert refresh(checkout, here, small_lock).returncode == 0
    small_lock.write_text("# another\n" + small_lock.read_text())
    again = refresh(checkout, here, small_lock)
    assert again.returncode == 0
    assert "Installing 1 packages" in again.stdout
    assert "Making" not in again.stdout


def test_two_at_the_same_time_do_not_disturb_each_other(
    checkout: Path, here: Place, small_lock: Path, tmp_path: Path
) -> None:
    script = str(checkout / "deploy" / "environment.py")
    command = [sys.executable, "-I", script, str(tmp_path / "env"), str(small_lock)]
    both = [
        subprocess.Popen(command, env=here.environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = sorted(process.communicate(timeout=120)[0] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert sum("Installing" in text for text in said) == 1
    assert os.access(tmp_path / "env" / "bin" / "python", os.X_OK)
