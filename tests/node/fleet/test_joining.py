"""Joining another fleet: real stores, entries carried by hand."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from node.desk.gate import GateDesk
from node.desk.protocols import GateHold, GateVerdict
from node.desk.raising import NewAsk, record
from node.desk.rows import find
from node.desk.rules_store import RulesStore
from node.desk.sign_in import ENTROPY
from node.fleet import joining
from node.gate.call import Call, make_call
from node.store.transaction import Transaction
from sync.decide.ask import Kind
from sync.errors import Conflict, NotAllowed, NotFound, PairingFailed
from sync.log.entry import decode
from sync.log.facts import GenesisFacts
from sync.log.kinds import EntryType
from tests.node.desk.machines import TOKEN, Machine, viewer
from tests.node.fleet.joinings import Two, dump, read, two_of, waits_on


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Two]:
    async with two_of(tmp_path) as made:
        yield made


async def test_open_asks_go_on_under_the_next_numbers(two: Two) -> None:
    first = await two.laptop.ask("question")
    note = await two.laptop.ask("note")
    second = await two.laptop.ask("approval")
    before = await two.laptop.row(second)
    assert (await two.join()).raised == 2
    short = f"{two.laptop.id[:4]}-1"
    for typed, number in ((first, 4), (short, 4), ("1", 4), (second, 5), ("4", 4)):
        found = await two.laptop.reader.run(partial(find, typed=typed))
        assert (found.number, found.state) == (number, "waiting"), typed
    old, new = await two.laptop.row(second), await two.laptop.row(f"{two.laptop.id}-5")
    assert (old.state, old.outcome, old.reason) == (
        "closed",
        "withdrawn",
        f"raised again as {two.laptop.id[:4]}-5",
    )
    assert (new.blob, new.call_mac) == (before.blob, before.call_mac)
    assert (new.created, new.deadline) == (before.created, before.deadline)
    assert (await two.laptop.row(note)).state == "posted"
    assert (await two.laptop.ask("note")).endswith("-6")
    await two.meet()
    assert (await two.desk.row(new.id)).state == "waiting"
    with pytest.raises(NotFound):
        await two.desk.reader.run(partial(find, typed=old.id))


async def test_whose_agent_asks_is_whoever_let_the_machine_in(two: Two) -> None:
    """The person of the fleet that is left is nobody in the other one, and guards nothing."""
    await two.sign_in()
    laptop = two.laptop
    ask = NewAsk(kind=Kind.APPROVAL, title="Deploy?", self_approval=False)
    limits = laptop.context.limits
    raised = await laptop.writer.run("ask", lambda job: record(job, laptop.asker(), ask, limits))
    assert raised.quorum.not_by == [two.ben]
    await two.join()
    found = await laptop.reader.run(partial(find, typed=raised.id))
    assert found.quorum.not_by == [two.fleet.ann]
    await two.meet()
    card = (await two.desk.view(found.id, two.fleet.ann)).card
    assert (card.state, card.actions) == ("restricted", ["deny"])


async def test_its_logs_begin_anew_and_the_old_ones_stay(two: Two) -> None:
    await two.laptop.ask("question")
    old = await read(two.laptop, "SELECT hash, raw FROM (SELECT hash, header raw FROM entry)")
    await two.join()
    fleet = two.desk.identity.fleet
    assert two.laptop.identity.fleet == fleet
    own = two.laptop.identity.key.node_id
    assert await read(
        two.laptop, "SELECT seq, type FROM entry WHERE fleet = ? AND author = ?", fleet, own
    ) == [(1, EntryType.ASK.value)]
    kept = await read(two.laptop, "SELECT hash, header FROM entry WHERE fleet != ?", fleet)
    assert sorted(kept) == sorted(old)
    assert (await two.laptop.heads())[own, 0] == 1


async def test_who_waits_goes_on_and_is_answered_by_the_other_fleet(two: Two) -> None:
    ask = await two.laptop.ask("question")
    waiting = asyncio.create_task(two.laptop.fetch(ask, wait_s=30))
    await waits_on(two.laptop, ask)
    await two.join()
    await two.meet()
    again = f"{two.laptop.id}-2"
    await two.desk.vote(two.fleet.ann, again, "answer", text="blue")
    assert not waiting.done()
    await two.fleet.meet_all()
    told = await waiting
    assert (told.full_id, told.text, told.state) == (again, "blue", "answered")


def held(machine: Machine, call: Call, invocation: str) -> GateHold:
    return GateHold(
        who=machine.asker(),
        call=call,
        match=None,
        stage="permission",
        invocation=invocation,
        tool_use_id=None,
        hold_s=30,
    )


async def test_a_hook_that_waits_goes_on_and_is_still_known_to_wait(two: Two) -> None:
    laptop = two.laptop
    gate = GateDesk(laptop.context, RulesStore(laptop.context))
    call = make_call("Bash", {"command": "make deploy"}, str(laptop.home))
    hook: asyncio.Task[GateVerdict] = asyncio.create_task(gate.hold(held(laptop, call, "one")))
    await waits_on(laptop, f"{laptop.id}-1")
    await two.join()
    await waits_on(laptop, f"{laptop.id}-2")
    # The agent goes on with something else; a hook still holds this call.
    await gate.session_event(laptop.asker(), "Stop")
    assert await laptop.stands(f"{laptop.id}-2") == ("waiting", None)
    # The same call once more is another one: the first hook holds the ask.
    other = asyncio.create_task(gate.hold(held(laptop, call, "two")))
    await waits_on(laptop, f"{laptop.id}-3")
    await two.meet()
    await two.desk.vote(two.fleet.ann, f"{laptop.id}-2", "allow")
    await two.fleet.meet_all()
    verdict = await hook
    assert (verdict.allow, verdict.ask) == (True, f"{laptop.id[:4]}-2")
    other.cancel()


async def test_an_unused_permission_is_not_carried(two: Two) -> None:
    await two.sign_in()
    ask = await two.laptop.ask("approval")
    await two.laptop.vote(two.ben, ask, "allow", wait_s=5)
    assert await two.laptop.stands(ask) == ("closed", "allowed")
    await two.join()
    row = await two.laptop.row(ask)
    assert (row.state, row.handover_why) == ("void", "its machine changed fleets")
    assert (await read(two.laptop, "SELECT * FROM ask_alias")) == []


async def test_its_person_ends_and_only_an_owner_names_the_next(two: Two) -> None:
    secret = await two.sign_in()
    assert await read(two.laptop, "SELECT person FROM person_session") == [(two.ben,)]
    await two.join()
    assert await two.laptop.sign_ins.viewer(secret) is None
    assert await two.laptop.sign_ins.has_person()
    for table in ("person_session", "passphrase", "speaks_for"):
        assert await read(two.laptop, f"SELECT * FROM {table}") == []  # noqa: S608 -- names from here
    assert await read(two.laptop, "SELECT name, ended FROM person") == [("Ben", 1)]
    assert await read(two.laptop, "SELECT 1 FROM local WHERE name = ?", ENTROPY) == []
    await two.meet()
    wish = await two.laptop.sign_ins.request(where="laptop")
    with pytest.raises(NotAllowed):
        await two.laptop.sign_ins.approve(viewer(two.fleet.ann), wish.id, wish.digits or "")
    await two.fleet.give("laptop", two.fleet.ann)
    await two.fleet.meet_all()
    await two.laptop.sign_ins.approve(viewer(two.fleet.ann), wish.id, wish.digits or "")
    made = await two.laptop.sign_ins.collect(wish.id, wish.digits or "")
    assert made is not None
    assert made.viewer.person == two.fleet.ann
    assert made.recovery_words is None


async def test_the_first_link_is_void_after_joining(two: Two) -> None:
    await two.join()
    assert await two.laptop.sign_ins.has_person()
    for _ in range(2):
        with pytest.raises(NotAllowed, match="joined"):
            await two.laptop.sign_ins.first(TOKEN, name="Eve", passphrase=None, where="x")
        await two.laptop.restart()
    assert await read(two.laptop, "SELECT 1 FROM person") == []


async def test_a_fleet_with_others_does_not_join(two: Two) -> None:
    await two.join()
    await two.meet()
    for machine, other in ((two.desk, "laptop"), (two.laptop, "desk")):
        shown = await machine.reader.run(partial(joining.join_consequences, here=machine.id))
        assert not shown.allowed
        assert other in shown.sentences[0]
        assert "askmesh node leave" in shown.sentences[1]
    before = await dump(two.laptop)
    with pytest.raises(Conflict, match="desk"):
        await two.join()
    assert await dump(two.laptop) == before


async def test_what_it_will_do_is_said(two: Two) -> None:
    await two.sign_in()
    await two.laptop.ask("question")
    shown = await two.laptop.reader.run(partial(joining.join_consequences, here=two.laptop.id))
    text = " ".join(shown.sentences)
    assert shown.allowed
    for words in ("1 open ask", "whose rules", "Ben of this machine ends", "stays readable"):
        assert words in text


@pytest.mark.parametrize("spoiled", ["none", "signature", "another fleet", "not the genesis"])
async def test_a_fleet_that_does_not_hold_together_leaves_no_trace(two: Two, spoiled: str) -> None:
    await two.sign_in()
    await two.laptop.ask("question")
    (genesis,) = await two.founding()
    entries = {
        "none": [],
        "signature": [decode(genesis.raw, bytes(64), genesis.facts, genesis.text)],
        "another fleet": [
            decode(*row)
            for row in await read(
                two.laptop,
                "SELECT header, signature, facts, text FROM entry WHERE type = ?",
                EntryType.GENESIS.value,
            )
        ],
        "not the genesis": [
            decode(*row)
            for row in await read(
                two.desk,
                "SELECT header, signature, facts, text FROM entry WHERE type = ?",
                EntryType.PERSON.value,
            )
        ],
    }[spoiled]
    before = await dump(two.laptop)
    fleet = two.laptop.identity.fleet
    with pytest.raises(PairingFailed, match="nothing was changed"):
        await two.join(entries)
    assert await dump(two.laptop) == before
    assert two.laptop.identity.fleet == fleet


async def test_no_second_genesis_is_believed(two: Two) -> None:
    other = Machine(two.laptop.home.parent / "other", {})
    rows = await read(other, "SELECT facts FROM entry WHERE type = ?", EntryType.GENESIS.value)
    await two.join()
    await two.meet()

    def forge(transaction: Transaction) -> None:
        transaction.enter(two.desk.identity.fleet)
        transaction.run("DELETE FROM head")
        transaction.append(EntryType.GENESIS, msgspec.json.decode(rows[0][0], type=GenesisFacts))

    await other.writer.run("forge", forge)
    two.fleet.machines["other"] = other
    with pytest.raises(AssertionError, match="no member"):
        await two.fleet.carry("other", "laptop")
    assert await read(two.laptop, "SELECT 1 FROM node WHERE id = ?", other.id) == []
    await other.close()


async def test_erased_words_are_not_raised_again(two: Two) -> None:
    ask = await two.laptop.ask("question")
    await two.laptop.writer.run(
        "erase",
        lambda job: job.run("UPDATE entry SET text = NULL WHERE type = ?", EntryType.ASK.value),
    )
    assert (await two.join()).raised == 0
    assert await two.laptop.stands(ask) == ("closed", "withdrawn")
