"""Restoring: a backup is checked to its last byte and marked before anything is replaced."""

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from node.backup.contents import Manifest, Part, beside, check_newer, counted, read_manifest
from node.backup.making import READ_BYTES, Told
from node.backup.mark import mark
from node.backup.placing import NEW, finish, make_ready, occupied
from node.backup.private import STAGED, sweep, sync_folder, workplace
from node.backup.sealed import BackupUnsound, Opening, WrongPassphrase, damaged
from node.config import LOCK_FILE, lock, prepare
from node.identity import KEY_FILE, load_key
from node.store.blobs import FOLDER
from node.store.connection import STORE_FILE, failure
from node.store.migrations import MIGRATIONS
from sync.errors import Conflict, StoreError, StoreFull
from sync.log.names import node_name


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What was put in place."""

    manifest: Manifest
    by: str
    aside: Path | None
    """Where the files lie that were there before."""


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked meanwhile; each raises when nobody answers."""

    passphrase: Callable[[], str]
    """Of the file. Called again after a wrong one."""
    owner: Callable[[sqlite3.Connection, Manifest], str]
    """Who restores, once they have proved to be an owner by what the store says."""


def restore(
    home: Path, file: BinaryIO, asking: Asking, *, replace: bool, at: int, told: Told
) -> Restored:
    """Put the backup in `file` into `home`, or change nothing.

    Raises `StoreHeld` while a node runs there, `Conflict` where one lies and `replace` is not
    said, `BackupUnsound`, `StoreFull`, `StoreError`.
    """
    opening = _opened(file, asking.passphrase)
    manifest = read_manifest(opening)
    with _in_words(), _held(home):
        finish(home)
        sweep(home, STAGED)
        if occupied(home) and not replace:
            raise Conflict(
                f"A node lies in {home} already; nothing was changed.",
                hint="To put the backup in its place: --replace moves what is there aside.",
            )
        with workplace(home, STAGED) as folder:
            new = folder / NEW
            _unpack(opening, manifest, new, told)
            by = _mark(new, manifest, asking, at)
            make_ready(home, folder, aside=f"before-restore-{at}")
            aside = finish(home)
    return Restored(manifest=manifest, by=by, aside=aside)


def _opened(file: BinaryIO, passphrase: Callable[[], str]) -> Opening:
    while True:
        file.seek(0)
        try:
            return Opening(file, passphrase)
        except WrongPassphrase:
            continue


@contextlib.contextmanager
def _held(home: Path) -> Iterator[None]:
    """Hold the data directory; one that was made for this is gone again after a failure."""
    made = not home.exists()
    prepare(home, create=True)
    descriptor = lock(home, {"pid": os.getpid()})
    try:
        yield
    except BaseException:
        if made:
            (home / LOCK_FILE).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                home.rmdir()
        raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    """Say what a failing disk means."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if isinstance(failure(error), StoreFull) or "too large" in str(error).lower():
            raise StoreFull(
                "There is no room for what is in this backup; nothing was changed.",
                hint="Free some space, then restore again.",
            ) from None
        raise StoreError(
            f"The backup could not be put in place ({error}).",
            hint="Run the same command again, or look with `askmesh doctor`.",
        ) from None


def _unpack(opening: Opening, manifest: Manifest, new: Path, told: Told) -> None:
    """Write every file, each against its hash, durably."""
    (new / FOLDER).mkdir(mode=0o700, parents=True)
    done = 0
    for part in manifest.files:
        with _private(beside(new, part.name)) as file:
            for data in _read(opening, part):
                file.write(data)
                done += len(data)
                told("checking and unpacking the backup", done, manifest.size)
            file.flush()
            os.fsync(file.fileno())
    opening.end()
    sync_folder(new / FOLDER)
    sync_folder(new)


def _private(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _read(opening: Opening, part: Part) -> Iterator[bytes]:
    """Yield the bytes of a file. Raises `BackupUnsound` when they are not the listed ones."""
    hashed = hashlib.sha256()
    left = part.size
    while left:
        data = opening.read(min(left, READ_BYTES))
        left -= len(data)
        hashed.update(data)
        yield data
    listed = {part.sha256, part.name.rpartition("/")[2] if "/" in part.name else part.sha256}
    if listed != {hashed.hexdigest()}:
        raise damaged(f"{part.name} is not what its list says")


def _mark(new: Path, manifest: Manifest, asking: Asking, at: int) -> str:
    """Check the unpacked node, let its owner prove to be one, and mark it as restored."""
    key = load_key(new)
    connection = sqlite3.connect(new / STORE_FILE, isolation_level=None)
    try:
        check_newer(connection, list(MIGRATIONS))
        own = "SELECT 1 FROM entry WHERE author = ? LIMIT 1"
        fits = connection.execute(own, (key.node_id,)).fetchone() is not None
        fits = fits and counted(connection) in (None, key.node_id)
        if not fits or manifest.node != node_name(key.node_id):
            raise BackupUnsound(f"{KEY_FILE} and store in this backup do not belong together.")
        by = asking.owner(connection, manifest)
        mark(connection, when=manifest.at, at=at, by=by)
    finally:
        connection.close()
    sync_folder(new)
    return by
