"""Proofs of forks that many come of at once."""

from pathlib import Path

from sync.log.fork import evidence, side
from sync.log.names import node_name
from tests.node.store.stores import let_in, writing
from tests.node.store.test_receive import OTHER, convict, said, take
from tests.sync.log.entries import head_of


async def test_many_proofs_against_one_machine_are_told_once(tmp_path: Path) -> None:
    """It signed them all itself: each earlier than the one before, to have every card told."""
    async with writing(tmp_path / "home") as here:
        await here.writer.run("member", lambda job: let_in(job, OTHER))
        run = said(here, 9)
        await take(here, run)
        proofs = [
            evidence(side(run[at]), side(said(here, 1, after=head_of(run[at - 1]), agent="x")[0]))
            for at in range(8, 0, -1)
        ]
        before = await here.writer.run("read", lambda job: job.row("SELECT max(n) FROM event")[0])
        received = await convict(here, *proofs)
        assert received.kept.frozen[OTHER.node_id, 0].seq == run[1].header.seq
        told = await here.writer.run(
            "read", lambda job: job.rows("SELECT topic, ref FROM event WHERE n > ?", before)
        )
        assert told.count(("fleet", node_name(OTHER.node_id))) == 1
        assert len(told) < 2 * len(run) + len(proofs)
