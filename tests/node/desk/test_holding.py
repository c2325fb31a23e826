"""A directory that was copied or put back: what waits on hold, what does not, and what ends it."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest

from node import birth
from node.desk import holding
from node.fleet.ledger import StoreLedger
from node.store import hold
from node.store.hold import Sign
from sync.errors import Conflict, NotAllowed, OnHold
from sync.log.entry import Entry
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, _beyond, fleet_of
from tests.node.desk.machines import Machine, viewer


def _copy(was: Path, home: Path) -> None:
    shutil.copytree(was, home)
    home.chmod(0o700)


def _replace(path: Path) -> None:
    kept = path.with_name("kept")
    shutil.copy2(path, kept)
    kept.rename(path)


def _overwritten(home: Path) -> None:
    """As if the store's bytes were written over it: the file stays the same one."""
    with sqlite3.connect(home / "store.db") as store:
        (value,) = store.execute("SELECT value FROM local WHERE name = 'birth'").fetchone()
        mark = msgspec.json.decode(value, type=birth.Mark)
        older = msgspec.json.encode(msgspec.structs.replace(mark, start="older"))
        store.execute("UPDATE local SET value = ? WHERE name = 'birth'", (older,))


COPIES: dict[str, Callable[[Path], object]] = {
    "another machine": lambda home: _copy(home.rename(home.with_name("was")), home),
    "the store alone": lambda home: _replace(home / "store.db"),
    "an older store in its place": _overwritten,
}


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", "laptop") as made:
        yield made


async def again(machine: Machine, change: Callable[[Path], object] = lambda _home: None) -> None:
    """Stop; change the directory; start there."""
    await machine.close()
    change(machine.home)
    machine._open(create=False, fleet=None)
    await machine.answers.rule_open()


async def sign(machine: Machine) -> Sign | None:
    found = await machine.reader.run(hold.kept)
    return None if found is None else found.sign


async def go(machine: Machine, person: str) -> None:
    await machine.writer.run("go", lambda job: holding.go(job, viewer(person)))


async def test_a_copy_is_on_hold_also_where_nothing_can_be_noted_beside_it(fleet: Fleet) -> None:
    def unwritable(home: Path) -> None:
        COPIES["another machine"](home)
        (home / f".{birth.STARTS_FILE}.new").mkdir()

    await again(fleet["desk"], unwritable)
    assert await sign(fleet["desk"]) is Sign.COPIED


async def test_starting_again_is_no_sign_however_it_ended(fleet: Fleet) -> None:
    desk = fleet["desk"]
    await again(desk)
    assert await sign(desk) is None
    # Killed after the start was noted beside the store, before the store noted it.
    for _ in range(2):
        value = (await _mark(desk)).start
        await again(desk, partial(birth.note_start, before=value, random=os.urandom))
        assert await sign(desk) is None
    await again(desk, lambda home: (home / birth.STARTS_FILE).unlink())
    assert await sign(desk) is None
    moved = desk.home.with_name("moved")
    await again(desk, lambda home: home.rename(moved).rename(home))
    assert await sign(desk) is None


async def _mark(machine: Machine) -> birth.Mark:
    def read(connection: sqlite3.Connection) -> birth.Mark:
        sql = "SELECT value FROM local WHERE name = 'birth'"
        return msgspec.json.decode(connection.execute(sql).fetchone()[0], type=birth.Mark)

    return await machine.reader.run(read)


@pytest.mark.parametrize("how", COPIES)
async def test_every_way_to_copy_is_a_sign_and_stands_over_a_restart(
    fleet: Fleet, how: str
) -> None:
    desk = fleet["desk"]
    await again(desk, COPIES[how])
    expected = Sign.COPIED if how == "another machine" else Sign.PUT_BACK
    assert await sign(desk) is expected
    await again(desk)
    assert await sign(desk) is expected


def test_another_machine_is_one_whose_id_differs(tmp_path: Path) -> None:
    names = [tmp_path / "one", tmp_path / "two"]
    for name in names:
        name.write_text(f"{name}\n")
    (tmp_path / "store.db").touch()
    one, two = (birth.here(tmp_path, (str(name),)) for name in names)
    none = birth.here(tmp_path, (str(tmp_path / "nothing"),))
    kept = birth.Mark(birth=one, start="s")
    assert one.machine not in (None, "", str(names[0]))
    assert birth.sign(kept, one, None) is None
    assert birth.sign(kept, none, None) is None, "a container may have no id"
    assert birth.sign(kept, two, None) is Sign.COPIED


async def test_where_nobody_can_answer_nothing_is_held(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "alone", {})
    await again(machine, COPIES["another machine"])
    assert await sign(machine) is None
    await machine.close()


async def test_on_hold_asks_are_taken_and_nothing_is_decided(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    before = await desk.ask()
    allowed = await desk.ask("approval", call={"tool": "x", "arguments": {}})
    await desk.vote(fleet.ann, allowed, "allow")
    await again(desk, COPIES["another machine"])
    later = await desk.ask()
    await fleet.meet("desk", "laptop")
    for ask in (before, later):
        shown = (await desk.view(ask, fleet.ann)).card
        assert (shown.state, shown.actions, shown.needs_me) == ("on_hold", [], False)
        assert "copied" in shown.sentence
        with pytest.raises(OnHold, match="askmesh node go"):
            await desk.vote(fleet.ann, ask, "answer", text="no")
    assert await desk.needs(fleet.ann) == 0
    # What is answered elsewhere comes here, and is not ruled on.
    await laptop.vote(fleet.ann, before, "answer", text="8080")
    await fleet.carry("laptop", "desk")
    await desk.sweeper.sweep()
    assert await desk.stands(before) == ("waiting", None)
    # What was decided is not handed over, and the agent is told why.
    assert (await desk.view(allowed, fleet.ann)).card.state == "on_hold"
    with pytest.raises(OnHold):
        await desk.fetch(allowed)
    assert await desk.stands(allowed) == ("closed", "allowed")
    desk.times.advance(1000 * 3600 * 24 * 9)
    await desk.sweeper.sweep()
    assert await desk.stands(allowed) == ("closed", "allowed")


async def test_a_person_says_go_and_open_approvals_end(fleet: Fleet) -> None:
    desk = fleet["desk"]
    question, open_ = await desk.ask(), await desk.ask("approval", session="o")
    allowed = await desk.ask("approval", session="a", call={"tool": "x", "arguments": {}})
    await desk.vote(fleet.ann, allowed, "allow")
    await again(desk, COPIES["another machine"])
    what = await desk.reader.run(
        lambda connection: holding.consequences(connection, desk.id, viewer(fleet.ann))
    )
    assert what.allowed
    assert "2 approvals" in what.sentences[-1]
    await go(desk, fleet.ann)
    assert await sign(desk) is None
    assert await desk.stands(open_) == ("closed", "withdrawn")
    assert await desk.stands(allowed) == ("void", "allowed")
    assert (await desk.vote(fleet.ann, question, "answer", text="yes")).state == "accepted"
    with pytest.raises(Conflict, match="not on hold"):
        await go(desk, fleet.ann)
    await again(desk)
    assert await sign(desk) is None


async def test_who_may_not_answer_here_cannot_say_go(fleet: Fleet) -> None:
    desk = fleet["desk"]
    await fleet.person("eve", "viewer", "desk")
    await fleet.person("bob", "member", "laptop")
    await again(desk, COPIES["another machine"])
    for person in ("eve", "bob", "nobody"):
        with pytest.raises(NotAllowed):
            await go(desk, person)
    assert await sign(desk) is Sign.COPIED


async def test_who_waits_goes_on_waiting_and_hears_once_it_is_over(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask, told = await desk.ask(), await desk.ask(title="Told?")
    await desk.vote(fleet.ann, told, "answer", text="yes")
    await fleet.meet("desk", "laptop")
    await again(desk, COPIES["another machine"])
    waits = [asyncio.create_task(desk.fetch(one, wait_s=20)) for one in (ask, told)]
    await laptop.vote(fleet.ann, ask, "answer", text="8080")
    await fleet.carry("laptop", "desk")
    await desk.writer.run("known", holding.known)
    await desk.answers.rule_open()
    answers = await asyncio.wait_for(asyncio.gather(*waits), 20)
    assert [one.text for one in answers] == ["8080", "yes"]


async def test_a_store_that_was_put_back_takes_its_own_past_and_goes_on_above_it(
    fleet: Fleet,
) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    old = await desk.ask()
    kept = desk.home.with_name("kept")
    await again(desk, lambda home: shutil.copytree(home, kept))
    lost = [await desk.ask(title=f"{number}") for number in range(3)]
    await desk.vote(fleet.ann, old, "answer", text="said before")
    await fleet.meet("desk", "laptop")
    await again(desk, lambda home: _put_back(kept, home))
    assert await desk.stands(old) == ("waiting", None)

    held = await desk.heads()
    run: list[Entry] = await laptop.reader.run(
        lambda connection: _beyond(connection, held, desk.identity.key.node_id)
    )
    ledger = StoreLedger(desk.context, desk.answers, lambda: None)
    kept_now = await ledger.keep(run, laptop.identity.key.node_id)
    assert kept_now.trouble is None
    assert await sign(desk) in (Sign.BEHIND, Sign.COPIED)
    assert await desk.stands(old) == ("closed", "answered")
    new = await desk.ask(title="new")
    assert new not in lost, "its number is free"
    await desk.writer.run("known", holding.known)
    assert (await desk.vote(fleet.ann, new, "answer", text="x")).state == "accepted"
    await fleet.meet("desk", "laptop")
    assert (
        await laptop.reader.run(
            lambda connection: connection.execute("SELECT * FROM fork").fetchall()
        )
        == []
    )
    assert await laptop.entries(EntryType.FINAL) == 2


def _put_back(kept: Path, home: Path) -> None:
    shutil.rmtree(home)
    kept.rename(home)
