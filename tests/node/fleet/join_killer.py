"""Joins a fleet, or begins one anew, and dies right before or after the commit.

python -I tests/node/fleet/join_killer.py HOME WELCOME POINT

WELCOME is JSON: `fleet`, `key`, `entries` in hex, and `viewer` for who begins anew.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent.parent))

from node.fleet import joining
from node.store.introduced import Introduced
from node.store.transaction import Transaction
from sync.log.entry import decode
from tests.node.desk.machines import viewer
from tests.node.fleet.dying import dies_at, dying


def enter(transaction: Transaction, welcome: dict[str, Any]) -> object:
    """Do what the paired machine does."""
    if "viewer" in welcome:
        return joining.found_anew(transaction, viewer(welcome["viewer"]))
    sponsor = Introduced(public_key=bytes.fromhex(welcome["key"]), certificate=b"x", name="desk")
    return joining.enter(
        transaction,
        fleet=bytes.fromhex(welcome["fleet"]),
        entries=[decode(*map(bytes.fromhex, entry)) for entry in welcome["entries"]],
        sponsor=sponsor,
    )


async def run(home: Path, welcome: dict[str, Any], point: str) -> None:
    """Run the one job, up to the point at which it dies."""
    writer = dying(home, dies_at(point))
    await writer.run("move", lambda transaction: enter(transaction, welcome))
    await writer.close()


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]))
