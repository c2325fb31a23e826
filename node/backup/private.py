"""Files that are ours alone, there whole or not at all, also after a kill."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

COPY: Final = ".copy-"
"""Begins the name of the folder in which the store is copied for a backup."""
STAGED: Final = ".restoring-"
"""Begins the name of the folder in which a backup is unpacked."""


@contextlib.contextmanager
def workplace(home: Path, prefix: str) -> Iterator[Path]:
    """Make a folder in `home` for the block; it is gone afterwards.

    One that a killed process left is gone with the next `sweep`.
    """
    folder = Path(tempfile.mkdtemp(dir=home, prefix=prefix))
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def sweep(folder: Path, prefix: str) -> None:
    """Remove what killed processes left under names that begin so."""
    for path in folder.glob(f"{_literal(prefix)}*"):
        with contextlib.suppress(OSError), _unused(path):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


@contextlib.contextmanager
def _unused(path: Path) -> Iterator[None]:
    """Raises `OSError` while another process works with it, or when it is not ours."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.fstat(descriptor).st_uid != os.getuid():
            raise PermissionError(path)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _literal(prefix: str) -> str:
    """The prefix as a pattern that only it fits."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in prefix)


def sync_folder(folder: Path) -> None:
    """Make what was named or renamed in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
