"""A host's part in a test of mDNS: announces itself, prints what it sees as JSON lines.

Run as `python tests/fleet/lab_peer.py NUMBER SECONDS`: the number makes the node id, the
seconds are the time between two announcements. Ends at SIGTERM, with a goodbye.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sync.net import interfaces
from sync.net.discovery import Announced, Discovery
from sync.net.ledger import Address

POLL_S = 0.2


def say(**facts: object) -> None:
    """Print one line, at once."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def seen(node: bytes, addresses: Sequence[Address]) -> None:
    """Another host was seen."""
    say(seen=node[0], hosts=[one.host for one in addresses], port=addresses[0].port)


async def main(number: int, every: float) -> None:
    """Announce and look until told to stop."""
    stop = asyncio.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(one, stop.set)
    mdns = Discovery(bytes([number]) * 32, seen, random=os.urandom, every=(every, every * 1.2))
    mdns.announce(Announced(port=7000 + number))
    mdns.start()
    before, state = interfaces.read(), ""
    while not stop.is_set():
        if mdns.state != state:
            state = mdns.state
            say(state=state)
        now = interfaces.read()
        if now != before:
            mdns.network_changed()
        before = now
        await asyncio.sleep(POLL_S)
    await mdns.stop()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
