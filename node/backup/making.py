"""Making a backup: a copy of the store from one moment, and all that belongs to it.

The node may run meanwhile: a read-only connection copies one snapshot and never checkpoints.
"""

import contextlib
import fcntl
import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from node.backup.contents import LENGTH, Manifest, Part, beside, blob_names, counted, describe
from node.backup.private import COPY, sweep, sync_folder, workplace
from node.backup.sealed import SALT_BYTES, Sealing
from node.config import SETTINGS_FILE
from node.identity import KEY_FILE, load_key
from node.store.connection import STORE_FILE, failure, open_reader
from node.store.migrations import MIGRATIONS, applied
from node.version import VERSION
from sync.errors import Conflict, StoreError, StoreFull
from sync.log.entry import NodeKey

READ_BYTES: Final = 256 * 1024
LOOK_STEPS: Final = 20_000
"""Steps of SQLite's machine between two looks at the screen: some milliseconds."""

Told = Callable[[str, int, int], None]
"""(what is being done, how much is done, of how much): of nothing where nobody knows."""


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A backup that was made."""

    manifest: Manifest
    size: int
    """Bytes of the file."""
    lacking: int
    """Long contents that asks name and that are not here, or are damaged."""


def make(home: Path, file: Path, *, passphrase: str | None, at: int, told: Told) -> Made:
    """Write the backup of the node in `home` to `file`, which must not exist.

    It is there whole or not at all. Raises `Conflict`, `StoreError`, `StoreFull`.
    """
    check_new(file)
    sweep(home, COPY)
    load_key(home)
    with workplace(home, COPY) as folder:
        copied = _copy_store(home, folder / STORE_FILE, told)
        try:
            here, lacking = _parts(home, copied, folder, told)
            key = _counting_key(home, copied)
            parts = [part for part, _ in here]
            manifest = describe(copied, key, version=VERSION, at=at, files=parts)
        finally:
            copied.close()
        with _new_file(file) as written:
            _write(written, manifest, [path for _, path in here], passphrase, told)
            size = written.tell()
    return Made(manifest=manifest, size=size, lacking=lacking)


def check_new(file: Path) -> None:
    """Raise `Conflict` where no new file can lie: best before anything is asked for."""
    if file.exists() or file.is_symlink():
        raise Conflict(
            f"{file} exists already; a backup never replaces a file.",
            hint="Name a new file, or move the old one away.",
        )
    if not file.parent.is_dir():
        raise Conflict(f"There is no folder {file.parent}.", hint="Make it first.")


def _copy_store(home: Path, path: Path, told: Told) -> sqlite3.Connection:
    """Copy the store as it is now; return a connection to the copy, which was checked."""

    def going_on() -> int:
        told("copying the store", 0, 0)
        return 0

    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        live = open_reader(home)
        try:
            # It is opened to read only; this guard would refuse to write the copy as well.
            live.execute("PRAGMA query_only=OFF")
            live.set_progress_handler(going_on, LOOK_STEPS)
            live.execute("VACUUM INTO ?", (str(path),))
        finally:
            live.close()
        copied = sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True, isolation_level=None)
        copied.set_progress_handler(going_on, LOOK_STEPS)
        _check_whole(copied)
    except sqlite3.Error as error:
        raise _not_copied(error) from None
    if set(applied(copied)) != set(MIGRATIONS):
        copied.close()
        raise StoreError(
            "The store was written by another version of askmesh, so no backup was made of it.",
            hint="Start the node once with this version (`askmesh down`, `askmesh up`), or back"
            " up with the version that wrote it.",
        )
    return copied


def _check_whole(copied: sqlite3.Connection) -> None:
    try:
        rows = [row for (row,) in copied.execute("PRAGMA integrity_check(3)")]
        if rows != ["ok"]:
            raise StoreError(
                f"The store is damaged ({rows[0]}), so no backup was made of it.",
                hint="Run: askmesh doctor",
            )
    except BaseException:
        copied.close()
        raise


def _not_copied(error: sqlite3.Error) -> StoreError:
    if isinstance(failed := failure(error), StoreFull):
        return StoreFull(
            "There is no room beside the store for the copy that a backup is made from;"
            " no backup was made.",
            hint="Free about as much space there as the store takes.",
        )
    return StoreError(f"The store could not be copied ({error}).", hint=failed.hint)


def _parts(
    home: Path, copied: sqlite3.Connection, folder: Path, told: Told
) -> tuple[list[tuple[Part, Path]], int]:
    """Return each file with where its bytes are, and how many contents are lacking."""
    found: list[tuple[Part, Path]] = []
    for name in (STORE_FILE, KEY_FILE, SETTINGS_FILE):
        path = (folder if name == STORE_FILE else home) / name
        part = _part(name, path)
        if part is None and name != SETTINGS_FILE:
            raise StoreError(f"{path} cannot be read, so no backup was made.")
        if part is not None:
            found.append((part, path))
    blobs = blob_names(copied)
    lacking = 0
    for done, name in enumerate(blobs):
        told("reading long contents", done, len(blobs))
        path = beside(home, name)
        part = _part(name, path)
        if part is not None and name.endswith(f"/{part.sha256}"):
            found.append((part, path))
        else:
            lacking += 1
    return found, lacking


def _counting_key(home: Path, copied: sqlite3.Connection) -> NodeKey:
    """Return the key in the file, if the store counts it as its own. Raises `Conflict`."""
    key = load_key(home)
    if counted(copied) not in (None, key.node_id):
        raise Conflict(
            "This machine is taking on a new identity, and its key is not in its place yet, so"
            " no backup was made.",
            hint="Start the node, which finishes that (`askmesh up`), then back up again.",
        )
    return key


def _part(name: str, path: Path) -> Part | None:
    """Size and hash of a file; None when it is not here."""
    hashed = hashlib.sha256()
    size = 0
    try:
        with path.open("rb") as file:
            while data := file.read(READ_BYTES):
                hashed.update(data)
                size += len(data)
    except OSError:
        return None
    return Part(name=name, size=size, sha256=hashed.hexdigest())


def _write(
    file: BinaryIO, manifest: Manifest, paths: list[Path], passphrase: str | None, told: Told
) -> None:
    sealing = Sealing(file, passphrase=passphrase, salt=os.urandom(SALT_BYTES))
    listed = msgspec.json.encode(manifest)
    sealing.write(LENGTH.pack(len(listed)) + listed)
    total, done = manifest.size, 0
    for part, path in zip(manifest.files, paths, strict=True):
        hashed = hashlib.sha256()
        with path.open("rb") as source:
            while data := source.read(READ_BYTES):
                sealing.write(data)
                hashed.update(data)
                done += len(data)
                told("writing the backup", done, total)
        if hashed.hexdigest() != part.sha256:
            # Nothing of ours changes these; whoever did would make a backup that is refused.
            raise StoreError(
                f"{path} changed while it was copied, so no backup was made.", hint="Try again."
            )
    sealing.close()


@contextlib.contextmanager
def _new_file(file: Path) -> Iterator[BinaryIO]:
    """Write a new file (0600) under its name once it is whole and durable.

    Raises `StoreFull`, `StoreError` that say so when it cannot be written.
    """
    begun = f".{file.name[:100]}.part-"
    sweep(file.parent, begun)
    temporary: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=begun)
        temporary = Path(name)
        with os.fdopen(descriptor, "wb") as writing:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield writing
            writing.flush()
            os.fsync(descriptor)
            _name(temporary, file)
        sync_folder(file.parent)
    except FileExistsError:
        raise Conflict(f"{file} has just been made by somebody else; it was left alone.") from None
    except OSError as error:
        raise _not_written(file, error) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _name(temporary: Path, file: Path) -> None:
    """Give the file its name, without replacing one that came to be meanwhile."""
    try:
        file.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # A disk that knows no second names (FAT): nobody else makes this very file.
        if file.exists():
            raise FileExistsError(file) from None
        temporary.rename(file)


def _not_written(file: Path, error: OSError) -> StoreError:
    sentence = f"The backup could not be written: {error.strerror or error} ({file})."
    if isinstance(failure(error), StoreFull) or "too large" in str(error).lower():
        return StoreFull(f"{sentence} Nothing was left there.", hint="Free some space there.")
    return StoreError(f"{sentence} Nothing was left there.")
