"""Real hooks against a node whose disk fills up between an allow and its hand-over.

    unshare -m python -I tests/fleet/full_gate.py FOLDER

Prints what each hook printed, and what the log held then, as JSON.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from sync.log.kinds import EntryType
from tests.fleet.history import check_life, entries
from tests.node.gate.sessions import Run, Session, allow, the_ask
from tests.running import RunningNode, node_in

RULES = '[[rule]]\nname = "pushes"\ntool = "Bash"\naction = "ask"\n'
PUSH = {"command": "git push"}
DISK = "6m"


def main() -> int:
    """Run all of it on a small disk of this namespace."""
    disk = Path(sys.argv[1]) / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0700", "tmpfs", str(disk)]
    subprocess.run(mount, check=True)
    with node_in(disk) as node:
        print(json.dumps(lived(node.start(), disk / "ballast")))
        Run.end_all()
    return 0


def lived(node: RunningNode, ballast: Path) -> dict[str, Any]:
    """What host and person are told, step by step."""
    told: dict[str, Any] = {}
    person = node.person()
    node.rules(person, RULES)
    session = Session(node)
    assert session.before("Bash", PUSH, hold=0.2).word() == "deny"
    ask = the_ask(person)
    allow(person, ask)
    fill(ballast)
    hook = session.before("Bash", PUSH, hold=0.2)
    told["full"] = [hook.word(), hook.sentence()]
    told["handed while full"] = len(entries(node.home, EntryType.HANDOVER, ask["id"]))
    other = session.before("Bash", {"command": "git push -f"}, hold=0.2)
    told["new call while full"] = other.word()
    ballast.unlink()
    told["freed"] = session.before("Bash", PUSH).word()
    told["handed"] = len(entries(node.home, EntryType.HANDOVER, ask["id"]))
    again = session.before("Bash", PUSH, hold=0.2)
    told["again"] = again.word()
    check_life(node.home, ask["id"], approval=True)
    return told


def fill(ballast: Path) -> None:
    """Take every byte that is left."""
    with ballast.open("wb", buffering=0) as file:
        for size in (65_536, 4_096):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                os.fsync(file.fileno())


if __name__ == "__main__":
    sys.exit(main())
