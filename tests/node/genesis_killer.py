"""Kills a first start at line N of its code, for every N, each time in an own process.

    python -I tests/node/genesis_killer.py FOLDER FIRST BEFORE STEP

Prints a JSON object: how many points there are, and what was wrong after the next start.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from node.clock import SystemTimes
from node.founding import open_store
from node.store import blobs
from node.store.rebuild import compare

TRACED = (
    "founding.py",
    "birth.py",
    "identity.py",
    "migrations.py",
    "connection.py",
    "transaction.py",
)


class Lines:
    """Counts lines of the code of a first start; kills at the one it is told."""

    def __init__(self, kill_at: int | None) -> None:
        self.kill_at = kill_at
        self.count = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:  # noqa: ANN401
        code = frame.f_code
        if Path(code.co_filename).name not in TRACED or code.co_name == "_statements":
            return None
        if event == "line":
            if self.count == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1
        return self


def start(home: Path) -> None:
    """Start a node's store as the process does, with the directory in place."""
    home.mkdir(mode=0o700, exist_ok=True)
    opened = open_store(home, create=True, machine="box", times=SystemTimes(), random=os.urandom)
    blobs.Blobs(home)
    opened.connection.close()


def count(home: Path) -> int:
    """How many lines one whole first start runs through."""
    lines = Lines(None)
    sys.settrace(lines)
    start(home)
    sys.settrace(None)
    return lines.count


def in_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked process; return its wait status."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 -- told by the status and stderr
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def killed(home: Path, line: int) -> None:
    """Start, and die at a line."""
    sys.settrace(Lines(line))
    start(home)


def finished(home: Path) -> None:
    """Start again: it must come up, with one genesis, and nothing amiss."""
    start(home)
    wrong = compare(home)
    assert wrong == [], wrong
    names = {path.name for path in home.iterdir()}
    left = names - {"node.key", "starts.json", "store.db", "store.db-wal", "store.db-shm", "blobs"}
    assert left == set(), left


def main() -> int:
    """Try the lines from FIRST to BEFORE in steps of STEP."""
    folder = Path(sys.argv[1])
    first, before, step = map(int, sys.argv[2:])
    total = count(folder / "whole")
    wrong: list[str] = []
    for line in range(first, min(before, total), step):
        home = folder / str(line)
        status = in_child(lambda home=home, line=line: killed(home, line))  # type: ignore[misc]
        if os.WTERMSIG(status) != signal.SIGKILL:
            wrong.append(f"line {line}: the first start was not killed ({status})")
        if in_child(lambda home=home: finished(home)) != 0:  # type: ignore[misc]
            wrong.append(f"line {line}: the next start did not finish it")
    print(json.dumps({"points": total, "wrong": wrong}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
