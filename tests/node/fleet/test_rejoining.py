"""A machine whose old identity is used up takes on a new one: whole, or not at all."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from node.desk.rows import find
from node.fleet import rejoining, removal
from node.identity import KEY_FILE, NEXT_FILE, load_key, next_key, recovery_from_words, settle_key
from node.store.rebuild import compare
from node.store.transaction import Transaction
from sync.errors import Conflict, NotAllowed
from sync.log.names import node_name
from tests.node.desk.machines import CALL, Machine, viewer
from tests.node.fleet.joinings import Two, dump, read, two_of, waits_on
from tests.running import ROOT

KILLER = ROOT / "tests" / "node" / "fleet" / "rejoin_killer.py"


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Two]:
    """The laptop belongs to Ann's fleet and is hers."""
    async with two_of(tmp_path) as made:
        await made.join()
        await made.meet()
        await made.fleet.give("laptop", made.fleet.ann)
        await made.fleet.meet_all()
        yield made


async def split(machine: Machine) -> None:
    """Its history has split in two at the next entry."""

    def job(transaction: Transaction) -> None:
        own = transaction.identity.key.node_id
        (last,) = transaction.row("SELECT max(seq) FROM entry WHERE author = ? AND log = 0", own)
        transaction.run(
            "INSERT INTO fork VALUES (?, ?, 0, ?, ?, ?, ?, ?, 1)",
            transaction.identity.fleet,
            own,
            last + 1,
            *([b"side"] * 4),
        )

    await machine.writer.run("split", job)


async def remove(two: Two) -> None:
    await two.fleet.remove("laptop")
    node = two.laptop.identity.key.node_id
    proof = await two.desk.reader.run(
        partial(removal.proof, fleet=two.desk.identity.fleet, node=node)
    )
    assert await two.laptop.writer.run("removed", partial(removal.accept, entries=proof))


async def rejoin(machine: Machine, person: str | None) -> list[str]:
    key = next_key(machine.home)
    who = None if person is None else viewer(person)
    words = await machine.writer.run("rejoin", lambda job: rejoining.rejoin(job, key, who))
    settle_key(machine.home, machine.identity.key.node_id)
    return words


@pytest.mark.parametrize("how", ["split", "removed"])
async def test_it_is_somebody_else_in_a_fleet_of_its_own(two: Two, how: str) -> None:
    laptop, ann = two.laptop, two.fleet.ann
    old, fleet = laptop.id, laptop.identity.fleet
    question = await laptop.ask()
    opened = await laptop.ask("approval", session="o")
    allowed = await laptop.ask("approval", session="a")
    await laptop.vote(ann, allowed, "allow", wait_s=5)
    await (split(laptop) if how == "split" else remove(two))
    waiting = asyncio.create_task(laptop.fetch(question, wait_s=30))
    await waits_on(laptop, question)
    shown = await laptop.reader.run(
        lambda connection: rejoining.consequences(connection, old, viewer(ann))
    )
    assert shown.allowed
    assert "1 open question" in shown.sentences[2]
    assert "2 approvals" in shown.sentences[3]

    words = await rejoin(laptop, ann)
    laptop.id = laptop.identity.name
    assert laptop.id != old
    assert laptop.identity.fleet != fleet
    key = recovery_from_words(" ".join(words)).public
    assert await read(laptop, "SELECT id, recovery_key FROM node") == [(laptop.id, key)]
    assert node_name(load_key(laptop.home).node_id) == laptop.id
    assert compare(laptop.home) == []
    # The old log is as it was, and readable; approvals do not come along.
    assert await laptop.stands(opened) == ("closed", "withdrawn")
    assert await laptop.stands(allowed) == ("void", "allowed")
    assert "new key" in str(await read(laptop, "SELECT reason FROM ask WHERE id = ?", opened))
    found = await laptop.reader.run(partial(find, typed=question))
    assert (found.home, found.state) == (laptop.id, "waiting")
    await laptop.vote(ann, found.id, "answer", text="red", wait_s=5)
    assert (await waiting).text == "red"
    again = await laptop.ask("approval", session="o", call=CALL)
    assert (await laptop.vote(ann, again, "allow", wait_s=5)).state == "accepted"
    await laptop.restart()
    assert laptop.identity.name == found.home
    assert compare(laptop.home) == []


@pytest.mark.parametrize("how", ["split", "removed"])
async def test_it_joins_its_old_fleet_again(two: Two, how: str) -> None:
    laptop, desk, ann = two.laptop, two.desk, two.fleet.ann
    asked = await laptop.ask()
    await two.fleet.meet_all()
    await (split(laptop) if how == "split" else remove(two))
    with pytest.raises(Conflict, match="fleet"):
        await two.join()
    old = laptop.id
    await rejoin(laptop, ann)
    laptop.id = laptop.identity.name
    await two.join()
    assert laptop.identity.fleet == desk.identity.fleet
    assert compare(laptop.home) == []
    await two.meet()
    await two.fleet.give("laptop", ann)
    await two.fleet.meet_all()
    found = await laptop.reader.run(partial(find, typed=asked))
    assert found.home == laptop.id
    assert (await desk.vote(ann, found.id, "answer", text="blue")).state == "recorded"
    await two.fleet.meet_all()
    assert await laptop.stands(found.id) == ("closed", "answered")
    assert compare(laptop.home) == []
    nodes = await read(desk, "SELECT id, removed IS NULL FROM node")
    assert {old, laptop.id} <= {node for node, _ in nodes}
    # And once it has left again, its key is used up again.
    await two.leave(ann)
    with pytest.raises(Conflict, match="node rejoin"):
        await joined_again(two)


async def joined_again(two: Two) -> None:
    try:
        await two.join()
    except Conflict as error:
        raise Conflict(f"{error.sentence} {error.hint}") from None


async def test_who_may(two: Two) -> None:
    laptop, ann = two.laptop, two.fleet.ann
    with pytest.raises(Conflict, match="whole"):
        await rejoin(laptop, ann)
    await two.fleet.person("bob", "member", "laptop")
    await laptop.writer.run(
        "sign in",
        lambda job: job.run("INSERT INTO passphrase VALUES (?, x'00', x'00')", ann),
    )
    await split(laptop)
    with pytest.raises(NotAllowed, match="Only an owner"):
        await rejoin(laptop, "bob")
    with pytest.raises(NotAllowed, match="Sign in first"):
        await rejoin(laptop, None)
    await laptop.writer.run("forget", lambda job: job.run("DELETE FROM passphrase"))
    with pytest.raises(NotAllowed, match="Sign in first"):
        # Somebody can still approve a sign-in here from elsewhere.
        await rejoin(laptop, None)


async def test_where_nobody_can_sign_in_any_more_nobody_is_asked(two: Two) -> None:
    laptop = two.laptop
    asked = await laptop.ask()
    await remove(two)
    assert await laptop.reader.run(partial(rejoining.abandoned, here=laptop.id))
    await rejoin(laptop, None)
    assert await read(laptop, "SELECT 1 FROM person WHERE NOT ended") == []
    assert not await laptop.sign_ins.has_person()
    found = await laptop.reader.run(partial(find, typed=asked))
    assert found.state == "waiting"
    assert not await laptop.reader.run(partial(rejoining.abandoned, here=laptop.identity.name))


POINTS = ("rejoin:before-commit", "rejoin:after-commit", "key", "named")


@pytest.mark.parametrize("point", POINTS)
async def test_a_kill_leaves_the_old_machine_or_the_new_one_whole(two: Two, point: str) -> None:
    laptop, ann = two.laptop, two.fleet.ann
    asked = await laptop.ask()
    await split(laptop)
    before, old = await dump(laptop), laptop.id
    await laptop.close()
    process = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, str(KILLER), str(laptop.home), ann, point],
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.returncode == -signal.SIGKILL
    laptop._open(create=False, fleet=None)
    assert not (laptop.home / NEXT_FILE).exists()
    assert node_name(load_key(laptop.home).node_id) == laptop.identity.name
    if point in ("rejoin:before-commit", "key"):
        assert laptop.identity.name == old
        assert await dump(laptop) == before
        await rejoin(laptop, ann)
    assert laptop.identity.name != old
    found = await laptop.reader.run(partial(find, typed=asked))
    assert (found.home, found.state) == (laptop.identity.name, "waiting")
    assert compare(laptop.home) == []


def test_keys_that_do_not_belong_to_the_store_are_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    one, two_ = next_key(tmp_path), bytes(32)
    (tmp_path / NEXT_FILE).rename(tmp_path / KEY_FILE)
    next_key(tmp_path)
    assert settle_key(tmp_path, two_).node_id == one.node_id
    assert (tmp_path / NEXT_FILE).exists(), "neither is of this store: a person looks"
    assert settle_key(tmp_path, one.node_id).node_id == one.node_id
    assert not (tmp_path / NEXT_FILE).exists()
