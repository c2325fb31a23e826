"""`doctor --rebuild` on stores of a fleet: machines, cuts, forks, and one that joined."""

from functools import partial
from pathlib import Path

import pytest

from node.store import receive
from node.store.rebuild import compare
from node.store.transaction import Transaction
from sync.log.entry import sha256
from sync.log.kinds import EntryType
from tests.node.desk.fleets import fleet_of
from tests.node.store.fleet_lives import live, lived_fleet
from tests.node.store.stores import looked, mark, writing
from tests.node.store.test_introduced import join, statements
from tests.sync.log.entries import entry, key


@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("forked", [False, True])
async def test_each_machine_of_a_fleet_is_sound(
    tmp_path: Path, removed: bool, forked: bool
) -> None:
    async with lived_fleet(tmp_path, removed=removed, forked=forked) as fleet:
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
