"""A real node on a disk that fills up: an agent and a person hear of it, nobody is lied to.

unshare -m python -I tests/node/store/full_node.py FOLDER
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent.parent))

from node.bridge.client import Refused
from node.store.rebuild import compare
from tests.node.store.full_disk import small_disk
from tests.running import Person, RunningNode, node_in, until


def main() -> int:
    """Fill the disk, ask until refused, free it, ask again."""
    disk = small_disk(Path(sys.argv[1]))
    with node_in(disk) as node:
        told = lived(node.start(), disk / "ballast")
        node.stop()
        told["findings"] = compare(node.home)
    print(json.dumps(told))
    return 0


def lived(node: RunningNode, ballast: Path) -> dict[str, Any]:
    """What agent and person hear on the way."""
    person = node.person()
    told: dict[str, Any] = {"acknowledged": 0}
    free = os.statvfs(node.home).f_bavail * os.statvfs(node.home).f_frsize
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free - 200 * 1024)
    first = node.flag(kind="question", title="Before it was full?")["id"]
    told["acknowledged"] = 1
    try:
        for number in range(1_000):
            node.flag(kind="question", title=f"Which {number}?", session=f"s{number}")
            told["acknowledged"] += 1
    except Refused as error:
        told["refused"] = error.message
    told["shown_while_full"] = person.state()["counts"]["open"]
    told["first"] = list(answer(person, first))
    ballast.unlink()
    if told["first"][0] == 503:
        told["first"] = list(answer(person, first))
    told["final"] = until(lambda: (person.ask(first)["final"] or {}).get("text"), "it is ruled on")
    answered = node.agent("await", {"ask_id": first, "wait_s": 0})
    told["handed"] = answered["text"]
    return told


def answer(person: Person, ask: str) -> tuple[int, str]:
    """Answer; return the status and where the answer stands, or the error's code."""
    status, value = person.vote(ask, "answer", text="this one")
    return status, value["state"] if status == 202 else value["error"]["code"]


if __name__ == "__main__":
    sys.exit(main())
