"""Pairing two machines that ran on their own so far: real stores, real TLS, real links."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from node.identity import recovery_from_words
from sync.errors import Conflict, Invalid, NotAllowed, PairingFailed
from sync.net.pair_listener import Times
from tests.node.desk.machines import TOKEN, Machine
from tests.node.fleet.networks import Networked
from tests.node.fleet.test_network import becomes, state
from web.desk import Viewer
from web.views import PairingView


class Lone:
    """A machine in a fleet of its own, signed in or not."""

    def __init__(self, node: Networked, viewer: Viewer | None) -> None:
        self.node = node
        self.machine = node.machine
        self.desk = node.desk
        self.viewer = viewer

    @property
    def owner(self) -> Viewer:
        assert self.viewer is not None
        return self.viewer

    async def code(self) -> PairingView:
        return await self.desk.pairing_begin(self.owner)

    async def joins(self, other: "Lone") -> None:
        """Use the code of another machine."""
        shown = await other.code()
        assert shown.code is not None
        await self.desk.join(self.viewer, code=shown.code, address=shown.addresses[0])
        self.viewer = None


@asynccontextmanager
async def lone(folder: Path, name: str, person: str | None) -> AsyncIterator[Lone]:
    machine = Machine(folder / name, {})
    viewer: Viewer | None = None
    if person is not None:
        made = await machine.sign_ins.first(TOKEN, name=person, passphrase=None, where="test")
        viewer = made.viewer
    node = Networked(machine, times=Times(code_s=20.0))
    await node.network.start()
    try:
        yield Lone(node, viewer)
    finally:
        await node.pairings.stop()
        await node.network.stop()
        await machine.close()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Lone]:
    async with lone(tmp_path, "desk", "Ann") as made:
        yield made


@pytest.fixture
async def laptop(tmp_path: Path) -> AsyncIterator[Lone]:
    async with lone(tmp_path, "laptop", "Bob") as made:
        yield made


async def test_two_machines_become_one_fleet(desk: Lone, laptop: Lone) -> None:
    shown = await desk.code()
    assert shown.code is not None
    assert shown.state == "waiting"
    assert (await desk.desk.pairing(desk.owner)).code is None  # type: ignore[union-attr]
    joined = await laptop.desk.join(
        laptop.owner, code=shown.code.lower(), address=shown.addresses[0]
    )
    assert (joined.machine.name, joined.machines) == ("desk", 2)
    assert laptop.machine.identity.fleet == desk.machine.identity.fleet
    await state(desk.node, "laptop", "connected")
    await state(laptop.node, "desk", "connected")

    async def over() -> bool:
        now = await desk.desk.pairing(desk.owner)
        return now is not None and now.state == "paired"

    await becomes(over, "the code is used")
    assert (await laptop.node.sees("laptop")).persons == []
    assert (await laptop.node.sees("desk")).persons == ["Ann"]


async def test_the_person_of_the_joined_machine_ends(desk: Lone, laptop: Lone) -> None:
    viewer = laptop.owner
    session = await laptop.machine.reader.run(
        lambda connection: connection.execute("SELECT count(*) FROM person_session").fetchone()
    )
    assert session == (1,)
    await laptop.joins(desk)
    for table in ("person_session", "passphrase"):
        left = await laptop.machine.reader.run(
            lambda connection, table=table: connection.execute(  # type: ignore[misc]
                f"SELECT count(*) FROM {table}"  # noqa: S608 -- names from here
            ).fetchone()
        )
        assert left == (0,)
    with pytest.raises(NotAllowed):
        await laptop.machine.sign_ins.first(TOKEN, name="Eve", passphrase=None, where="x")
    assert await laptop.machine.sign_ins.has_person()
    with pytest.raises(NotAllowed):
        await laptop.desk.pairing_begin(viewer)


async def test_open_asks_are_raised_again_and_their_waiters_go_on(desk: Lone, laptop: Lone) -> None:
    await laptop.machine.ask("note")
    old = await laptop.machine.ask("question", title="Which colour?")
    waiting = asyncio.create_task(laptop.machine.fetch(old, wait_s=20))
    await laptop.joins(desk)

    async def arrived() -> str | None:
        return await desk.machine.reader.run(
            lambda connection: next(
                (ask for (ask,) in connection.execute("SELECT id FROM ask WHERE kind='question'")),
                None,
            )
        )

    new = await becomes(arrived, "the ask is at the desk")
    assert new != old
    assert int(new.rpartition("-")[2]) == 3, "numbers go on"
    closed = await laptop.machine.row(old)
    assert (closed.state, closed.outcome) == ("closed", "withdrawn")
    assert closed.reason == f"raised again as {laptop.machine.id[:4]}-3"
    await desk.machine.vote(desk.owner.person, new, "answer", text="blue")
    answer = await asyncio.wait_for(waiting, 20)
    assert (answer.text, answer.full_id) == ("blue", new)


async def test_an_approval_keeps_its_exact_call(desk: Lone, laptop: Lone) -> None:
    old = await laptop.machine.ask("approval")
    before = await laptop.machine.row(old)
    await laptop.joins(desk)
    new = f"{laptop.machine.id}-2"
    row = await laptop.machine.row(new)
    assert (row.blob, row.call_mac) == (before.blob, before.call_mac)
    assert row.deadline == before.deadline

    async def whole() -> bool:
        return row.blob is not None and desk.machine.context.blobs.has(row.blob)

    await becomes(whole, "the call is at the desk")
    await desk.machine.vote(desk.owner.person, new, "allow")

    async def allowed() -> bool:
        return (await laptop.machine.stands(new))[1] == "allowed"

    await becomes(allowed, "the laptop has ruled")
    assert (await laptop.machine.fetch(old)).state == "allowed"


async def test_what_was_allowed_and_not_used_is_void(desk: Lone, laptop: Lone) -> None:
    old = await laptop.machine.ask("approval")
    await laptop.machine.vote(laptop.owner.person, old, "allow")
    assert (await laptop.machine.stands(old))[1] == "allowed"
    await laptop.joins(desk)
    assert (await laptop.machine.row(old)).handover == "void"


async def test_a_wrong_code_burns_the_code_and_changes_nothing(desk: Lone, laptop: Lone) -> None:
    shown = await desk.code()
    before = laptop.machine.identity.fleet
    with pytest.raises(PairingFailed):
        await laptop.desk.join(laptop.owner, code="0000-0000-0000-0", address=shown.addresses[0])
    assert shown.code is not None
    with pytest.raises(PairingFailed):
        await laptop.desk.join(laptop.owner, code=shown.code, address=shown.addresses[0])
    assert laptop.machine.identity.fleet == before

    async def failed() -> bool:
        now = await desk.desk.pairing(desk.owner)
        return now is not None and now.state == "failed"

    await becomes(failed, "the desk says that it failed")
    assert len((await desk.node.fleet()).machines) == 1


async def test_a_mistyped_code_is_found_before_it_is_used(desk: Lone, laptop: Lone) -> None:
    shown = await desk.code()
    assert shown.code is not None
    wrong = shown.code[:-1] + ("0" if shown.code[-1] != "0" else "1")
    with pytest.raises(Invalid):
        await laptop.desk.join(laptop.owner, code=wrong, address=shown.addresses[0])
    await laptop.desk.join(laptop.owner, code=shown.code, address=shown.addresses[0])


async def test_a_withdrawn_code_lets_nobody_in(desk: Lone, laptop: Lone) -> None:
    shown = await desk.code()
    await desk.desk.pairing_stop(desk.owner)
    assert shown.code is not None
    with pytest.raises(PairingFailed):
        await laptop.desk.join(laptop.owner, code=shown.code, address=shown.addresses[0])
    now = await desk.desk.pairing(desk.owner)
    assert now is not None
    assert now.state == "stopped"


async def test_a_new_code_withdraws_the_one_before(desk: Lone, laptop: Lone) -> None:
    first = await desk.code()
    second = await desk.code()
    assert first.code is not None
    assert second.code is not None
    with pytest.raises(PairingFailed):
        await laptop.desk.join(laptop.owner, code=first.code, address=first.addresses[0])
    await laptop.desk.join(laptop.owner, code=second.code, address=second.addresses[0])


async def test_a_fleet_with_machines_does_not_join_another(
    tmp_path: Path, desk: Lone, laptop: Lone
) -> None:
    async with lone(tmp_path, "server", None) as server:
        await server.joins(desk)
        shown = await laptop.code()
        assert shown.code is not None
        with pytest.raises(Conflict) as refused:
            await desk.desk.join(desk.owner, code=shown.code, address=shown.addresses[0])
        assert "server" in refused.value.sentence
        assert "node leave" in (refused.value.hint or "")
        consequences = await desk.desk.join_consequences(desk.owner)
        assert not consequences.allowed
        # The code was not spent by that.
        now = await laptop.desk.pairing(laptop.owner)
        assert now is not None
        assert now.state == "waiting"


async def test_where_somebody_signed_in_nobody_joins_without_a_session(
    desk: Lone, laptop: Lone
) -> None:
    shown = await desk.code()
    assert shown.code is not None
    with pytest.raises(NotAllowed):
        await laptop.desk.join(None, code=shown.code, address=shown.addresses[0])
    with pytest.raises(NotAllowed):
        await laptop.desk.pairing_offers(None)


async def test_a_third_machine_learns_the_fleet_through_the_one_that_let_it_in(
    tmp_path: Path, desk: Lone, laptop: Lone
) -> None:
    async with lone(tmp_path, "server", None) as server:
        await laptop.joins(desk)
        await desk.desk.assign(desk.owner, "laptop", desk.owner.person)

        async def speaks() -> bool:
            return (await laptop.node.sees("laptop")).persons == ["Ann"]

        await becomes(speaks, "the laptop is Ann's")
        # The laptop did not found the fleet, and lets the server in.
        wish = await laptop.machine.sign_ins.request(where="test")
        assert wish.digits is not None
        await laptop.machine.sign_ins.approve(desk.owner, wish.id, wish.digits)
        session = await laptop.machine.sign_ins.collect(wish.id, wish.digits)
        assert session is not None
        laptop.viewer = session.viewer
        await server.joins(laptop)
        for one, other in ((server, "desk"), (server, "laptop"), (desk, "server")):
            await state(one.node, other, "connected")


async def test_the_persons_word_counts_from_a_machine_that_is_theirs(
    desk: Lone, laptop: Lone
) -> None:
    await laptop.joins(desk)
    ask = await desk.machine.ask("question")

    async def arrived() -> bool:
        return (
            await laptop.machine.reader.run(
                lambda one: one.execute("SELECT 1 FROM ask WHERE id = ?", (ask,)).fetchone()
            )
            is not None
        )

    await becomes(arrived, "the ask is there")
    with pytest.raises(NotAllowed):
        await laptop.machine.vote(desk.owner.person, ask, "answer", text="early")
    await desk.desk.assign(desk.owner, "laptop", "Ann")

    async def speaks() -> bool:
        return (await laptop.node.sees("laptop")).persons == ["Ann"]

    await becomes(speaks, "the laptop is Ann's")
    await laptop.machine.vote(desk.owner.person, ask, "answer", text="from afar")

    async def answered() -> bool:
        return (await desk.machine.stands(ask))[1] == "answered"

    await becomes(answered, "the desk has ruled")


async def test_leaving_founds_a_fleet_of_ones_own(desk: Lone, laptop: Lone) -> None:
    await laptop.joins(desk)
    await desk.desk.assign(desk.owner, "laptop", "Ann")

    async def speaks() -> bool:
        return (await laptop.node.sees("laptop")).persons == ["Ann"]

    await becomes(speaks, "the laptop is Ann's")
    old = await laptop.machine.ask("question")
    left = await laptop.desk.leave(desk.owner)
    assert len(left.recovery_words) == 12
    assert [one.machine.name for one in left.fleet.machines] == ["laptop"]
    assert left.fleet.machines[0].persons == ["Ann"]
    assert laptop.machine.identity.fleet != desk.machine.identity.fleet
    await state(desk.node, "laptop", "removed")
    row = await laptop.machine.view(old, desk.owner.person)
    assert row.card.state != "waiting"
    again = f"{laptop.machine.id}-{int(old.rpartition('-')[2]) + 1}"
    await laptop.machine.vote(desk.owner.person, again, "answer", text="still here")
    assert (await laptop.machine.fetch(old)).text == "still here"
    # What was removed, or left, is never let in again under the same key.
    shown = await desk.code()
    assert shown.code is not None
    with pytest.raises(PairingFailed) as refused:
        await laptop.desk.join(desk.owner, code=shown.code, address=shown.addresses[0])
    assert "removed from that fleet, or left it" in refused.value.sentence


async def test_a_removed_machine_founds_a_fleet_of_its_own(desk: Lone, laptop: Lone) -> None:
    await laptop.joins(desk)
    await desk.desk.assign(desk.owner, "laptop", "Ann")

    async def speaks() -> bool:
        return (await laptop.node.sees("laptop")).persons == ["Ann"]

    await becomes(speaks, "the laptop is Ann's")
    await desk.desk.remove_machine(desk.owner, "laptop")

    async def told() -> str | None:
        return (await laptop.node.fleet()).removed

    assert "by Ann on desk" in await becomes(told, "the laptop knows")
    left = await laptop.desk.leave(desk.owner)
    assert left.fleet.removed is None
    assert [one.machine.name for one in left.fleet.machines] == ["laptop"]


async def test_leaving_twice_at_once_leaves_once(desk: Lone, laptop: Lone) -> None:
    await laptop.joins(desk)
    await desk.desk.assign(desk.owner, "laptop", "Ann")

    async def speaks() -> bool:
        return (await laptop.node.sees("laptop")).persons == ["Ann"]

    await becomes(speaks, "the laptop is Ann's")
    first, second = await asyncio.gather(
        laptop.desk.leave(desk.owner), laptop.desk.leave(desk.owner), return_exceptions=True
    )
    assert not isinstance(first, BaseException)
    assert isinstance(second, NotAllowed)
    # The words that were shown are those of the fleet that is.
    key = recovery_from_words(" ".join(first.recovery_words)).public
    stored = await laptop.machine.reader.run(
        lambda connection: connection.execute("SELECT recovery_key FROM node").fetchall()
    )
    assert stored == [(key,)]


async def test_changing_fleets_twice_at_once_leaves_one_mesh(laptop: Lone) -> None:
    network = laptop.node.network
    await asyncio.gather(network.renew(), network.renew())
    mesh = network.mesh
    await network.stop()
    # Whoever is late does not begin again what was stopped.
    await network.renew()
    assert network.mesh is mesh
    assert network._tasks == set()
