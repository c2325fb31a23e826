"""The disk of one of two machines becomes read-only while its node runs, as after a failure.

    unshare -m python -I tests/fleet/read_only.py FOLDER

`remount,abort` is what a file system does to itself on an error of its disk. Prints what
agents and persons were told, as JSON.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from node.bridge.client import Refused
from tests.fleet.disks import mount
from tests.fleet.fleets import HASTE, equal, fleet_of, linked
from tests.fleet.history import check_life
from tests.fleet.promises import examine
from tests.running import until

SIZE = 32 * 1024 * 1024


def disk(folder: Path) -> tuple[Path, Path]:
    """A file system in a file, and where the desk keeps its data on it."""
    image, home = folder / "image", folder / "desk" / "home"
    with image.open("wb") as file:
        file.truncate(SIZE)
    subprocess.run(["mkfs.ext4", "-q", "-E", "root_owner=0:0", str(image)], check=True)
    home.mkdir(parents=True)
    mount("-o", "loop", str(image), str(home))
    home.chmod(0o700)
    (home / "lost+found").rmdir()
    return image, home


def main() -> int:
    """Live through it."""
    folder = Path(sys.argv[1])
    image, home = disk(folder)
    told: dict[str, Any] = {}
    with fleet_of(folder, "desk", "laptop", constants=HASTE) as (desk, laptop):
        ask = str(desk.node.flag(kind="question", title="Before?")["full_id"])
        laptop.meets(ask)
        mount("-o", "remount,abort", str(home))
        try:
            told["ask"] = desk.node.flag(kind="question", title="While?")
        except Refused as refused:
            told["ask"] = f"{refused.code}: {refused.message}"
        until(lambda: desk.person.state()["banners"], "the page says so")
        told["banner"] = desk.person.state()["banners"][0]
        told["vote"] = laptop.person.vote(ask, "answer", text="yes")[1]["state"]
        told["desk shows"] = desk.card(ask)
        desk.node.kill()
        subprocess.run(["umount", str(home)], check=True)
        # As a machine does at its next start: its journal is replayed, its faults are mended.
        mended = subprocess.run(["e2fsck", "-fy", str(image)], check=False, capture_output=True)
        assert mended.returncode in {0, 1}, mended
        mount("-o", "loop", str(image), str(home))
        mount("-o", "remount,ro", str(home))
        desk.node.start(wait=False)
        told["start"] = desk.node.wait_dead()
        told["said"] = desk.node.log.read_text().splitlines()[-1]
        mount("-o", "remount,rw", str(home))
        desk.node.start()
        linked(desk, laptop)
        answer = desk.node.agent("await", {"ask_id": ask, "wait_s": 20})
        told["after"] = [answer["state"], answer["text"]]
        equal(desk, laptop)
        for machine in (desk, laptop):
            check_life(machine.home, ask, approval=False)
            examine(machine.home)
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
