"""Make or refresh a virtual environment from a lock of exact versions and hashes.

Usage: environment.py [--command] DIRECTORY LOCK

A file in the environment names the lock it was made from. It is removed before a change
and written after it, so what was interrupted is made anew and what is current costs
nothing. Standard library only: it runs before anything is installed.
"""

import argparse
import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shlex
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARKER = "askmesh.lock"
PACKAGES = {
    # os-release's ID or ID_LIKE: what to type for a Python without venv or ensurepip
    "debian": "apt install python{version}-venv",
    "ubuntu": "apt install python{version}-venv",
    "fedora": "dnf install python3 python3-libs",
    "rhel": "dnf install python{version}",
    "suse": "zypper install python{compact}-base python{compact}-pip",
    "alpine": "apk add python3 py3-pip",
    "arch": "pacman -S python",
}
IN_THE_WAY = ("PYTHONPATH", "PYTHONHOME", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT")
"""Variables that would send the packages elsewhere; mirrors and proxies stay set."""


def main() -> int:
    """Bring the environment up to its lock; 1 with a sentence when that cannot be."""
    parser = argparse.ArgumentParser(description="Make an environment from a lock.")
    parser.add_argument("--command", action="store_true", help="also write bin/askmesh")
    parser.add_argument("directory", type=Path)
    parser.add_argument("lock", type=Path)
    options = parser.parse_args()
    try:
        if not is_current(options.directory, options.lock):
            with held(options.directory):
                refresh(options.directory, options.lock)
        if options.command:
            write_command(options.directory)
    except (Failed, OSError) as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


class Failed(Exception):
    """The environment could not be made; the text says why and what to do."""


@contextlib.contextmanager
def held(directory: Path) -> Iterator[None]:
    """Let one run at a time change `directory`; a second waits and says so."""
    with directory.with_name(directory.name + ".busy").open("w") as busy:
        try:
            fcntl.flock(busy, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Waiting for another run that changes {directory.name} …", flush=True)
            fcntl.flock(busy, fcntl.LOCK_EX)
        yield


def is_current(directory: Path, lock: Path) -> bool:
    """Whether the environment was made whole from `lock` with a Python like this one."""
    return made_from(directory) == signature(lock) and runs(directory / "bin" / "python")


def refresh(directory: Path, lock: Path) -> None:
    """Install exactly what `lock` names, unless another run just did."""
    if is_current(directory, lock):
        return
    check_modules()
    python = directory / "bin" / "python"
    same_python = made_from(directory).partition(" ")[0] == signature(lock).partition(" ")[0]
    (directory / MARKER).unlink(missing_ok=True)
    if not (same_python and runs(python)):
        print(f"Making {directory.name} with Python {sys.version.split()[0]} …", flush=True)
        run_or_fail([sys.executable, "-I", "-m", "venv", "--clear", str(directory)])
    install(python, lock)
    (directory / MARKER).write_text(signature(lock))


def made_from(directory: Path) -> str:
    """What the marker says; nothing when the environment is not whole."""
    try:
        return (directory / MARKER).read_text()
    except FileNotFoundError:
        return ""


def signature(lock: Path) -> str:
    """What tells one Python and lock from another."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{python} {hashlib.sha256(lock.read_bytes()).hexdigest()}\n"


def runs(python: Path) -> bool:
    """Whether `python` starts (the system's Python under it may have been removed)."""
    try:
        return subprocess.run([python, "-I", "-c", ""], check=False).returncode == 0
    except OSError:
        return False


def check_modules() -> None:
    """Fail with the package to install when this Python cannot make environments."""
    lacking = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if not lacking:
        return
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = next((PACKAGES[system] for system in systems() if system in PACKAGES), None)
    advice = (
        f"Install it with:  {command.format(version=version, compact=version.replace('.', ''))}"
        if command
        else f"Install your system's package with them (often python{version}-venv or python3-pip)."
    )
    raise Failed(
        f"{sys.executable} (Python {version}) lacks {' and '.join(lacking)}.\n{advice}\n"
        "Then run this again."
    )


def systems() -> list[str]:
    """The names os-release gives this system, its own first."""
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        return []
    fields = dict(line.split("=", 1) for line in lines if "=" in line)
    return [
        name
        for field in ("ID", "ID_LIKE")
        for name in " ".join(shlex.split(fields.get(field, ""))).split()
    ]


def install(python: Path, lock: Path) -> None:
    """Install the lock's packages with pip, and show how far it is."""
    count = sum("==" in line for line in lock.read_text().splitlines())
    print(f"Installing {count} packages (versions and hashes fixed by {lock.name}) …", flush=True)
    command = [str(python), "-I", "-m", "pip", "install", "--disable-pip-version-check"]
    command += ["--no-input", "--progress-bar", "off", "--require-hashes", "-r", str(lock)]
    run_or_fail(command, progress=Progress(count))


class Progress:
    """Says every few seconds how many packages pip has looked at."""

    EVERY_S = 3

    def __init__(self, count: int) -> None:
        self.count = count
        self.seen = 0
        self.due = time.monotonic() + self.EVERY_S

    def line(self, text: str) -> None:
        """Take one line of pip's output."""
        if text.startswith(("Collecting ", "Requirement already satisfied")):
            self.seen += 1
        if text.startswith("Installing collected"):
            print("  … all here, unpacking them", flush=True)
            self.due = float("inf")
        elif time.monotonic() >= self.due:
            self.due = time.monotonic() + self.EVERY_S
            print(f"  … {self.seen} of {self.count} here", flush=True)


def run_or_fail(command: list[str], *, progress: Progress | None = None) -> None:
    """Run `command`; when it fails, fail with the end of what it said."""
    environment = {name: value for name, value in os.environ.items() if name not in IN_THE_WAY}
    last: deque[str] = deque(maxlen=12)
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout or ():
            last.append(line)
            if progress:
                progress.line(line)
    if process.returncode:
        raise Failed(
            f"{''.join(last)}\nThis failed: {shlex.join(command)}\n"
            "Without a network, or with a mirror that lacks a package, it cannot go on; "
            "mend that and run this again."
        )


def write_command(directory: Path) -> None:
    """Write `bin/askmesh`, which runs this checkout with this environment."""
    command = directory / "bin" / "askmesh"
    python, launcher = directory / "bin" / "python", ROOT / "askmesh" / "__main__.py"
    text = f'#!/bin/sh\nexec {shlex.quote(str(python))} -I {shlex.quote(str(launcher))} "$@"\n'
    if command.exists() and command.read_text() == text:
        return
    new = command.with_name("askmesh.new")
    new.write_text(text)
    new.chmod(0o755)
    new.replace(command)
    print(f"The command is {command}; put a link to it on your PATH to call it anywhere.")


if __name__ == "__main__":
    sys.exit(main())
