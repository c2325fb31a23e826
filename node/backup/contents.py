"""What a backup holds: the list at its beginning, and which names may stand in it."""

import re
import sqlite3
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from node.backup.sealed import FORMAT, BackupUnsound, Opening, damaged
from node.config import SETTINGS_FILE
from node.identity import KEY_FILE
from node.limits import BACKUP_MANIFEST_BYTES
from node.store.blobs import FOLDER
from node.store.connection import STORE_FILE
from node.store.derive import NODE
from node.store.migrations import applied
from sync.log.entry import NodeKey
from sync.log.names import node_name

LENGTH: Final = struct.Struct(">I")
NEEDED: Final = frozenset({STORE_FILE, KEY_FILE})
_BLOB: Final = re.compile(rf"{FOLDER}/[0-9a-f]{{64}}")


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One file in a backup."""

    name: str
    size: int
    sha256: str


class LogHead(msgspec.Struct, frozen=True, kw_only=True):
    """The last entry of one of the machine's own logs."""

    log: int
    seq: int
    hash: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Of what, and when; then the files in their order."""

    format: int
    version: str
    """The program that wrote it."""
    fleet: str
    node: str
    machine: str
    at: int
    heads: list[LogHead]
    files: list[Part]

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(part.size for part in self.files)


def describe(
    store: sqlite3.Connection, key: NodeKey, *, version: str, at: int, files: Sequence[Part]
) -> Manifest:
    """Return the list for a copied store and the files beside it."""
    name = node_name(key.node_id)
    (fleet,) = store.execute("SELECT value FROM local WHERE name = 'fleet'").fetchone()
    machine = store.execute("SELECT name FROM node WHERE id = ?", (name,)).fetchone()
    heads = store.execute(
        "SELECT log, seq, hash FROM head WHERE author = ? ORDER BY log", (key.node_id,)
    )
    return Manifest(
        format=FORMAT,
        version=version,
        fleet=bytes(fleet).hex(),
        node=name,
        machine="" if machine is None else machine[0],
        at=at,
        heads=[LogHead(log=log, seq=seq, hash=bytes(value).hex()) for log, seq, value in heads],
        files=list(files),
    )


def read_manifest(opening: Opening) -> Manifest:
    """Read the list. Raises `BackupUnsound` for one that this program must not follow."""
    (size,) = LENGTH.unpack(opening.read(LENGTH.size))
    if size > BACKUP_MANIFEST_BYTES:
        raise damaged("its list of contents is too long")
    try:
        manifest = msgspec.json.decode(opening.read(size), type=Manifest)
    except msgspec.DecodeError:
        raise damaged("its list of contents cannot be read") from None
    names = [part.name for part in manifest.files]
    # A name is joined to a folder of ours: nothing but these leads where it should.
    strange = [name for name in names if not _known(name)]
    if strange or len(set(names)) < len(names) or any(part.size < 0 for part in manifest.files):
        raise damaged("it lists files that no backup holds")
    if not names or not set(names) >= NEEDED:
        raise damaged("it holds no whole node")
    return manifest


def _known(name: str) -> bool:
    return name in NEEDED or name == SETTINGS_FILE or _BLOB.fullmatch(name) is not None


def check_newer(store: sqlite3.Connection, known: Sequence[str]) -> None:
    """Raise `BackupUnsound` when a newer program has written this store."""
    unknown = sorted(set(applied(store)) - set(known))
    if unknown:
        raise BackupUnsound(
            f"The store in this backup has had {unknown[0]!r}, which this askmesh does not know."
            " Nothing was changed.",
            hint="Install the newer askmesh that wrote it, then restore.",
        )


def counted(store: sqlite3.Connection) -> bytes | None:
    """Return the id of the key that the store counts as its own; None: it does not say."""
    row = store.execute("SELECT value FROM local WHERE name = ?", (NODE,)).fetchone()
    return None if row is None else bytes(row[0])


def blob_names(store: sqlite3.Connection) -> list[str]:
    """Return the names of the blobs that asks name, as far as their words are here."""
    rows = store.execute(
        "SELECT DISTINCT blob FROM ask WHERE blob IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM entry WHERE hash = entry_hash AND text IS NULL) ORDER BY blob"
    )
    return [f"{FOLDER}/{bytes(blob).hex()}" for (blob,) in rows]


def beside(home: Path, name: str) -> Path:
    """Return where a file of a backup lies in a data directory."""
    return home.joinpath(*name.split("/"))
