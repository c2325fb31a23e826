"""Two machines of one fleet live through what shows in their stores."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from node.store import receive
from sync.log.entry import Entry, decode, seal
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine
from tests.node.store.stores import looked, mark


@asynccontextmanager
async def lived_fleet(folder: Path, *, removed: bool, forked: bool) -> AsyncIterator[Fleet]:
    """A desk and a laptop that have lived; the laptop's history forked, or it was removed."""
    async with fleet_of(folder, "desk", "laptop") as fleet:
        await live(fleet)
        if forked:
            await fork(fleet["laptop"], fleet["desk"])
        if removed:
            # It says more, which nobody heard when it was removed.
            await fleet["laptop"].ask("question")
            await fleet.remove("laptop")
            await fleet.carry("desk", "laptop")
        yield fleet


async def live(fleet: Fleet) -> None:
    """Both raise and answer asks of each other, and all hear of it."""
    desk, laptop = fleet["desk"], fleet["laptop"]
    for home, other in ((desk, laptop), (laptop, desk)):
        ask = await home.ask("approval")
        await home.ask("question")
        await fleet.meet_all()
        await other.vote(fleet.ann, ask, "allow")
        await other.writer.run("mark", partial(mark, ask=ask, person=fleet.ann))
        await fleet.meet_all()
        await home.fetch(ask)
    await fleet.meet_all()


async def fork(of: Machine, at: Machine) -> None:
    """Another entry in place of the last one of a machine's chatter reaches this one."""

    def last(connection: sqlite3.Connection) -> Entry:
        row = connection.execute(
            "SELECT header, signature, facts, text FROM entry WHERE author = ? AND log = 1"
            " ORDER BY seq DESC LIMIT 1",
            (of.identity.key.node_id,),
        ).fetchone()
        return decode(*row)

    held = await of.reader.run(last)
    header = held.header
    another = seal(
        of.identity.key,
        fleet=header.fleet,
        seq=header.seq,
        prev=header.prev,
        hlc=header.hlc + 1,
        entry_type=header.type,
        facts=held.facts,
        text=bytes(16) + b"{}",
    )
    received = await at.writer.run("receive", lambda job: receive.keep(job, [another]))
    assert received.kept.trouble is not None
    assert looked(at.home, "SELECT count(*) FROM fork") == [(1,)]
