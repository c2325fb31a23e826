"""The examinations of `doctor`: each looks at one thing and changes nothing."""

import contextlib
import os
import shutil
import socket
import sqlite3
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from node.bridge.paths import UnsafeFolder, check_socket_folder, is_initialised, socket_path
from node.cli.page import Page
from node.cli.running import answers, facts, lock_holder, read_object
from node.limits import PEER_PORT, WEB_PORT
from node.store.migrations import MIGRATIONS, applied
from node.version import VERSION

Level = Literal["ok", "note", "fault"]

FREE_BYTES: Final = 256 * 1024 * 1024
"""Below this a burst of large calls could fill the disk."""

PYTHON: Final = (3, 11)
SQLITE: Final = (3, 37, 0)
"""The first with STRICT tables, which the schema uses."""

PRIVATE: Final = ("node.key", "store.db", "store.db-wal", "store.db-shm", "node.lock", "node.log")
REMOTE_DISKS: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was looked at."""

    about: str
    what: str
    level: Level = "ok"
    remedy: str = ""


def examine(home: str) -> Iterator[Finding]:
    """Everything that can be looked at without a passphrase, in the order to mend it."""
    yield from _programs()
    yield from _directory(home)
    if not is_initialised(home):
        return
    yield from _disk(home)
    yield from _store(home)
    yield from _process(home)
    yield from _gate(home)


def _programs() -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding(about="askmesh", what=f"Version {VERSION}.")
    if sys.version_info >= PYTHON:
        yield Finding(about="python", what=f"{python} ({sys.executable}).")
    else:
        remedy = "Install Python 3.11 or later and run deploy/up again."
        yield Finding(about="python", level="fault", what=f"{python} is too old.", remedy=remedy)
    if sqlite3.sqlite_version_info >= SQLITE:
        yield Finding(about="sqlite", what=f"{sqlite3.sqlite_version}.")
    else:
        yield Finding(
            about="sqlite",
            level="fault",
            what=f"{sqlite3.sqlite_version} is too old; {'.'.join(map(str, SQLITE))} is needed.",
            remedy="Use a Python that comes with a newer SQLite.",
        )


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
        yield Finding(about="modes", level="note", what=f"{home} belongs to another user.")
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


def _store(home: str) -> Iterator[Finding]:
    path = Path(home, "store.db")
    remedy = "Stop the node and keep a copy of the folder before anything else."
    # Without a write-ahead log there is nothing but the file, and reading it as one leaves
    # no files of SQLite's own behind.
    way = "mode=ro" if Path(home, "store.db-wal").exists() else "immutable=1"
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?{way}", uri=True, timeout=5)
        ) as store:
            said = [row[0] for row in store.execute("PRAGMA quick_check(5)")]
            journal = store.execute("PRAGMA journal_mode").fetchone()[0]
            had = applied(store)
    except sqlite3.Error as error:
        yield Finding(about="store", level="fault", what=f"{path}: {error}.", remedy=remedy)
        return
    size = path.stat().st_size // 1024
    if said == ["ok"]:
        yield Finding(about="store", what=f"{path.name} is sound ({size} KiB, {journal}).")
    for line in said if said != ["ok"] else []:
        yield Finding(about="store", level="fault", what=f"{path.name}: {line}.", remedy=remedy)
    yield from _schema(had)


def _schema(had: list[str]) -> Iterator[Finding]:
    unknown, missing = sorted(set(had) - set(MIGRATIONS)), sorted(set(MIGRATIONS) - set(had))
    if unknown:
        yield Finding(
            about="schema",
            level="fault",
            what=f"The store has had {unknown[0]}, which this askmesh does not know.",
            remedy="Install the newer askmesh that wrote it.",
        )
    elif missing:
        what = f"The next start brings it from {had[-1] if had else 'nothing'} to {missing[-1]}."
        yield Finding(about="schema", level="note", what=what)
    else:
        yield Finding(about="schema", what=f"{had[-1]}, which is this version's.")


def _process(home: str) -> Iterator[Finding]:
    try:
        check_socket_folder(home)
    except UnsafeFolder as error:
        remedy = "Remove it: another user may have made it."
        yield Finding(about="socket", level="fault", what=f"{error}.", remedy=remedy)
    pid = lock_holder(home)
    if pid is None:
        what = "No node is running on this data directory."
        yield Finding(about="node", level="note", what=what, remedy="askmesh up")
        yield from _ports_free(home)
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
        yield Finding(about="node", level="note", what=what, remedy="askmesh down; askmesh up")
    if not signed:
        yield Finding(
            about="people",
            level="note",
            what="Nobody has signed in yet, so asks are kept and nobody can answer.",
            remedy="`askmesh down`, then `askmesh up` shows a new sign-in link.",
        )


def _ports_free(home: str) -> Iterator[Finding]:
    told = read_object(Path(home, "settings.json"))
    for name, option, default in (
        ("web_port", "--web-port", WEB_PORT),
        ("port", "--port", PEER_PORT),
    ):
        port = told.get(name) or default
        if isinstance(port, int) and _taken(port):
            yield Finding(
                about="ports",
                level="fault",
                what=f"Another program listens on 127.0.0.1:{port}.",
                remedy=f"Stop it, or start with `askmesh up {option}` and a free port.",
            )


def _taken(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        trial.settimeout(1)
        return trial.connect_ex(("127.0.0.1", port)) == 0


def _gate(home: str) -> Iterator[Finding]:
    from node.agents.kits import claude
    from sync.errors import AskmeshError

    try:
        findings = claude.check(claude.place("user", home))
    except AskmeshError as error:
        yield Finding(about="gate", level="fault", what=error.sentence, remedy=error.hint)
        return
    missing = [finding for finding in findings if not finding.ok]
    if not missing:
        yield Finding(
            about="gate", what="Installed for Claude Code, for all projects of this user."
        )
    elif len(missing) >= len(findings) - 1:
        what = "Not installed for Claude Code (user scope)."
        remedy = "To install it: `askmesh agent install claude`"
        yield Finding(about="gate", level="note", what=what, remedy=remedy)
    else:
        for finding in missing:
            what = f"Missing: {finding.what}"
            yield Finding(about="gate", level="fault", what=what, remedy=finding.fix)
