"""How a connection to the store is opened, and what its failures mean in words."""

import os
import sqlite3
from pathlib import Path

from sync.errors import AskmeshError, StoreError, StoreFull, StoreReadOnly

STORE_FILE = "store.db"
BUSY_MS = 5_000
"""Only a backup or a checkpoint can hold the store; 5 s outlasts both."""
ERASE_MS = 50
"""How long emptying the write-ahead log waits for readers; the next commit tries again."""
CHECKPOINT_PAGES = 16_000
"""Pages of the write-ahead log before they go into the store: a page that many commits write
goes once (each entry's hash goes somewhere else in its index, so with a million entries most of
the work of storing is this), and 63 MiB are read again within a moment after a crash."""
CACHE_KIB = 16_000
"""What the writer keeps of the store in memory: the upper pages of indexes of a million rows."""
WAL_LIMIT = 64 * 1024 * 1024
"""Bytes a left-over write-ahead log may keep after a checkpoint."""


def open_writer(home: Path) -> sqlite3.Connection:
    """Open the one writing connection, creating the file (0600) when it is missing."""
    path = home / STORE_FILE
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for pragma in (
            f"busy_timeout={BUSY_MS}",
            "journal_mode=WAL",
            "synchronous=FULL",
            f"wal_autocheckpoint={CHECKPOINT_PAGES}",
            f"cache_size=-{CACHE_KIB}",
            "foreign_keys=ON",
            "trusted_schema=OFF",
            "temp_store=MEMORY",
            "cell_size_check=ON",
            "secure_delete=ON",
            "fullfsync=ON",
            f"journal_size_limit={WAL_LIMIT}",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except (OSError, sqlite3.Error) as error:
        raise failure(error) from None
    return connection


def open_reader(home: Path, *, way: str = "mode=ro") -> sqlite3.Connection:
    """Open a connection that can only read, and never checkpoints."""
    path = home / STORE_FILE
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{way}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    for pragma in (
        f"busy_timeout={BUSY_MS}",
        "query_only=ON",
        "trusted_schema=OFF",
        # What is sorted and grouped for a page is small, and is to be had on a full disk too.
        "temp_store=MEMORY",
        "wal_autocheckpoint=0",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def erase_traces(connection: sqlite3.Connection) -> bool:
    """Bring the write-ahead log into the store and empty it; False when a reader was in the way.

    What was deleted is zeroed in the store (`secure_delete`), but its old pages would stay
    readable in the log until others are written over them.
    """
    try:
        connection.execute(f"PRAGMA busy_timeout={ERASE_MS}")
        try:
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
    except sqlite3.Error:
        return False
    return not busy


def failure(error: BaseException) -> AskmeshError:
    """Say in words what a failure of the store means."""
    if isinstance(error, AskmeshError):
        return error
    text = str(error).lower()
    if getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_SHMSIZE":
        # There is no room for the index of the write-ahead log.
        text = "full"
    if "full" in text or "no space" in text or "quota" in text:
        return StoreFull(hint="What was acknowledged before is safe.")
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return StoreReadOnly(hint="Make the data directory writable, then try again.")
    if "permission" in text or "not permitted" in text:
        return StoreReadOnly(
            "The store may not be written by this user, so nothing was recorded.",
            hint="Check who owns the data directory.",
        )
    return StoreError(
        f"The store failed ({error}), so nothing was recorded.",
        hint="Run: askmesh doctor",
    )
