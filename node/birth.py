"""Where a data directory was made, so that a copy of it is noticed when it starts.

Two marks: on which machine and in which place the directory and its store lie, and which
start was the last. The second lies in the store and in a file beside it: whoever puts only
one of them back brings them out of step.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from node.store.connection import STORE_FILE
from node.store.hold import Sign

STARTS_FILE = "starts.json"
MACHINE_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")
START_BYTES = 16


class Birth(msgspec.Struct, frozen=True, kw_only=True):
    """Where it lies."""

    machine: str | None
    """Hash of what names the machine; None: nothing does (some containers)."""
    folder: int
    """Inode of the directory, which moving it on one disk leaves alone."""
    store: int
    """Inode of the store."""


class Starts(msgspec.Struct, frozen=True, kw_only=True):
    """The last start, and the one before: a start that was killed may have noted only one."""

    now: str
    before: str | None


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """What the store itself keeps."""

    birth: Birth
    start: str


def here(home: Path, machine_files: tuple[str, ...] = MACHINE_FILES) -> Birth:
    """Return where a data directory lies now."""
    return Birth(
        machine=_machine(machine_files),
        folder=home.stat().st_ino,
        store=(home / STORE_FILE).stat().st_ino,
    )


def _machine(files: tuple[str, ...]) -> str | None:
    for name in files:
        with contextlib.suppress(OSError):
            text = Path(name).read_text("ascii", "replace").strip()
            if text:
                return hashlib.sha256(f"askmesh/machine/v1\0{text}".encode()).hexdigest()
    return None


def sign(kept: Mark, now: Birth, starts: Starts | None) -> Sign | None:
    """Return what looks like a copy, if anything does."""
    was = kept.birth
    moved = None not in (was.machine, now.machine) and was.machine != now.machine
    if moved or was.folder != now.folder:
        return Sign.COPIED
    if was.store != now.store:
        return Sign.PUT_BACK
    if starts is not None and kept.start not in (starts.now, starts.before):
        return Sign.PUT_BACK
    return None


def read_starts(home: Path) -> Starts | None:
    """Return the starts noted beside the store; None: they cannot be read."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((home / STARTS_FILE).read_bytes(), type=Starts)
    return None


def note_start(home: Path, before: str | None, random: Callable[[int], bytes]) -> str:
    """Note a new start beside the store, durably; the store is to keep the same."""
    start = random(START_BYTES).hex()
    path, begun = home / STARTS_FILE, home / f".{STARTS_FILE}.new"
    descriptor = os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(Starts(now=start, before=before)))
        file.flush()
        os.fsync(file.fileno())
    begun.rename(path)
    return start
