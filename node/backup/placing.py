"""Putting a restored node in place of what lay there, so that a kill changes nothing by half.

A folder named `READY` holds a whole node. From there it only goes forward: what lay in the
data directory is moved aside, then the new files to their names; whoever holds the lock next
finishes it. Every step is a rename, and can be repeated.
"""

import os
import shutil
from itertools import chain, count
from pathlib import Path
from typing import Final

from node.backup.private import COPY, STAGED, sweep, sync_folder
from node.birth import STARTS_FILE
from node.bridge.paths import PLACING, READY
from node.config import FACTS_FILE, SETTINGS_FILE
from node.identity import KEY_FILE, NEXT_FILE
from node.store.blobs import FOLDER
from node.store.connection import STORE_FILE

NEW: Final = "new"
ASIDE: Final = "aside"
"""In a `READY` folder: the new files, and what the folder of the old ones is called."""
BELONGS: Final = (
    STORE_FILE,
    f"{STORE_FILE}-wal",
    f"{STORE_FILE}-shm",
    f"{STORE_FILE}-journal",
    KEY_FILE,
    NEXT_FILE,
    SETTINGS_FILE,
    FACTS_FILE,
    STARTS_FILE,
    FOLDER,
    "node.log",
    "node.log.1",
)
"""Of a node. The lock stays, and so do the hooks that agents run by their path."""


def occupied(home: Path) -> bool:
    """Whether a node, or a part of one, lies there."""
    return any((home / name).exists() for name in (KEY_FILE, STORE_FILE))


def tidy(home: Path) -> None:
    """Finish what a killed `restore` began, and remove what it or a killed `backup` left.

    The caller holds the directory's lock.
    """
    finish(home)
    for prefix in (COPY, STAGED):
        sweep(home, prefix)


def make_ready(home: Path, staged: Path, *, aside: str) -> None:
    """Take a folder with a whole node as what is to be put in place. Durable on return."""
    # A name that is taken would stop `finish` for good.
    free = next(
        name
        for name in chain((aside,), (f"{aside}-{number}" for number in count(2)))
        if not os.path.lexists(home / name)
    )
    (staged / ASIDE).write_text(free, "utf-8")
    sync_folder(staged)
    staged.rename(home / READY)
    sync_folder(home)


def finish(home: Path) -> Path | None:
    """Put in place what is ready; return where the old files are, None when none were moved.

    The caller holds the directory's lock. With nothing ready nothing happens.
    """
    aside: Path | None = None
    if (home / READY).is_dir():
        aside = home / (home / READY / ASIDE).read_text("utf-8")
        _move(home, aside)
        (home / READY).rename(home / PLACING)
        sync_folder(home)
    placing = home / PLACING
    if placing.is_dir():
        for path in sorted((placing / NEW).glob("*")):
            path.rename(home / path.name)
        sync_folder(home)
        shutil.rmtree(placing)
    return aside if aside is not None and aside.is_dir() else None


def _move(home: Path, aside: Path) -> None:
    old = [home / name for name in BELONGS if (home / name).exists()]
    if not old:
        return
    aside.mkdir(mode=0o700, exist_ok=True)
    for path in old:
        path.rename(aside / path.name)
    sync_folder(aside)
    sync_folder(home)
