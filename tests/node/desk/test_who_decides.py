"""Several people and machines at once, when somebody lies, is cut off, or has a wrong clock."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from node.desk import persons
from node.desk.rules_store import RulesStore
from sync.limits import DAY_MS, HOUR_MS
from sync.log.facts import SpeaksForFacts, VoteFacts
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.gates import Gate
from tests.node.desk.machines import Machine, viewer

ONE = '[[rule]]\nname = "make"\ntool = "Bash"\naction = "ask"\n'
TWO = ONE + "approvals = 2\n"
HOUR = ONE + 'deadline = "1h"\n'


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Ann's box, on which agents ask, and Bob's machine."""
    async with fleet_of(tmp_path, "box", "bobs", own="box") as made:
        await made.person("bob", "admin", "bobs")
        yield made


async def ruling(machine: Machine, vote: bytes) -> str | None:
    (found,) = await machine.reader.run(
        lambda reading: reading.execute(
            "SELECT ruling FROM vote WHERE hash = ?", (vote,)
        ).fetchone()
    )
    return None if found is None else str(found)


async def test_two_apply_rules_in_a_partition_and_both_hold_until_one_settles_it(
    fleet: Fleet, tmp_path: Path
) -> None:
    box, bobs = fleet["box"], fleet["bobs"]
    await Gate(fleet, box, tmp_path).apply(ONE)
    store = RulesStore(bobs.context)
    await store.apply(viewer("bob"), name="b", source=TWO, replaces=None)
    await fleet.meet_all()
    for machine in (box, bobs):
        row = await Gate(fleet, machine, tmp_path).raised(Gate(fleet, machine, tmp_path).call())
        assert row.needed == 2
        view = await RulesStore(machine.context).view()
        assert view is not None
        assert view.count == 2
        told = await machine.reader.run(
            lambda reading: persons.conflicts(reading, persons.everyone(reading).get(fleet.ann))
        )
        assert "2 rules files were applied at the same time" in told[0]
    await Gate(fleet, box, tmp_path).apply(ONE)
    await fleet.meet_all()
    for machine in (box, bobs):
        view = await RulesStore(machine.context).view()
        assert view is not None
        assert (view.count, view.source) == (1, ONE)


@pytest.mark.parametrize("by", ["ann", "bob"])
async def test_who_says_of_itself_that_it_speaks_for_another_decides_nothing(
    fleet: Fleet, tmp_path: Path, by: str
) -> None:
    gate = Gate(fleet, fleet["box"], tmp_path)
    ask = (await gate.raised(gate.call())).id
    await fleet.meet_all()
    bobs, seen = fleet["bobs"], (await fleet["box"].row(ask)).entry_hash
    node, author = bobs.identity.key.node_id, fleet.ann if by == "ann" else "bob"
    claim = SpeaksForFacts(node=node, person=fleet.ann, on=True, by=author, at=2)
    vote = VoteFacts(ask=ask, person=fleet.ann, decision="allow", seen=seen, at=2)
    await bobs.writer.run("claim", lambda job: job.append(EntryType.SPEAKS_FOR, claim).hash)
    made = await bobs.writer.run("vote", lambda job: job.append(EntryType.VOTE, vote).hash)
    await fleet.meet_all()
    for machine in (fleet["box"], bobs):
        assert await ruling(machine, made) == "not_allowed"
        assert await machine.stands(ask) == ("waiting", None)
        speaks = partial(persons.speaks_for, node=bobs.id, person=fleet.ann)
        assert not await machine.reader.run(speaks)


async def test_a_vote_on_a_call_says_nothing_of_the_same_call_asked_again(
    fleet: Fleet, tmp_path: Path
) -> None:
    box, bobs = fleet["box"], fleet["bobs"]
    first = await box.ask("approval", session="one")
    await fleet.meet_all()
    await bobs.vote("bob", first, "allow")
    await box.agents.withdraw(box.asker("one"), first, reason="no need", request="w")
    again = await box.ask("approval", session="two")
    await fleet.meet_all()
    assert await box.stands(first) == ("closed", "withdrawn")
    assert await box.stands(again) == ("waiting", None)
    # Nor does it where a changed program signs it anew, for what it has not shown.
    seen = (await box.row(first)).entry_hash
    vote = VoteFacts(ask=again, person="bob", decision="allow", seen=seen, at=2)
    made = await bobs.writer.run("vote", lambda job: job.append(EntryType.VOTE, vote).hash)
    await fleet.meet_all()
    assert await ruling(box, made) == "stale"
    assert await box.stands(again) == ("waiting", None)


@pytest.mark.parametrize(
    ("jump", "stands", "ruled"),
    [
        (2 * HOUR_MS, ("closed", "expired"), "late"),
        (-DAY_MS, ("closed", "allowed"), "accepted"),
    ],
)
async def test_a_home_whose_clock_jumps_over_a_deadline_is_believed_forwards_only(
    fleet: Fleet, tmp_path: Path, jump: int, stands: tuple[str, str], ruled: str
) -> None:
    """Set wrong and booted anew: it can be too late early, and never early again."""
    box = fleet["box"]
    gate = Gate(fleet, box, tmp_path)
    await gate.apply(HOUR)
    ask = (await gate.raised(gate.call())).id
    await fleet.meet_all()
    deadline = (await box.row(ask)).deadline
    receipt = await fleet["bobs"].vote("bob", ask, "allow")
    box.times.wall += jump
    box.times.boot_name = "boot-2"
    await box.restart()
    await fleet.meet_all()
    assert await ruling(box, bytes.fromhex(receipt.vote)) == ruled
    assert await box.stands(ask) == stands
    assert (await box.row(ask)).deadline == deadline


async def test_a_home_whose_clock_was_put_back_does_not_prolong_a_deadline(
    fleet: Fleet, tmp_path: Path
) -> None:
    box = fleet["box"]
    gate = Gate(fleet, box, tmp_path)
    await gate.apply(HOUR)
    ask = (await gate.raised(gate.call())).id
    await fleet.meet_all()
    box.times.wall -= DAY_MS
    box.times.boot_name = "boot-2"
    await box.restart()
    await fleet["bobs"].vote("bob", ask, "allow")
    box.times.advance(HOUR_MS)
    await fleet.meet_all()
    assert await box.stands(ask) == ("closed", "expired")
