"""Where a node's files lie. Standard library only: bridge, hook and command line share it."""

import os
import stat
from typing import Final

SOCKET_BYTES: Final = 100
"""A Unix socket's path holds 104 bytes on macOS and 108 on Linux."""

SHORT_ROOT: Final = "/tmp"  # noqa: S108 - the folder in it is checked: owner and mode
"""Fixed, and not `XDG_RUNTIME_DIR` or `TMPDIR`: an environment that a project can set
must not lead a hook to a socket of that project's choosing."""

READY: Final = ".restore-ready"
PLACING: Final = ".restore-placing"
"""Folders of a restored node that is whole and on its way into place (`node.backup`)."""


class UnsafeFolder(Exception):
    """The folder of the node's socket belongs to someone else or is open to others."""


def data_home(given: str | None = None) -> str:
    """The data directory: as given, else `ASKMESH_HOME`, else `~/.askmesh`; absolute."""
    chosen = given or os.environ.get("ASKMESH_HOME") or os.path.join("~", ".askmesh")
    return os.path.abspath(os.path.expanduser(chosen))


def is_initialised(home: str) -> bool:
    """Whether a fleet was begun or joined here: only then may a client start the node."""
    if any(os.path.isdir(os.path.join(home, name)) for name in (READY, PLACING)):
        return True
    return all(os.path.isfile(os.path.join(home, name)) for name in ("node.key", "store.db"))


def owner_of(home: str) -> int:
    """The user whose node this is: the owner of the directory, else the caller."""
    try:
        return os.stat(home).st_uid
    except OSError:
        return os.getuid()


def socket_path(home: str) -> str:
    """The node's Unix socket: in the data directory, or in a short folder of the same user."""
    home = os.path.abspath(home)
    path = os.path.join(home, "node.sock")
    if len(os.fsencode(path)) <= SOCKET_BYTES:
        return path
    import hashlib  # takes as long as the rest of a hook's start, and is seldom needed

    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return os.path.join(SHORT_ROOT, f"askmesh-{owner_of(home)}-{name}", "node.sock")


def check_socket_folder(home: str) -> None:
    """Raise `UnsafeFolder` when another user could have put the socket there."""
    folder = os.path.dirname(socket_path(home))
    if folder == os.path.abspath(home):
        return
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner_of(home) or found.st_mode & 0o077:
        raise UnsafeFolder(f"{folder} is not a private folder of this user; remove it")


def make_socket_folder(home: str) -> str:
    """Make the socket's folder when it lies outside the data directory; return the path."""
    path = socket_path(home)
    check_socket_folder(home)
    folder = os.path.dirname(path)
    if folder != os.path.abspath(home):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        check_socket_folder(home)
    return path
