"""What a crash, a copy and a backup do to a data directory."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.sim import template

WAL = "store.db-wal"


def size(home: Path) -> int:
    """Bytes of the write-ahead log now."""
    path = home / WAL
    return path.stat().st_size if path.exists() else 0


def tear(chance: random.Random, synced: int) -> Callable[[Path], None]:
    """Return what spoils the log beyond what was synced: cut off, garbled, or garbage behind."""
    how = chance.choice(("cut", "garble", "garbage"))

    def spoil(home: Path) -> None:
        path = home / WAL
        if not path.exists():
            return
        data = bytearray(path.read_bytes())
        if len(data) > synced and how != "garbage":
            at = chance.randrange(synced, len(data))
            if how == "cut":
                del data[at:]
            else:
                data[at] ^= 1 << chance.randrange(8)
        else:
            data += chance.randbytes(chance.randrange(1, 5000))
        path.write_bytes(bytes(data))

    return spoil


def keep(home: Path, name: str) -> Path:
    """Copy a directory aside, as it is at this moment."""
    kept = home.with_name(f"{home.name}.{name}")
    shutil.rmtree(kept, ignore_errors=True)
    template.copy(home, kept)
    return kept


def put_back(kept: Path, home: Path) -> None:
    """Put an older copy in the place of a directory."""
    shutil.rmtree(home)
    template.copy(kept, home)
