"""The examinations of `doctor`: each looks at one thing and changes nothing."""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from node.bridge.paths import UnsafeFolder, check_socket_folder, is_initialised, socket_path
from node.cli.examine_agents import kits
from node.cli.examine_programs import programs
from node.cli.examine_store import store
from node.cli.finding import Finding
from node.cli.page import Page
from node.cli.running import answers, facts, lock_holder
from node.version import VERSION

FREE_BYTES: Final = 256 * 1024 * 1024
"""Below this a burst of large calls could fill the disk."""

PRIVATE: Final = ("node.key", "store.db", "store.db-wal", "store.db-shm", "node.lock", "node.log")
REMOTE_DISKS: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"})


def examine(home: str) -> Iterator[Finding]:
    """Everything on this machine, without a passphrase, in the order to mend it."""
    yield from programs()
    yield from _directory(home)
    if not is_initialised(home):
        return
    yield from _disk(home)
    yield from store(home)
    yield from _process(home)
    yield from kits(home)


def _directory(home: str) -> Iterator[Finding]:
    folder = Path(home)
    if not is_initialised(home):
        yield Finding(
            about="data",
            level="fault",
            what=f"{home} holds no node: askmesh was not set up there.",
            remedy="Run `askmesh up` in a terminal.",
        )
        return
    yield Finding(about="data", what=f"{home}.")
    wrong = list(_too_open(folder))
    for path, mode, wanted in wrong:
        yield Finding(
            about="modes",
            level="fault",
            what=f"{path} has mode {mode:04o}: other users can get at it.",
            remedy=f"chmod {wanted:o} {path}",
        )
    if folder.stat().st_uid != os.getuid():
        remedy = "Run this as that user, or give the folder back: chown -R."
        what = f"{home} belongs to another user."
        yield Finding(about="modes", level="warning", what=what, remedy=remedy)
    elif not wrong:
        yield Finding(about="modes", what="Folder and files are for this user alone.")


def _too_open(folder: Path) -> Iterator[tuple[Path, int, int]]:
    """What others can get at: the path, its mode, the mode it should have."""
    for path, wanted in ((folder, 0o700), *((folder / name, 0o600) for name in PRIVATE)):
        with contextlib.suppress(FileNotFoundError):
            mode = stat.S_IMODE(path.stat().st_mode)
            if mode & 0o077:
                yield path, mode, wanted


def _disk(home: str) -> Iterator[Finding]:
    free = shutil.disk_usage(home).free
    mebibytes = free // (1024 * 1024)
    if free < FREE_BYTES:
        yield Finding(
            about="disk",
            level="fault",
            what=f"{mebibytes} MiB are free.",
            remedy="Free some space: asks are refused when the disk is full.",
        )
    else:
        yield Finding(about="disk", what=f"{mebibytes} MiB are free.")
    kind = _disk_kind(home)
    if kind in REMOTE_DISKS:
        yield Finding(
            about="disk",
            level="fault",
            what=f"This is a network disk ({kind}); the store needs a local one.",
            remedy="Move it, and name the new place by ASKMESH_HOME.",
        )
    if not os.access(home, os.W_OK):
        yield Finding(
            about="disk",
            level="fault",
            what="The data directory cannot be written.",
            remedy="Make it writable for this user; is the disk mounted read-only?",
        )


def _disk_kind(home: str) -> str:
    """The kind of file system of a folder; empty where the system does not say."""
    try:
        mounts = Path("/proc/self/mounts").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    real = os.path.realpath(home)
    for line in mounts:
        words = line.split()
        if len(words) < 3:
            continue
        point = words[1].replace("\\040", " ")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, words[2]
    return kind


def _process(home: str) -> Iterator[Finding]:
    try:
        check_socket_folder(home)
    except UnsafeFolder as error:
        remedy = "Remove it: another user may have made it."
        yield Finding(about="socket", level="fault", what=f"{error}.", remedy=remedy)
    pid = lock_holder(home)
    if pid is None:
        what = "No node is running on this data directory."
        yield Finding(about="node", level="warning", what=what, remedy="askmesh up")
        return
    if not answers(home):
        yield Finding(
            about="node",
            level="fault",
            what=f"Process {pid or 'unknown'} holds the directory; {socket_path(home)} is silent.",
            remedy="Wait a moment when it just starts; else `askmesh down`, then `askmesh up`.",
        )
        return
    yield Finding(about="node", what=f"Runs (pid {pid}) and answers on {socket_path(home)}.")
    yield from _page(home)


def _page(home: str) -> Iterator[Finding]:
    running = facts(home)
    if running is None:
        yield Finding(about="page", level="note", what="The node is just starting or stopping.")
        return
    try:
        signed = Page(running.web_port, timeout=5).get("hello").get("has_person")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
        what = f"{running.page} does not answer: {error}"
        yield Finding(about="page", level="fault", what=what, remedy="askmesh down; askmesh up")
        return
    yield Finding(about="page", what=f"{running.page} answers.")
    if running.version != VERSION:
        what = f"The node runs version {running.version}; this command is {VERSION}."
        yield Finding(about="node", level="warning", what=what, remedy="askmesh down; askmesh up")
    if not signed:
        yield Finding(
            about="people",
            level="warning",
            what="Nobody has signed in yet, so asks are kept and nobody can answer.",
            remedy="`askmesh down`, then `askmesh up` shows a new sign-in link.",
        )
