"""A copy of this checkout to set up, and how its processes are watched."""

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.sources import ROOT, files
from tests.running import free_port


@dataclass(frozen=True, kw_only=True)
class Place:
    """A data directory, ports and an environment of one test's own."""

    home: Path
    port: int
    web_port: int
    environment: dict[str, str]

    @property
    def options(self) -> list[str]:
        """What `askmesh up` is told to stay within this place."""
        ports = ["--port", str(self.port), "--web-port", str(self.web_port)]
        return [*ports, "--no-mdns", "--name", "kitchen"]

    def facts(self) -> dict[str, object]:
        """What the running node says of itself; empty when none runs."""
        try:
            found: dict[str, object] = json.loads((self.home / "node.json").read_text())
        except (OSError, ValueError):
            return {}
        return found


def copy_checkout(target: Path) -> Path:
    """Copy what git would check out, and what is new, to `target`."""
    for name in files():
        if name.startswith("tests/"):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)
    return target


@contextlib.contextmanager
def place(folder: Path) -> Iterator[Place]:
    """Give a place under `folder`; whatever node runs there afterwards is ended."""
    home = folder / "askmesh"
    user = folder / "user"
    user.mkdir()
    environment = {
        "ASKMESH_HOME": str(home),
        "HOME": str(user),
        "LANG": "C.UTF-8",
        "PATH": os.environ["PATH"],
    }
    kept = ("PIP_", "SSL_", "REQUESTS_", "HTTP", "http", "XDG_CACHE_HOME")
    environment |= {name: value for name, value in os.environ.items() if name.startswith(kept)}
    environment.setdefault("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip"))
    here = Place(home=home, port=free_port(), web_port=free_port(), environment=environment)
    try:
        yield here
    finally:
        end(here)


def end(here: Place) -> None:
    """Stop the node of `here` at once, if one runs."""
    pid = here.facts().get("pid")
    if isinstance(pid, int):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)


def run(
    command: Sequence[str | Path], here: Place, *, cwd: Path, timeout: float = 240
) -> subprocess.CompletedProcess[str]:
    """Run a command in the environment of `here`; what it said is shown when a test fails."""
    done = subprocess.run(
        command,
        check=False,
        cwd=cwd,
        env=here.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        start_new_session=True,  # no terminal: what needs a person must say so
    )
    print(f"$ {' '.join(map(str, command))}\n{done.stdout}{done.stderr}[{done.returncode}]")
    return done
