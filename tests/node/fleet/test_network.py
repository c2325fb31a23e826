"""What nodes tell each other over real links, and what they show of each other."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.desk.sight import FarSession
from node.fleet import network as network_module
from node.fleet import removal
from node.store.transaction import Transaction
from sync.errors import NotAllowed, StoreFull
from sync.log.names import node_name
from sync.net import choosing
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import viewer
from tests.node.fleet.networks import Networked, networked
from tests.sync.net.machines import HERE

PAIR = ("desk", "laptop")
CHAIN = (("desk", "server"), ("laptop", "server"))


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", "laptop", "server") as made:
        yield made


async def becomes(question: Callable[[], Awaitable[Any]], what: str, seconds: float = 20.0) -> Any:  # noqa: ANN401
    """Return the first true answer; fails after `seconds`, saying `what`."""
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        if found := await question():
            return found
        await asyncio.sleep(0.01)
    raise AssertionError(f"did not happen in {seconds} s: {what}")


async def state(node: Networked, name: str, wanted: str) -> None:
    async def is_so() -> bool:
        return (await node.sees(name)).state == wanted

    await becomes(is_so, f"{name} is {wanted}")


async def test_both_show_each_other_with_what_the_link_knows(fleet: Fleet) -> None:
    async with networked(fleet, PAIR) as nodes:
        await state(nodes["desk"], "laptop", "connected")
        await state(nodes["laptop"], "desk", "connected")

        async def measured() -> bool:
            shown = await nodes["desk"].sees("laptop")
            return shown.round_trip_ms is not None and shown.version is not None

        await becomes(measured, "the link is measured")
        shown = await nodes["desk"].sees("laptop")
        assert (shown.behind_us, shown.behind_them, shown.trouble) == (0, 0, None)
        assert shown.skew_ms is not None
        assert shown.persons == ["Ann"]
        # Whoever dialled: where the other one can be dialled is shown.
        for this, that in (("desk", "laptop"), ("laptop", "desk")):
            address = (await nodes[this].sees(that)).address
            assert address == f"{HERE}:{nodes[that].network.mesh.port}"
        here = (await nodes["desk"].fleet()).machines[0]
        assert (here.here, here.state, here.machine.name) == (True, "here", "desk")


async def test_a_machine_that_stops_is_away_since_then(fleet: Fleet) -> None:
    async with networked(fleet, PAIR) as nodes:
        await state(nodes["desk"], "laptop", "connected")
        ask = await fleet["laptop"].ask("question")

        async def arrived() -> bool:
            return ask in await open_asks(nodes["desk"])

        await becomes(arrived, "the ask is there")
        await nodes["laptop"].network.stop()
        await state(nodes["desk"], "laptop", "away")
        shown = await nodes["desk"].sees("laptop")
        assert shown.seen is not None
        assert shown.seen_by is None
        assert (await fleet["desk"].view(ask, fleet.ann)).card.state == "away"
        await nodes["laptop"].network.start()
        await state(nodes["desk"], "laptop", "connected")
        assert (await fleet["desk"].view(ask, fleet.ann)).card.state == "waiting"


async def open_asks(node: Networked) -> set[str]:
    return await node.machine.reader.run(
        lambda connection: {
            ask for (ask,) in connection.execute("SELECT id FROM ask WHERE state = 'waiting'")
        }
    )


async def test_a_page_hears_that_a_card_changed_with_the_link(fleet: Fleet) -> None:
    async with networked(fleet, PAIR) as nodes:
        await state(nodes["desk"], "laptop", "connected")
        ask = await fleet["laptop"].ask("question")

        async def arrived() -> bool:
            return ask in await open_asks(nodes["desk"])

        await becomes(arrived, "the ask is there")
        with fleet["desk"].context.signals.of(ask) as changed:
            changed.clear()
            await nodes["laptop"].network.stop()
            await asyncio.wait_for(changed.wait(), 20)


async def test_what_a_full_disk_keeps_from_being_told_is_told_afterwards(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_module, "STORE_RETRY_S", 0.02)
    async with networked(fleet, PAIR) as nodes:
        await state(nodes["desk"], "laptop", "connected")
        context = nodes["desk"].machine.context
        run, refused, full = context.writer.run, [0], [True]

        async def on_a_full_disk(name: str, job: Any) -> Any:  # noqa: ANN401
            if full[0] and name == "links":
                refused[0] += 1
                raise StoreFull
            return await run(name, job)

        monkeypatch.setattr(context.writer, "run", on_a_full_disk)
        nodes["desk"].network._changed(b"\7" * 32)

        async def tried_again() -> bool:
            return refused[0] > 1

        await becomes(tried_again, "it is tried again")
        full[0] = False

        async def told() -> bool:
            named = await context.reader.run(
                lambda store: store.execute(
                    "SELECT count(*) FROM event WHERE ref = ?", (node_name(b"\7" * 32),)
                ).fetchone()
            )
            return bool(named[0])

        await becomes(told, "the pages are told")


async def test_a_session_is_told_to_a_machine_without_a_link_to_it(fleet: Fleet) -> None:
    async with networked(fleet, *CHAIN) as nodes:
        # The desk and the laptop have no address of each other, and take no hint.
        await state(nodes["server"], "desk", "connected")
        await state(nodes["server"], "laptop", "connected")
        await fleet["desk"].ask("question", session="s1")

        async def told() -> list[FarSession]:
            return [
                session
                for session in fleet["laptop"].seen.sessions()
                if session.node == fleet["desk"].id and session.id == "s1"
            ]

        (session,) = await becomes(told, "the session is known there")
        assert session.agent == "claude"
        assert session.project == "shop"


async def test_what_was_seen_by_another_is_shown_as_seen_by_it(fleet: Fleet) -> None:
    async with networked(fleet, *CHAIN) as nodes:
        await state(nodes["server"], "desk", "connected")
        await state(nodes["server"], "laptop", "connected")

        async def heard_of() -> bool:
            shown = await nodes["laptop"].sees("desk")
            return shown.state == "connected" or shown.seen_by == "server"

        await becomes(heard_of, "the laptop knows of the desk by the server")


async def test_six_digits_travel_between_two_pages(fleet: Fleet) -> None:
    async with networked(fleet, PAIR) as nodes:
        await state(nodes["laptop"], "desk", "connected")
        wish = await fleet["laptop"].sign_ins.request(where="a browser")

        async def offered() -> list[Any]:
            return await fleet["desk"].sign_ins.waiting()

        (waiting,) = await becomes(offered, "the desk hears of the wish")
        assert (waiting.machine, waiting.digits) == ("laptop", None)
        assert wish.digits is not None
        await fleet["desk"].sign_ins.approve(viewer(fleet.ann), waiting.id, wish.digits)
        session = await fleet["laptop"].sign_ins.collect(wish.id, wish.digits)
        assert session is not None
        assert session.viewer.person == fleet.ann


async def test_a_removed_machine_is_cut_off_and_shown_so_on_both_ends(fleet: Fleet) -> None:
    async with networked(fleet, PAIR) as nodes:
        await state(nodes["desk"], "laptop", "connected")
        await state(nodes["laptop"], "desk", "connected")
        await fleet.remove("laptop")
        nodes["desk"].network.members_changed()
        await state(nodes["desk"], "laptop", "removed")

        async def told() -> str | None:
            return (await nodes["laptop"].fleet()).removed

        sentence = await becomes(told, "the laptop knows")
        assert "by Ann on desk" in sentence
        assert not nodes["desk"].network.mesh.linked()


async def test_when_a_machine_was_last_there_is_known_after_a_restart(fleet: Fleet) -> None:
    async with networked(fleet, PAIR) as nodes:
        await state(nodes["desk"], "laptop", "connected")
        fleet.advance(60_000)
        later = fleet["desk"].context.clock.now()
        ask = await fleet["laptop"].ask("question")

        async def arrived() -> bool:
            return ask in await open_asks(nodes["desk"])

        await becomes(arrived, "the ask is there")
        await nodes["laptop"].network.stop()
        await state(nodes["desk"], "laptop", "away")

        async def kept() -> bool:
            return await nodes["desk"].machine.reader.run(
                lambda connection: (
                    connection.execute(
                        "SELECT 1 FROM seen WHERE node = ? AND at >= ?",
                        (fleet["laptop"].id, later),
                    ).fetchone()
                    is not None
                )
            )

        await becomes(kept, "the desk keeps when it was there")
        await nodes["desk"].network.renew()
        shown = await nodes["desk"].sees("laptop")
        assert shown.seen is not None
        assert shown.seen >= later


async def test_on_a_removed_machine_whoever_is_signed_in_may_begin_anew(fleet: Fleet) -> None:
    await fleet.person("cleo", "member", "laptop")
    await fleet.meet_all()
    async with networked(fleet, PAIR) as nodes:
        await state(nodes["laptop"], "desk", "connected")
        wish = await fleet["laptop"].sign_ins.request(where="a browser")
        await fleet["laptop"].sign_ins.approve(viewer("cleo"), wish.id, wish.digits or "")
        session = await fleet["laptop"].sign_ins.collect(wish.id, wish.digits or "")
        assert session is not None
        with pytest.raises(NotAllowed, match="an owner"):
            await nodes["laptop"].desk.leave(session.viewer)
        await fleet.remove("laptop")
        nodes["desk"].network.members_changed()

        async def told() -> str | None:
            return (await nodes["laptop"].fleet()).removed

        assert "askmesh node leave" in await becomes(told, "the laptop knows")
        left = await nodes["laptop"].desk.leave(session.viewer)
        assert (left.fleet.removed, left.fleet.machines[0].persons) == (None, ["Cleo"])


async def test_an_owner_who_can_sign_in_goes_before_the_others(fleet: Fleet) -> None:
    laptop = fleet["laptop"]

    def job(transaction: Transaction) -> None:
        transaction.run("INSERT INTO passphrase VALUES (?, x'00', x'00')", fleet.ann)

    await laptop.writer.run("test", job)
    may = partial(removal.check_may_begin_anew, person="cleo")
    with pytest.raises(NotAllowed, match="Only an owner may do this: Ann"):
        await laptop.reader.run(may)
    await laptop.reader.run(partial(removal.check_may_begin_anew, person=fleet.ann))


async def test_a_removed_machine_where_nobody_can_sign_in_says_another_way(fleet: Fleet) -> None:
    removed = removal.Removed(by="Ann", machine="desk", at=1)
    value = msgspec.json.encode(removed)
    await fleet["laptop"].writer.run("test", lambda job: job.keep(removal.REMOVED, value))
    sentence = await fleet["laptop"].reader.run(removal.sentence)
    assert sentence is not None
    assert "askmesh node rejoin" in sentence
    assert "node leave" not in sentence


async def test_in_a_large_fleet_a_machine_links_to_the_home_of_an_ask_as_soon_as_it_is_here(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "FULL_MESH", 0)
    monkeypatch.setattr(choosing, "LINKS_DIALLED", 0)
    async with networked(fleet, PAIR) as nodes:
        ask = await fleet["laptop"].ask("question")
        await fleet.carry("laptop", "desk")
        await state(nodes["desk"], "laptop", "connected")
        assert (await fleet["desk"].row(ask)).state == "waiting"
        laptop = fleet["laptop"].identity.key.node_id
        assert nodes["desk"].network.mesh.linked() == [laptop]
