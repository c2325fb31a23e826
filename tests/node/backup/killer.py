"""Kills a backup, or a restore over another node, at line N of its code, for many N.

    python -I tests/node/backup/killer.py FOLDER backup|restore FIRST STEP

Prints a JSON object: how many places there are, how it ended, and what was wrong.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent.parent))

from node.backup import mark
from node.backup.placing import tidy
from node.bridge.paths import is_initialised
from node.config import lock
from node.store.blobs import Blobs
from tests.node.backup.copies import LATER, backed_up, put_back, tree, unpacked
from tests.node.store.stores import found

CODE = str(Path(mark.__file__).parent)
LAST = 16


class Lines:
    """Counts lines of our code; kills at the one it is told."""

    def __init__(self, kill_at: int | None) -> None:
        self.kill_at = kill_at
        self.count = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:  # noqa: ANN401
        if not frame.f_code.co_filename.startswith(CODE):
            return None
        if event == "line":
            if self.count == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1
        return self


def node_at(home: Path, words: bytes) -> Path:
    """A node with one long content that nobody names, as far as this test cares."""
    found(home).connection.close()
    Blobs(home).put(words, bytes(16))
    (home / "settings.json").write_text(json.dumps({"name": words.decode()}))
    return home


def killed_at(place: int, work: Callable[[], object]) -> None:
    """Do the work in a process of its own that is killed at this place."""
    child = os.fork()
    if not child:
        sys.settrace(Lines(place))
        work()
        os._exit(0)
    os.waitpid(child, 0)


def places(count: int, first: int, step: int) -> list[int]:
    """Every so often, and each of the last ones, where it becomes what it is to be."""
    return sorted({*range(first, count, step), *range(count - LAST, count)})


def wrong_with_file(file: Path) -> str | None:
    """What is wrong with a backup after a kill: it is whole, or not there."""
    if file.exists():
        try:
            unpacked(file)
        except Exception as error:  # noqa: BLE001 -- told to the test
            return f"not whole: {error}"
        file.unlink()
    return None


def after_start(home: Path) -> dict[str, bytes]:
    """What lies there once the next start has tidied up."""
    descriptor = lock(home, {})
    tidy(home)
    os.close(descriptor)
    return tree(home)


def backups(folder: Path, first: int, step: int) -> dict[str, Any]:
    """Kill a backup; what it was like afterwards."""
    source, file = node_at(folder / "source", b"source"), folder / "file"
    lines = Lines(None)
    sys.settrace(lines)
    backed_up(source, file)
    sys.settrace(None)
    file.unlink()
    before, wrong, ended = tree(source), [], set()
    for place in places(lines.count, first, step):
        killed_at(place, partial(backed_up, source, file))
        ended.add("whole" if file.exists() else "nothing")
        if fault := wrong_with_file(file):
            wrong.append(f"{place}: {fault}")
        if after_start(source) != before:
            wrong.append(f"{place}: the node's own files changed")
    backed_up(source, file)
    wrong += [path.name for path in folder.iterdir() if ".part-" in path.name]
    return {"lines": lines.count, "wrong": wrong, "ended": sorted(ended)}


def restores(folder: Path, first: int, step: int) -> dict[str, Any]:
    """Kill a restore over another node; what it was like afterwards."""
    source, file = node_at(folder / "source", b"source"), folder / "file"
    backed_up(source, file)
    data = file.read_bytes()
    old = node_at(folder / "old", b"old")
    lines = Lines(None)
    trial = shutil.copytree(old, folder / "trial")
    sys.settrace(lines)
    put_back(trial, data, replace=True)
    sys.settrace(None)
    before, key = tree(old), (source / "node.key").read_bytes()
    wrong, ended = [], set()
    for place in places(lines.count, first, step):
        home = shutil.copytree(old, folder / f"home-{place}")
        killed_at(place, partial(put_back, home, data, replace=True))
        if not is_initialised(str(home)):
            wrong.append(f"{place}: no client may start it")
        now = after_start(home)
        ended.add("nothing" if now == before else "whole")
        if now != before and not replaced(now, before, key):
            wrong.append(f"{place}: {sorted(now)}")
        shutil.rmtree(home)
    return {"lines": lines.count, "wrong": wrong, "ended": sorted(ended)}


def replaced(now: dict[str, bytes], before: dict[str, bytes], key: bytes) -> bool:
    """Whether the restored node is there whole, and the old one beside it."""
    aside = {f"before-restore-{LATER}/{name}": data for name, data in before.items()}
    new = now.keys() - aside.keys()
    whole = new == {"node.key", "settings.json", "store.db"} and now["node.key"] == key
    return whole and aside.items() <= now.items()


def main() -> int:
    """Kill at every `STEP`th place from `FIRST` on."""
    folder, what, first, step = sys.argv[1:]
    work = {"backup": backups, "restore": restores}[what]
    print(json.dumps(work(Path(folder), int(first), int(step))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
