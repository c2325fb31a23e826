"""Changes a JSON file of another program: order, form, mode and links stay; a backup remains."""

import difflib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from sync.errors import CallerError

INDENT: Final = re.compile(r'\n([ \t]+)"')
"""The indent of a file is that of its first indented key."""

FILE_BYTES: Final = 32 * 1024 * 1024
"""Hosts keep histories in such files; a larger one is not a settings file."""

NEW_FILE_MODE: Final = 0o600


class KitRefused(CallerError):
    """The host's settings cannot be changed safely, so nothing was changed."""

    code: ClassVar[str] = "kit_refused"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One file, before and after."""

    path: Path
    before: str | None
    """None: the file does not exist yet."""
    after: str
    mode: int | None = None
    """None: as it is, or for the user alone when it is new."""
    backup: bool = True

    @property
    def diff(self) -> str:
        """The change as a unified diff, with little around it: such files hold secrets."""
        return "".join(
            difflib.unified_diff(
                (self.before or "").splitlines(keepends=True),
                self.after.splitlines(keepends=True),
                str(self.path) if self.before is not None else "/dev/null",
                str(self.path),
                n=1,
            )
        )


def read_text(path: Path) -> str | None:
    """The file's text; None when there is none. Raises `KitRefused`."""
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES + 1)
        if len(data) > FILE_BYTES:
            raise KitRefused(f"{path} is larger than {FILE_BYTES} bytes.")
        return data.decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise KitRefused(f"{path}, line {line}: this is not UTF-8.") from error
    except OSError as error:
        raise KitRefused(f"{path} cannot be read: {error.strerror}.") from error


def parse(path: Path, text: str | None) -> dict[str, Any]:
    """The object in the file; empty when there is none. Raises `KitRefused` with the line."""
    if text is None or not text.strip():
        return {}

    def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise KitRefused(
                f"{path}: the key {json.dumps(twice)} stands twice in one object.",
                hint="Remove one of the two; changing the file would lose it.",
            )
        return found

    try:
        value = json.loads(text, object_pairs_hook=once_each)
    except json.JSONDecodeError as error:
        raise KitRefused(
            f"{path}, line {error.lineno}: this is not JSON ({error.msg}).",
            hint="Mend the file first; nothing was changed.",
        ) from error
    except RecursionError as error:
        raise KitRefused(f"{path} is nested too deeply.") from error
    if not isinstance(value, dict):
        raise KitRefused(f"{path} does not hold an object.")
    return value


def render(value: dict[str, Any], before: str | None) -> str:
    """The object as text in the form the file had; two spaces when it is new."""
    if before is None or not before.strip():
        return f"{_dump(value, '  ')}\n"
    indent = INDENT.search(before)
    text = _dump(value, indent[1] if indent else None if "\n" not in before.strip() else "  ")
    tail = before[len(before.rstrip()) :]
    return (text.replace("\n", "\r\n") if "\r\n" in before else text) + tail


def _dump(value: dict[str, Any], indent: str | None) -> str:
    """JSON as hosts write it: other scripts as they are, lone surrogates escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text.encode(errors="backslashreplace").decode()


def write_all(changes: Iterable[Change]) -> list[Path]:
    """Write every change; the backups made. Raises `KitRefused` before the first write."""
    changes = list(changes)
    for change in changes:
        if read_text(change.path) != change.before:
            raise KitRefused(
                f"{change.path} has changed in the meantime.", hint="Run the command again."
            )
    stamp = time.strftime("%Y%m%dT%H%M%S")
    return [backup for change in changes if (backup := _write(change, stamp))]


def _write(change: Change, stamp: str) -> Path | None:
    """Replace one file in one step, with its old content kept beside it."""
    real = Path(os.path.realpath(change.path))  # a link stays; what it leads to is replaced
    backup = None
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        mode, owner = change.mode or NEW_FILE_MODE, None
        if change.before is not None:
            found = real.stat()
            mode, owner = change.mode or found.st_mode & 0o7777, (found.st_uid, found.st_gid)
            if change.backup:
                backup = real.with_name(f"{real.name}.askmesh-backup-{stamp}")
                _replace(backup, change.before, mode, owner)
        _replace(real, change.after, mode, owner)
    except OSError as error:
        raise KitRefused(f"{change.path} cannot be written: {error.strerror}.") from error
    return backup


def _replace(path: Path, text: str, mode: int, owner: tuple[int, int] | None) -> None:
    """Write a file beside the path, make it durable, and put it in the path's place."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            os.fchmod(file.fileno(), mode)
            if owner is not None and owner != (os.getuid(), os.getgid()):
                os.fchown(file.fileno(), *owner)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
