"""Small disks for data directories, in a mount namespace of the script that uses them.

Run such a script by `in_namespace`: whatever it mounts is gone with it, also when it fails.
"""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

BALLAST = "ballast"


def in_namespace(script: Path, folder: Path, *words: str, timeout: float = 110) -> Any:  # noqa: ANN401
    """Run a script on a folder, in a mount namespace of its own; what it prints as JSON."""
    done = subprocess.run(
        [
            *("unshare", "-m", "--propagation", "private"),
            *(sys.executable, "-I", str(script), str(folder), *words),
        ],
        capture_output=True,
        text=True,
        cwd="/",
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


def mount(*words: str) -> None:
    """Run `mount`."""
    subprocess.run(["mount", *words], check=True, capture_output=True, timeout=20)


def small_disk(home: Path, size: str) -> None:
    """Let a data directory that does not exist yet lie on a disk of this size."""
    home.mkdir(parents=True, mode=0o700)
    mount("-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(home))


def fill(home: Path) -> None:
    """Take every byte that is left on the disk of a data directory."""
    with (home / BALLAST).open("ab", buffering=0) as file:
        for size in (65_536, 4_096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
        os.fsync(file.fileno())


def free(home: Path) -> None:
    """Give it back."""
    (home / BALLAST).unlink()
