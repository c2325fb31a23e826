"""First starts on a disk with less and less room, each finished once there is room.

unshare -m python -I tests/node/store/full_genesis.py FOLDER
"""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent.parent))

from node.store.rebuild import compare
from sync.errors import StoreError
from tests.node.store.full_disk import small_disk
from tests.node.store.stores import found

STEP = 24 * 1024


def main() -> int:
    """Leave ever more room until a first start succeeds at once."""
    disk = small_disk(Path(sys.argv[1]))
    told: dict[str, list[str]] = {"refused": [], "findings": []}
    for room in range(0, 2 * 1024 * 1024, STEP):
        ballast, home = disk / "ballast", disk / "home"
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, free - room))
        refused = _start(home, told)
        ballast.unlink()
        if refused:
            found(home).connection.close()
        told["findings"] += compare(home)
        for path in home.iterdir():
            path.unlink()
        home.rmdir()
        if not refused:
            break
    print(json.dumps(told))
    return 0


def _start(home: Path, told: dict[str, list[str]]) -> bool:
    try:
        found(home).connection.close()
    except (StoreError, OSError) as error:
        told["refused"].append(str(error))
        return True
    return False


if __name__ == "__main__":
    sys.exit(main())
