"""Backups in tests: made, taken apart, put together again otherwise, and put in place."""

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from node.backup.contents import LENGTH, Manifest, read_manifest
from node.backup.making import Made, make
from node.backup.restoring import Asking, Restored, restore
from node.backup.sealed import Opening, Sealing

AT = 1_800_000_000_000
LATER = AT + 86_400_000


def quiet(_words: str, _done: int, _total: int) -> None:
    """Tell nobody how far it is."""


def ann(*_: object) -> str:
    """The owner, who has proved to be one."""
    return "Ann"


def backed_up(home: Path, file: Path, passphrase: str | None = None) -> Made:
    """Make a backup."""
    return make(home, file, passphrase=passphrase, at=AT, told=quiet)


def put_back(
    home: Path,
    data: bytes,
    *,
    replace: bool = False,
    owner: Callable[..., str] = ann,
    passphrase: Callable[[], str] = lambda: "",
) -> Restored:
    """Restore it."""
    asking = Asking(passphrase=passphrase, owner=owner)
    return restore(home, io.BytesIO(data), asking, replace=replace, at=LATER, told=quiet)


def unpacked(file: Path, passphrase: str = "") -> tuple[Manifest, dict[str, bytes]]:
    """Everything in a backup, each file against its hash."""
    with file.open("rb") as source:
        return _unpacked(source, passphrase)


def _unpacked(source: BinaryIO, passphrase: str) -> tuple[Manifest, dict[str, bytes]]:
    opening = Opening(source, lambda: passphrase)
    manifest = read_manifest(opening)
    found = {part.name: opening.read(part.size) for part in manifest.files}
    opening.end()
    for part in manifest.files:
        assert hashlib.sha256(found[part.name]).hexdigest() == part.sha256
    return manifest, found


def repacked(
    data: bytes,
    change: Callable[[dict[str, bytes]], object] = lambda _files: None,
    listed: Callable[[dict[str, Any]], object] = lambda _manifest: None,
) -> bytes:
    """A backup with other files, or with another list, sealed as ours are."""
    manifest, files = _unpacked(io.BytesIO(data), "")
    change(files)
    told = msgspec.to_builtins(manifest)
    told["files"] = [
        {"name": name, "size": len(value), "sha256": hashlib.sha256(value).hexdigest()}
        for name, value in files.items()
    ]
    listed(told)
    out = io.BytesIO()
    sealing = Sealing(out, passphrase=None, salt=bytes(16))
    text = json.dumps(told).encode()
    sealing.write(LENGTH.pack(len(text)) + text)
    for value in files.values():
        sealing.write(value)
    sealing.close()
    return out.getvalue()


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but for the lock, whose content names who held it last."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "node.lock"
    }
