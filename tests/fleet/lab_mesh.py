"""A host's part in a test of links: a mesh over a store in memory, told as JSON lines.

Run as `python tests/fleet/lab_mesh.py NUMBER SECONDS [OTHER ...]`: the numbers make the
keys of this node and of the members it knows, the seconds are the time between two
announcements. Others are found by mDNS alone. Ends at SIGTERM, with a goodbye.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import msgspec

from sync.net.clocks import system
from sync.net.mesh import Callbacks, Mesh, Settings
from sync.wire.actions import Action, Close, Opened, Send
from tests.sync.log.entries import key
from tests.sync.net.ledgers import MemoryLedger
from tests.sync.net.machines import member
from tests.sync.net.scripted import Script

LOOK_S = 0.1
DEAD_MS = 2_000
PORT = 7717


class Beating(Script):
    """Says something at every tick, and takes silence for death, as a session does."""

    last = 0

    def begin(self, now: int) -> list[Action]:
        """Greet."""
        self.last = now
        return super().begin(now)

    def received(self, frame: bytes, now: int) -> list[Action]:
        """It lives."""
        self.last = now
        if frame == b"goodbye":
            return [Close(code=4000, reason="It stopped.")]
        return [Opened()] if frame == b"hello" else []

    def tick(self, now: int) -> list[Action]:
        """Say that we live; see whether it does."""
        if now - self.last > DEAD_MS:
            return [Close(code=4001, reason="It has fallen silent.")]
        return [Send(frame=b"beat")]


def say(**facts: object) -> None:
    """Print one line, at once."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def mesh_of(number: int, every: float, others: list[int]) -> Mesh:
    """A mesh that knows these members, but not where they are."""
    ledger = MemoryLedger(key(number))
    ledger.known = {member(other).node: member(other) for other in others}
    settings = Settings(
        version="0.1.0",
        machine=f"m{number}",
        boot="boot",
        port=PORT,
        announce_s=(every, every * 1.2),
        backoff_s=(0.2, 2.0),
        tick_s=0.25,
        network_poll_s=0.5,
    )
    silent = Callbacks(heard=lambda *_: None, carried=lambda *_: None, changed=lambda _: None)
    made = Mesh(ledger, key(number), settings, silent, random=os.urandom, clocks=system)
    made._links._sessions = lambda _: Beating()
    return made


def told(mesh: Mesh, number: int) -> dict[str, object] | None:
    """How the link to a member stands, and whether the network has said where it is."""
    node = member(number).node
    status = mesh.status(node)
    if status is None:
        return None
    return {
        "state": status.state.value,
        "trouble": status.trouble,
        "at": status.address,
        "sighted": bool(mesh._keepers[node]._sighted),
    }


async def main(number: int, every: float, others: list[int]) -> None:
    """Run until told to stop; print the links whenever they change."""
    stop = asyncio.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(one, stop.set)
    mesh = mesh_of(number, every, others)
    await mesh.start()
    before: object = None
    while not stop.is_set():
        found = {other: told(mesh, other) for other in others}
        now = {other: status for other, status in found.items() if status is not None}
        if now != before:
            say(links=now)
        before = now
        await asyncio.sleep(LOOK_S)
    await mesh.stop()
    say(stopped=msgspec.to_builtins(mesh.linked()))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]), [int(one) for one in sys.argv[3:]]))
