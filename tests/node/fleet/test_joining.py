"""Joining another fleet and leaving one: real stores, entries carried by hand."""

import asyncio
import json
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.desk.gate import GateDesk
from node.desk.protocols import GateHold, GateVerdict
from node.desk.rows import find
from node.desk.rules_store import RulesStore
from node.desk.sign_in import ENTROPY
from node.fleet import joining, machines, removal
from node.fleet.joining import Entered
from node.gate.call import Call, make_call
from node.identity import recovery_from_words
from node.store.introduced import Introduced
from node.store.rebuild import compare
from node.store.transaction import Transaction
from sync.errors import Conflict, NotAllowed, NotFound, PairingFailed
from sync.log.entry import Entry, decode
from sync.log.kinds import EntryType
from sync.net.certificate import certificate_of
from tests.node.desk.fleets import Fleet, _member, fleet_of
from tests.node.desk.machines import TOKEN, Machine, viewer
from tests.running import ROOT

KILLER = ROOT / "tests" / "node" / "fleet" / "join_killer.py"


class Two:
    """Ann's fleet, and a machine of its own that is to join it."""

    def __init__(self, fleet: Fleet, laptop: Machine) -> None:
        self.fleet = fleet
        self.laptop = laptop
        self.ben = ""
        """The person of the laptop, once someone signed in there."""

    @property
    def desk(self) -> Machine:
        return self.fleet["desk"]

    async def sign_in(self) -> str:
        """Ben signs in on the laptop; returns the secret of his page."""
        made = await self.laptop.sign_ins.first(
            TOKEN, name="Ben", passphrase="correct horse staple", where="test"
        )
        self.ben = made.viewer.person
        return made.secret

    async def join(self, entries: list[Entry] | None = None) -> Entered:
        """The laptop joins; nothing but the genesis was carried yet."""
        given = await self.founding() if entries is None else entries
        return await self.laptop.writer.run("join", partial(self.enter, entries=given))

    def enter(self, transaction: Transaction, entries: list[Entry]) -> Entered:
        key = self.desk.identity.key
        return joining.enter(
            transaction,
            fleet=self.desk.identity.fleet,
            entries=entries,
            sponsor=Introduced(public_key=key.public, certificate=certificate_of(key), name="desk"),
        )

    async def founding(self) -> list[Entry]:
        rows = await read(
            self.desk,
            "SELECT header, signature, facts, text FROM entry WHERE type = ? ORDER BY n LIMIT 1",
            EntryType.GENESIS.value,
        )
        return [decode(*row) for row in rows]

    async def meet(self) -> None:
        """The desk lets the laptop in, and both hear of everything."""
        self.fleet.machines["laptop"] = self.laptop
        await self.fleet.state(_member(self.laptop, self.fleet.ann))
        await self.fleet.meet_all()

    async def leave(self, who: str) -> list[str]:
        """The laptop leaves, its viewer becoming the owner of it alone."""
        await self.laptop.writer.run("leave", partial(machines.leave, viewer=viewer(who)))
        return await self.laptop.writer.run(
            "found", partial(joining.found_anew, viewer=viewer(who))
        )


@asynccontextmanager
async def two_of(folder: Path) -> AsyncIterator[Two]:
    async with AsyncExitStack() as stack:
        fleet = await stack.enter_async_context(fleet_of(folder, "desk"))
        laptop = Machine(folder / "laptop", {})
        stack.push_async_callback(laptop.close)
        yield Two(fleet, laptop)


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Two]:
    async with two_of(tmp_path) as made:
        yield made


async def read(machine: Machine, sql: str, *values: object) -> list[Any]:
    return await machine.reader.run(lambda connection: connection.execute(sql, values).fetchall())


async def dump(machine: Machine) -> list[Any]:
    """Everything a store holds, but for what the clock alone moves."""

    def every(connection: sqlite3.Connection) -> list[Any]:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not name.startswith("sqlite_")
        ]
        skip = " WHERE name != 'clock'"
        return [
            sorted(connection.execute(f"SELECT * FROM {name}{skip if name == 'local' else ''}"),  # noqa: S608
                   key=repr)
            for name in names
        ]  # fmt: skip

    return await machine.reader.run(every)


async def waits_on(machine: Machine, ask: str) -> None:
    """Return once someone waits for a change of this ask."""
    async with asyncio.timeout(20):
        while ask not in machine.context.signals._waiting:  # noqa: ASYNC110 -- it tells nobody
            await asyncio.sleep(0.001)


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
        transaction.append(
            EntryType.GENESIS, msgspec.json.decode(rows[0][0], type=joining.GenesisFacts)
        )

    await other.writer.run("forge", forge)
    two.fleet.machines["other"] = other
    with pytest.raises(AssertionError, match="no member"):
        await two.fleet.carry("other", "laptop")
    assert await read(two.laptop, "SELECT 1 FROM node WHERE id = ?", other.id) == []
    await other.close()


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
    assert await read(two.laptop, "SELECT 1 FROM local WHERE name = ?", ENTROPY) == []
    assert await two.laptop.stands(far) == ("closed", "withdrawn")
    assert await two.laptop.needs(two.fleet.ann) == 1
    told = await read(two.laptop, "SELECT 1 FROM event WHERE ref = ? ORDER BY n", far)
    assert len(told) > 1
    found = await two.laptop.reader.run(partial(find, typed=ask))
    await two.laptop.vote(two.fleet.ann, found.id, "answer", text="red", wait_s=5)
    assert (await waiting).text == "red"


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
    assert "ASKMESH_HOME" in (caught.value.hint or "")
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


async def test_erased_words_are_not_raised_again(two: Two) -> None:
    ask = await two.laptop.ask("question")
    await two.laptop.writer.run(
        "erase",
        lambda job: job.run("UPDATE entry SET text = NULL WHERE type = ?", EntryType.ASK.value),
    )
    assert (await two.join()).raised == 0
    assert await two.laptop.stands(ask) == ("closed", "withdrawn")
