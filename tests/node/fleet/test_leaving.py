"""Leaving a fleet, and being killed while it changes."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from node.desk.rows import find
from node.desk.sign_in import ENTROPY
from node.fleet import joining, machines, removal
from node.identity import recovery_from_words
from node.store.rebuild import compare
from sync.errors import Conflict
from tests.node.desk.gates import Gate
from tests.node.desk.machines import viewer
from tests.node.fleet.joinings import Two, dump, read, two_of, waits_on
from tests.running import ROOT

KILLER = ROOT / "tests" / "node" / "fleet" / "join_killer.py"


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Two]:
    async with two_of(tmp_path) as made:
        yield made


async def test_the_tables_are_what_the_log_says(two: Two) -> None:
    await two.sign_in()
    await two.laptop.ask("question")
    approval = await two.laptop.ask("approval")
    await two.laptop.vote(two.ben, approval, "allow", wait_s=5)
    await two.join()
    assert compare(two.laptop.home) == []
    await two.meet()
    assert compare(two.laptop.home) == []
    await two.laptop.restart()
    await two.laptop.ask("question")
    await two.fleet.give("laptop", two.fleet.ann)
    await two.fleet.meet_all()
    await two.leave(two.fleet.ann)
    assert compare(two.laptop.home) == []
    await two.laptop.restart()
    assert compare(two.laptop.home) == []


async def test_leaving_makes_a_fleet_of_one_with_new_words(two: Two) -> None:
    await two.join()
    await two.meet()
    await two.fleet.give("laptop", two.fleet.ann)
    await two.fleet.person("cleo", "member")
    far = await two.desk.ask("question")
    await two.fleet.meet_all()
    ask = await two.laptop.ask("question")
    waiting = asyncio.create_task(two.laptop.fetch(ask, wait_s=30))
    await waits_on(two.laptop, ask)
    old = two.laptop.identity.fleet
    words = await two.leave(two.fleet.ann)
    assert two.laptop.identity.fleet != old
    key = recovery_from_words(" ".join(words)).public
    assert await read(two.laptop, "SELECT id, recovery_key FROM node") == [(two.laptop.id, key)]
    persons = await read(two.laptop, "SELECT id, role, ended FROM person ORDER BY ended")
    assert persons == [(two.fleet.ann, "owner", 0), ("cleo", "member", 1)]
    # Until they were surely seen.
    assert await read(two.laptop, "SELECT 1 FROM local WHERE name = ?", ENTROPY) == [(1,)]
    assert await two.laptop.stands(far) == ("closed", "withdrawn")
    assert await two.laptop.needs(two.fleet.ann) == 1
    told = await read(two.laptop, "SELECT 1 FROM event WHERE ref = ? ORDER BY n", far)
    assert len(told) > 1
    found = await two.laptop.reader.run(partial(find, typed=ask))
    await two.laptop.vote(two.fleet.ann, found.id, "answer", text="red", wait_s=5)
    assert (await waiting).text == "red"


async def test_whose_agent_asks_is_told_anew(two: Two, tmp_path: Path) -> None:
    """What somebody else has to allow is asked again of those who are here."""
    fleet, laptop = two.fleet, two.laptop
    await two.join()
    await two.meet()
    await fleet.give("laptop", fleet.ann)
    bob = await fleet.person("bob", "owner", "laptop")
    rule = '[[rule]]\nname = "make"\ntool = "Bash"\naction = "ask"\nself_approval = false\n'
    await Gate(fleet, two.desk, tmp_path).apply(rule)
    await fleet.meet_all()
    gate = Gate(fleet, laptop, tmp_path)
    row = await gate.raised(gate.call())
    assert row.quorum.not_by == sorted([fleet.ann, bob])
    await two.leave(bob)
    again = (await gate.rows())[-1]
    assert again.quorum.not_by == [bob]
    assert (await laptop.view(again.id, bob)).card.actions == ["deny"]


async def test_aliases_lead_over_two_moves(two: Two) -> None:
    ask = await two.laptop.ask("question")
    await two.join()
    await two.meet()
    await two.fleet.give("laptop", two.fleet.ann)
    await two.fleet.meet_all()
    await two.leave(two.fleet.ann)
    found = await two.laptop.reader.run(partial(find, typed=ask))
    assert (found.number, found.state) == (3, "waiting")


async def test_a_fleet_once_left_is_not_joined_again(two: Two) -> None:
    await two.join()
    await two.meet()
    await two.fleet.give("laptop", two.fleet.ann)
    await two.fleet.meet_all()
    await two.leave(two.fleet.ann)
    before = await dump(two.laptop)
    with pytest.raises(Conflict, match="in that fleet before") as caught:
        await two.join()
    assert "node rejoin" in (caught.value.hint or "")
    assert await dump(two.laptop) == before


async def test_a_removed_machine_may_begin_anew(two: Two) -> None:
    await two.join()
    await two.meet()
    await two.fleet.give("laptop", two.fleet.ann)
    await two.fleet.meet_all()
    await two.fleet.remove("laptop")
    node = two.laptop.identity.key.node_id
    proof = await two.desk.reader.run(
        partial(removal.proof, fleet=two.desk.identity.fleet, node=node)
    )
    assert await two.laptop.writer.run("removed", partial(removal.accept, entries=proof))
    # It may go elsewhere, never back.
    with pytest.raises(Conflict, match="in that fleet before"):
        await two.join()
    shown = await two.laptop.reader.run(partial(joining.leave_consequences, here=two.laptop.id))
    assert shown.allowed
    await two.leave(two.fleet.ann)
    assert await two.laptop.reader.run(removal.removed_here) is None
    assert await two.laptop.reader.run(partial(machines.others, here=two.laptop.id)) == []
    await two.laptop.restart()
    assert compare(two.laptop.home) == []


@pytest.mark.parametrize("way", ["join", "anew"])
@pytest.mark.parametrize("point", ["move:before-commit", "move:after-commit"])
async def test_a_kill_leaves_it_whole_or_as_it_was(two: Two, way: str, point: str) -> None:
    await two.sign_in()
    await two.laptop.ask("question")
    before, old = await dump(two.laptop), two.laptop.identity.fleet
    (genesis,) = await two.founding()
    parts = (genesis.raw, genesis.signature, genesis.facts, genesis.text or b"")
    welcome: dict[str, object] = {
        "fleet": genesis.header.fleet.hex(),
        "key": two.desk.identity.key.public.hex(),
        "entries": [[part.hex() for part in parts]],
    }
    if way == "anew":
        welcome["viewer"] = two.ben
    await two.laptop.close()
    killed = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", str(KILLER), str(two.laptop.home), json.dumps(welcome), point)
    )
    assert await killed.wait() == -signal.SIGKILL
    await two.laptop.restart()
    assert compare(two.laptop.home) == []
    moved = point.endswith("after-commit")
    assert (two.laptop.identity.fleet != old) == moved
    found = await two.laptop.reader.run(partial(find, typed="1"))
    assert (found.number, found.state) == (2 if moved else 1, "waiting")
    if not moved:
        assert await dump(two.laptop) == before


async def test_a_machine_that_is_alone_has_nothing_to_leave(two: Two) -> None:
    shown = await two.laptop.reader.run(partial(joining.leave_consequences, here=two.laptop.id))
    assert not shown.allowed


async def test_the_words_of_a_new_fleet_outlive_the_reply_with_them(two: Two) -> None:
    early = await two.sign_in()
    assert await two.laptop.sign_ins.viewer(early) is not None
    words = await two.leave(two.ben)
    await two.laptop.restart()
    # The page was open all the time: that it asks for something says nothing of the words.
    assert await two.laptop.sign_ins.viewer(early) is not None
    two.laptop.times.advance(1)
    again = await two.laptop.sign_ins.by_passphrase(
        "correct horse staple", kind="page", where="test"
    )
    assert again.recovery_words == words
    assert await two.laptop.sign_ins.viewer(again.secret) is not None
    assert await read(two.laptop, "SELECT 1 FROM local WHERE name = ?", ENTROPY) == []


async def test_the_place_that_was_sent_the_words_need_not_see_them_again(two: Two) -> None:
    secret = await two.sign_in()
    await two.leave(two.ben)
    there = await two.laptop.sign_ins.viewer(secret)
    assert there is not None
    two.laptop.sign_ins.words_told(there)
    assert await two.laptop.sign_ins.viewer(secret) is not None
    assert await read(two.laptop, "SELECT 1 FROM local WHERE name = ?", ENTROPY) == []


async def test_the_last_owner_does_not_leave_the_others_without_one(two: Two) -> None:
    await two.join()
    await two.meet()
    leaves = partial(machines.leave, viewer=viewer(two.fleet.ann))
    shown = await two.desk.reader.run(partial(joining.leave_consequences, here=two.desk.id))
    assert not shown.allowed
    assert shown.sentences[0].startswith("No other machine is an owner's, so laptop would be left")
    with pytest.raises(Conflict, match="an owner's"):
        await two.desk.writer.run("leave", leaves)
    await two.fleet.give("laptop", two.fleet.ann)
    shown = await two.desk.reader.run(partial(joining.leave_consequences, here=two.desk.id))
    assert shown.allowed
    await two.desk.writer.run("leave", leaves)


async def test_a_leaving_that_broke_off_can_be_ended_when_all_others_are_gone(two: Two) -> None:
    await two.join()
    await two.meet()
    await two.fleet.give("laptop", two.fleet.ann)
    await two.fleet.meet_all()
    leaves = partial(machines.leave, viewer=viewer(two.fleet.ann))
    await two.laptop.writer.run("leave", leaves)
    # The desk leaves as well, and is heard of before the laptop goes on.
    gone = [one for one, _ in await two.laptop.reader.run(partial(machines.others, here=""))]
    assert two.desk.id in gone
    await two.laptop.writer.run(
        "test", lambda job: job.run("UPDATE node SET removed = 1 WHERE id = ?", two.desk.id)
    )
    shown = await two.laptop.reader.run(partial(joining.leave_consequences, here=two.laptop.id))
    assert shown.allowed
