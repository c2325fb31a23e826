"""Backups in tests: a small node with one of everything, its copy, what lies in a folder."""

import hashlib
from pathlib import Path

from node.backup.contents import Manifest, read_manifest
from node.backup.making import Made, make
from node.backup.sealed import Opening

AT = 1_800_000_000_000


def quiet(_words: str, _done: int, _total: int) -> None:
    """Tell nobody how far it is."""


def backed_up(home: Path, file: Path, passphrase: str | None = None) -> Made:
    return make(home, file, passphrase=passphrase, at=AT, told=quiet)


def unpacked(file: Path, passphrase: str = "") -> tuple[Manifest, dict[str, bytes]]:
    """Everything in a backup, each file against its hash."""
    with file.open("rb") as source:
        opening = Opening(source, lambda: passphrase)
        manifest = read_manifest(opening)
        found = {part.name: opening.read(part.size) for part in manifest.files}
        opening.end()
    for part in manifest.files:
        assert hashlib.sha256(found[part.name]).hexdigest() == part.sha256
    return manifest, found


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but for the lock, whose content names who held it last."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "node.lock"
    }
