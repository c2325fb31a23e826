"""Blobs: long content outside the log, 16 random bytes before it, named by SHA-256."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from node.limits import DIGESTS_KEPT
from node.store.connection import failure
from sync.errors import NotFound, TooLarge
from sync.limits import BLOB_BYTES, SALT_BYTES
from sync.log.entry import sha256

FOLDER = "blobs"


class Blobs:
    """The blobs of one data directory."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._folder = home / FOLDER
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._digests: dict[bytes, bytes] = {}

    def put(self, content: bytes, salt: bytes) -> bytes:
        """Store salted content durably and return its hash.

        Raises `TooLarge`, `StoreFull`, `StoreReadOnly`; nothing half-written stays.
        """
        if len(content) > BLOB_BYTES:
            raise TooLarge(f"{len(content)} bytes were given; at most {BLOB_BYTES} fit.")
        data = salt + content
        name = sha256(data)
        self._write(name, data)
        return name

    def keep(self, name: bytes, data: bytes) -> bool:
        """Store a blob that another node sent, salt included; False when it is not the named one.

        Raises `StoreFull`, `StoreReadOnly`.
        """
        if len(data) > BLOB_BYTES + SALT_BYTES or sha256(data) != name:
            return False
        self._write(name, data)
        return True

    def _write(self, name: bytes, data: bytes) -> None:
        path = self._path(name)
        if self.salted(name) is not None:
            # One that is damaged is written anew.
            return
        temporary: str | None = None
        try:
            handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=".new-")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
            self._settle()
        except OSError as error:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()
            raise failure(error) from None

    def _settle(self) -> None:
        """Make what was added to the folder, or removed from it, durable."""
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def get(self, name: bytes) -> bytes:
        """Return the content without its salt. Raises `NotFound` when it is not here whole."""
        data = self.salted(name)
        if data is None:
            raise NotFound("The content of this call is not here, or is damaged.")
        return data[SALT_BYTES:]

    def digest(self, name: bytes) -> bytes | None:
        """Return the hash of the content without its salt; None when it is not here whole.

        What lies here never changes, so each is read once.
        """
        known = self._digests.get(name)
        if known is None:
            data = self.salted(name)
            if data is None:
                return None
            if len(self._digests) >= DIGESTS_KEPT:
                self._digests.clear()
            known = self._digests[name] = sha256(data[SALT_BYTES:])
        return known

    def salted(self, name: bytes) -> bytes | None:
        """Return the blob as it travels, with its salt; None when it is not here whole."""
        try:
            data = self._path(name).read_bytes()
        except OSError:
            return None
        return data if sha256(data) == name else None

    def sweep(self, known: Callable[[bytes], bool]) -> int:
        """Remove what no ask names: left by a crash, or by an ask that was refused.

        Call it before anything new can be stored. Return how many were removed.
        """
        removed = 0
        for path in self._folder.iterdir():
            if not path.is_file():
                # Not ours, and no reason to stop a start.
                continue
            try:
                keep = known(bytes.fromhex(path.name))
            except ValueError:
                keep = False
            if not keep:
                path.unlink(missing_ok=True)
                removed += 1
        return removed

    def wipe(self, names: Iterable[bytes]) -> None:
        """Write over the files of these blobs, durably, and remove them.

        Raises `StoreFull`, `StoreReadOnly`; what was removed before stays so.
        """
        gone = False
        for name in names:
            self._digests.pop(name, None)
            path = self._path(name)
            try:
                with path.open("r+b") as file:
                    file.write(bytes(path.stat().st_size))
                    file.flush()
                    os.fsync(file.fileno())
                path.unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise failure(error) from None
            gone = True
        if gone:
            self._settle()

    def names(self) -> set[bytes]:
        """Return the blobs that are here, as `has` tells of one."""
        found = set()
        for name in os.listdir(self._folder):  # noqa: PTH208 -- a path for each is slow
            with contextlib.suppress(ValueError):
                found.add(bytes.fromhex(name))
        return found

    def has(self, name: bytes) -> bool:
        """Whether the blob is here (its content is checked when it is read)."""
        return self._path(name).exists()

    def _path(self, name: bytes) -> Path:
        return self._folder / name.hex()
