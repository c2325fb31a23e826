"""Starts a real node with a clock and stop points that a test controls.

    python -I tests/launcher.py PLAN.json

The plan: `options` of the node, `clock` (path of 16 bytes: two big-endian signed 64-bit
offsets in milliseconds, of the wall and of the boot clock, read at every look), `stop`
(a stop point's name or null) and `stop_after` (how often it is passed before the process
kills itself there), `limits` (null: the real ones), `constants` (values of `sync.limits`
that are others for this run: a link that is dead counts as dead sooner). No flag or variable
of askmesh itself reaches any of this.
"""

import json
import os
import signal
import struct
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

PLAN: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text("utf-8"))

from sync import limits as constants  # noqa: E402 -- after the path

# Before anything else is imported: modules take the constants they use when they begin.
for _name, _value in PLAN.get("constants", {}).items():
    assert hasattr(constants, _name), _name
    setattr(constants, _name, _value)

from node.clock import SystemTimes  # noqa: E402 -- after the constants
from node.desk.context import Limits  # noqa: E402 -- after the constants
from node.process import Options, Seams, run  # noqa: E402 -- after the constants


class SteppedTimes(SystemTimes):
    """The machine's clocks, moved by what the test wrote."""

    def __init__(self, path: str) -> None:
        self._path = path

    def _offsets(self) -> tuple[int, int]:
        with open(self._path, "rb") as file:  # noqa: PTH123 -- read thousands of times
            wall, boot = struct.unpack(">qq", file.read(16))
        return wall, boot

    def wall_ms(self) -> int:
        """The wall clock, moved."""
        return super().wall_ms() + self._offsets()[0]

    def boot_ms(self) -> int:
        """The boot clock, moved."""
        return super().boot_ms() + self._offsets()[1]


class StopPoint:
    """Kills this process, as `kill -9` does, at the named point."""

    def __init__(self, name: str | None, after: int) -> None:
        self._name = name
        self._left = after

    def __call__(self, name: str) -> None:
        """Pass a point."""
        if name != self._name:
            return
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


def main() -> int:
    """Run the planned node."""
    seams: dict[str, Any] = {
        "times": SteppedTimes(PLAN["clock"]),
        "stop_point": StopPoint(PLAN.get("stop"), PLAN.get("stop_after", 0)),
    }
    if PLAN.get("limits"):
        seams["limits"] = Limits(**PLAN["limits"])
    return run(Options(**PLAN["options"]), Seams(**seams))


if __name__ == "__main__":
    sys.exit(main())
