"""Reads the files a call would change: regular files only, and never for long."""

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from node import limits
from sync.errors import CallerError

CHUNK: Final = 1024 * 1024
"""Of one read."""


class CallRefused(CallerError):
    """The call cannot be shown to a person as exactly as it would run, so it is refused."""

    code: ClassVar[str] = "call_refused"


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRead:
    """A file as it is now."""

    path: str
    """Real path: where links lead is part of what was seen."""
    sha256: str | None
    """None: there is no such file."""
    size: int
    content: bytes | None
    """None: there is no such file, or it is too large to be shown."""


def read_file(name: str, cwd: str) -> FileRead:
    """Read and hash a file that a call names. Raises `CallRefused` for what is not a file."""
    path = _real(name, cwd)
    try:
        descriptor = _open(path)
    except (FileNotFoundError, NotADirectoryError):
        return FileRead(path=path, sha256=None, size=0, content=None)
    except (OSError, ValueError) as error:
        raise CallRefused(f"{path} cannot be read: {_why(error)}.") from error
    try:
        return _read(path, descriptor)
    except OSError as error:
        raise CallRefused(f"{path} cannot be read: {_why(error)}.") from error
    finally:
        os.close(descriptor)


def _real(name: str, cwd: str) -> str:
    """The real path of a file named as hosts understand it: from `cwd`, with `~`."""
    try:
        # pathlib's expanduser raises where there is no such user; hosts leave the text.
        return os.path.realpath(Path(cwd, os.path.expanduser(name)))  # noqa: PTH111
    except (OSError, ValueError) as error:
        raise CallRefused(f"{name!r:.200} is not the path of a file: {_why(error)}.") from error


def _open(path: str) -> int:
    """A descriptor of a regular file; a pipe or device is not even opened."""
    _check(path, Path(path).stat())
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _check(path, os.fstat(descriptor))
    except CallRefused:
        os.close(descriptor)
        raise
    return descriptor


def _check(path: str, found: os.stat_result) -> None:
    """Refuse what is not a regular file, or too large to be hashed at once."""
    if not stat.S_ISREG(found.st_mode):
        raise CallRefused(f"{path} is not a regular file, so a change to it cannot be shown.")
    if found.st_size > limits.HASHED_FILE_BYTES:
        raise CallRefused(f"{path} has {found.st_size} bytes, too many to show a change to it.")


def _read(path: str, descriptor: int) -> FileRead:
    """Hash the file to its end and keep what can be shown."""
    digest, kept, size = hashlib.sha256(), bytearray(), 0
    while chunk := os.read(descriptor, CHUNK):
        size += len(chunk)
        if size > limits.HASHED_FILE_BYTES:
            raise CallRefused(f"{path} is growing while it is read.")
        digest.update(chunk)
        if size <= limits.DIFF_FILE_BYTES:
            kept += chunk
    content = bytes(kept) if size <= limits.DIFF_FILE_BYTES else None
    return FileRead(path=path, sha256=digest.hexdigest(), size=size, content=content)


def _why(error: Exception) -> str:
    """The system's own words, without the number and the path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
