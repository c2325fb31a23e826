"""`doctor --rebuild` on stores of a fleet: machines, cuts, forks, and one that joined."""

import sqlite3
from functools import partial
from pathlib import Path

import pytest

from node.store import receive
from node.store.rebuild import compare
from node.store.transaction import Transaction
from sync.log.entry import Entry, decode, seal, sha256
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine
from tests.node.store.stores import looked, mark, writing
from tests.node.store.test_introduced import join, statements
from tests.sync.log.entries import entry, key


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


@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("forked", [False, True])
async def test_each_machine_of_a_fleet_is_sound(
    tmp_path: Path, removed: bool, forked: bool
) -> None:
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        await live(fleet)
        if forked:
            await fork(fleet["laptop"], fleet["desk"])
        if removed:
            # It says more, which nobody heard when it was removed.
            await fleet["laptop"].ask("question")
            await fleet.remove("laptop")
            await fleet.carry("desk", "laptop")
        for machine in fleet.machines.values():
            assert compare(machine.home) == [], machine.home.name
        assert looked(fleet["desk"].home, "SELECT DISTINCT state FROM ask ORDER BY 1") != []
        spoil = "UPDATE ask SET state = 'void' WHERE state = 'handed'"
        await fleet["desk"].writer.run("spoil", lambda job: job.run(spoil))
        assert any(line.startswith("ask: ") for line in compare(fleet["desk"].home))


async def test_a_spoiled_entry_of_another_machine_is_named(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        await live(fleet)
        laptop = fleet["laptop"].identity.key.node_id

        def spoil(transaction: Transaction) -> int:
            (n, signature) = transaction.row(
                "SELECT n, signature FROM entry WHERE author = ? ORDER BY n DESC", laptop
            )
            transaction.run("UPDATE entry SET signature = ? WHERE n = ?", bytes(signature)[::-1], n)
            return int(n)

        n = await fleet["desk"].writer.run("spoil", spoil)
        assert any(line.startswith(f"entry {n}: ") for line in compare(fleet["desk"].home))


async def test_a_machine_that_left_its_fleet_for_another_is_sound(tmp_path: Path) -> None:
    """Its old log stays, and so does what came of those who were named and are nobody."""
    async with writing(tmp_path / "home") as kept:
        await kept.writer.run("mark", partial(mark, ask="n-1"))
        old = kept.opened.identity.fleet

        def leave(transaction: Transaction) -> None:
            transaction.run("INSERT INTO fleet_left VALUES (?, 1)", old)
            join(transaction)
            transaction.run("DELETE FROM head")

        await kept.writer.run("join", leave)
        run = [entry(by=key(32), fleet=b"another fleet..."), *statements(kept.opened)]
        received = await kept.writer.run("receive", lambda job: receive.keep(job, run))
        assert received.kept.trouble is None
        assert compare(kept.home) == []
        types = {kind for (kind,) in looked(kept.home, "SELECT type FROM entry")}
        assert {EntryType.GENESIS.value, EntryType.MEMBER.value, EntryType.MARK.value} <= types
        nobody = sha256(key(32).public)
        assert (nobody,) in looked(kept.home, "SELECT author FROM entry")
