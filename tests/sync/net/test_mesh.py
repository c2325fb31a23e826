"""The mesh: real TLS between several nodes on loopback, their sessions scripted."""

import asyncio
import itertools
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from sync.limits import FULL_MESH, REDRAW_S, SURPLUS_S
from sync.net import link as link_module
from sync.net.discovery import Offered
from sync.net.keeper import LinkState
from sync.net.ledger import Address, Member
from sync.net.mesh import Callbacks, Mesh, Settings
from sync.wire.actions import Action, Opened
from tests.sync.log.entries import FLEET, key
from tests.sync.net.ledgers import MemoryLedger
from tests.sync.net.machines import HERE, QUICK, at, member, until
from tests.sync.net.scripted import Script


def greeted(frame: bytes) -> list[Action]:
    """A peer is open once it has said hello."""
    return [Opened()] if frame == b"hello" else []


class Node:
    """One mesh and what it told."""

    def __init__(self, number: int, settings: Settings = QUICK, *, opens: bool = True) -> None:
        self.number = number
        self.member = member(number)
        self.id = self.member.node
        self.ledger = MemoryLedger(key(number))
        self.scripts: list[Script] = []
        self.changes: list[bytes | None] = []
        self.heard: list[bytes] = []
        self.clocks = (0.0, 0.0)
        self.opens = opens
        self.neighbours: dict[bytes, set[bytes]] = {}
        self.mesh = Mesh(
            self.ledger,
            key(number),
            settings,
            Callbacks(
                heard=lambda raw, _signature, _node: self.heard.append(raw),
                carried=lambda raw, _signature, _node: self.heard.append(raw),
                changed=self.changes.append,
                links_of=lambda node: self.neighbours.get(node, ()),
            ),
            random=os.urandom,
            clocks=lambda: self.clocks,
        )
        self.mesh._links._sessions = self.session
        self.mesh._sessions.forget = lambda: None  # type: ignore[method-assign]

    def session(self, who: Member) -> Script:
        del who
        made = Script(greeted if self.opens else None)
        self.scripts.append(made)
        return made

    def knows(self, other: "Node", *, where: int | None = None, removed: bool = False) -> None:
        self.ledger.known[other.id] = msgspec.structs.replace(other.member, removed=removed)
        if where is not None:
            self.ledger.where[other.id] = [at(where)]

    def linked_to(self, *others: "Node") -> bool:
        return set(self.mesh.linked()) == {other.id for other in others}

    def frames(self) -> list[bytes]:
        return [frame for script in self.scripts for frame in script.frames]

    def trouble(self, other: "Node") -> str:
        status = self.mesh.status(other.id)
        return "" if status is None else status.trouble or ""


async def introduce(*nodes: Node) -> None:
    """Let all know each other, and where."""
    ports = {node.id: await node.mesh.listen() for node in nodes}
    for one, other in itertools.permutations(nodes, 2):
        one.knows(other, where=ports[other.id])


@asynccontextmanager
async def started(*nodes: Node) -> AsyncIterator[None]:
    try:
        for node in nodes:
            await node.mesh.start()
        yield
    finally:
        await asyncio.gather(*(node.mesh.stop() for node in nodes))
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert left == [], "everything that was started has ended"


async def test_both_dial_and_one_link_stays() -> None:
    one, two = Node(1), Node(2)
    await introduce(one, two)
    async with started(one, two):
        await until(lambda: one.linked_to(two) and two.linked_to(one), "they are linked")
        await until(
            lambda: len(list(one.mesh._links)) == len(list(two.mesh._links)) == 1, "one link each"
        )
        status = one.mesh.status(two.id)
        assert status is not None
        assert (status.state, status.trouble) == (LinkState.CONNECTED, None)
        assert status.version == "9.9"
        assert status.since == one.ledger.clock
        await until(lambda: one.ledger.reached_log, "it is written down")
        assert one.ledger.reached_log[0][0] == two.id


async def test_three_are_a_full_mesh() -> None:
    nodes = [Node(n) for n in (1, 2, 3)]
    await introduce(*nodes)
    async with started(*nodes):
        await until(
            lambda: all(
                one.linked_to(*(other for other in nodes if other is not one)) for one in nodes
            ),
            "all are linked",
        )


async def test_one_that_can_be_dialled_by_nobody_dials() -> None:
    one, two = Node(1), Node(2)
    await introduce(one, two)
    one.ledger.where.clear()
    async with started(one, two):
        await until(lambda: one.linked_to(two), "it came in")
        await until(lambda: one.ledger.reached_log, "it is written down")
        assert one.ledger.reached_log == [(two.id, None, "9.9")]
        await until(lambda: two.ledger.reached_log, "there as well")
        assert two.ledger.reached_log[0][1] is not None


async def test_goodbye_shows_at_once_and_the_link_comes_back() -> None:
    one, two = Node(1), Node(2)
    await introduce(one, two)
    async with started(one):
        async with started_without_check(two):
            await until(lambda: one.linked_to(two), "linked")
        await until(lambda: not one.mesh.linked(), "it is away", 1.0)
        assert b"goodbye" in one.frames()
        again = Node(2)
        again.knows(one, where=one.mesh.port)
        async with started_without_check(again):
            await until(lambda: one.linked_to(again) and again.linked_to(one), "it is back")


@asynccontextmanager
async def started_without_check(node: Node) -> AsyncIterator[None]:
    await node.mesh.start()
    try:
        yield
    finally:
        await node.mesh.stop()


async def test_each_side_says_why_there_is_no_link() -> None:
    one, two, three = Node(1), Node(2), Node(3)
    await introduce(one, two, three)
    one.ledger.where[two.id] = [at(1)]
    two.ledger.where[three.id] = [at(two.mesh.port or 0)]
    del two.ledger.known[one.id]
    three.ledger.where[two.id] = []
    del one.ledger.known[three.id]
    three.ledger.where[one.id] = [at(one.mesh.port or 0)]
    async with started(one, two, three):
        await until(lambda: "refuses connections" in one.trouble(two), one.trouble(two))
        await until(lambda: "another machine than m3" in two.trouble(three), two.trouble(three))
        await until(lambda: "does not know this machine" in three.trouble(one), "unknown")
        await until(lambda: "No address of m2" in three.trouble(two), "no address")


async def test_a_new_member_is_linked_when_the_store_says_so() -> None:
    one, two = Node(1), Node(2)
    async with started(one, two):
        assert one.mesh.port is None, "alone, nothing is listened to"
        await introduce(one, two)
        for node in (one, two):
            node.mesh.members_changed()
        await until(lambda: one.linked_to(two) and two.linked_to(one), "they are linked")


async def test_a_removed_member_s_link_closes_at_once_with_a_farewell() -> None:
    one, two = Node(1), Node(2)
    await introduce(one, two)
    one.ledger.append(1)
    async with started(one, two):
        await until(lambda: one.linked_to(two) and two.linked_to(one), "linked")
        one.knows(two, removed=True)
        one.mesh.members_changed()
        await until(lambda: not two.mesh.linked(), "it is cut", 2.0)
        assert b"farewell 1" in two.frames()
        assert one.mesh.status(two.id) is None
        before = len(two.scripts)
        await until(lambda: len(two.scripts) > before + 1, "it tries again")
        await until(lambda: two.frames().count(b"farewell 1") > 1, "and is told again")
        assert not one.mesh.linked()
        assert all(b"hello" not in script.frames for script in two.scripts[before:])


async def test_another_fleet_ends_every_link() -> None:
    one, two = Node(1), Node(2)
    await introduce(one, two)
    async with started(one, two):
        await until(lambda: one.linked_to(two) and two.linked_to(one), "linked")
        one.ledger.fleet = b"another fleet..."
        one.ledger.known.clear()
        one.mesh.members_changed()
        await until(lambda: not one.mesh.linked() and not two.mesh.linked(), "no link is left")
        assert one.mesh.status(two.id) is None
    assert one.ledger.fleet != FLEET


async def test_our_entries_go_to_everyone_and_learned_ones_where_they_are_missing() -> None:
    one, two, three = Node(1), Node(2), Node(3)
    await introduce(one, two, three)
    # One of two links that are made at once is dropped with what it carries: only one dials.
    two.ledger.where.clear()
    three.ledger.where.clear()
    async with started(one, two, three):
        await until(lambda: one.linked_to(two, three), "linked")
        one.mesh.push(one.ledger.append(1))
        await until(lambda: b"push 1" in two.frames() and b"push 1" in three.frames(), "to both")
        far = MemoryLedger(key(9)).append(2)
        one.mesh.push(far, source=two.id)
        await until(lambda: b"push 2" in three.frames(), "to the one that lacks it")
        one.neighbours[three.id] = {far[0].header.author}
        one.mesh.push([*far, *far], source=two.id)
        one.mesh.push([*far, *one.ledger.append(2), *far])
        await until(lambda: b"push 2" in two.frames() or b"push 6" in two.frames(), "the last")
        assert b"push 4" not in three.frames(), "it hears the author itself"
        assert b"push 2" not in two.frames(), "it came from there"


async def test_presence_and_letters_go_where_they_should() -> None:
    one, two, three, four = Node(1), Node(2), Node(3), Node(4)
    await introduce(one, two, three)
    # One of two links that are made at once is dropped with what it carries: only one dials.
    two.ledger.where.clear()
    three.ledger.where.clear()
    async with started(one, two, three):
        await until(lambda: one.linked_to(two, three), "linked")
        one.mesh.presence(b"p", b"s", without=two.id)
        await until(lambda: b"sp" in three.frames(), "presence")
        assert one.mesh.send_letter(two.id, b"direct", b"")
        assert one.mesh.send_letter(four.id, b"round", b"")
        assert not one.mesh.send_letter(four.id, b"nobody", b"", relay=False)
        await until(lambda: b"direct" in two.frames() and b"round" in three.frames(), "letters")
        await until(lambda: b"round" in two.frames(), "to all")
        assert b"sp" not in two.frames()
        assert b"direct" not in three.frames()
        assert b"nobody" not in [*two.frames(), *three.frames()]


async def test_after_sleep_every_link_is_made_anew() -> None:
    one, two = Node(1), Node(2)
    await introduce(one, two)
    async with started(one, two):
        await until(lambda: one.linked_to(two) and two.linked_to(one), "linked")
        before = len(one.scripts)
        one.clocks = (1.0, 7_200.0)
        await until(lambda: len(one.scripts) > before and one.linked_to(two), "a new link")


async def test_links_from_an_address_that_is_gone_are_dropped() -> None:
    one, two = Node(1), Node(2)
    await introduce(one, two)
    async with started(one, two):
        await until(lambda: one.linked_to(two) and two.linked_to(one), "linked")
        before = len(one.scripts)
        one.mesh._moved({"10.9.9.9"})
        assert one.linked_to(two)
        one.mesh._moved({HERE})
        await until(lambda: len(one.scripts) > before and one.linked_to(two), "a new link")


async def test_a_peer_that_never_says_who_it_is_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_module, "ATTEMPT_S", 0.2)
    one, two = Node(1, opens=False), Node(2)
    await introduce(one, two)
    async with started(one, two):
        await until(lambda: "does not speak as askmesh does" in one.trouble(two), "it says so")
        assert not one.mesh.linked()


async def test_a_sighting_is_dialled_at_once() -> None:
    slow = msgspec.structs.replace(QUICK, backoff_s=(60.0, 60.0))
    one, two = Node(1, slow), Node(2, slow)
    port = await two.mesh.listen()
    two.knows(one)
    one.knows(two)
    async with started(one, two):
        await until(lambda: "No address" in one.trouble(two), "it cannot be found")
        one.mesh.sighted(two.id, [Address(host=HERE, port=port, source="mdns")])
        await until(lambda: one.linked_to(two), "it was dialled", 5.0)
        one.mesh.sighted(b"stranger" * 4, [at(port)])


async def test_stopping_is_quick_with_a_peer_that_hangs() -> None:
    one, two = Node(1), Node(2)
    await introduce(one, two)
    async with started(one, two):
        await until(lambda: one.linked_to(two) and two.linked_to(one), "linked")
        start = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - start < 4


async def test_two_meshes_find_each_other_by_mdns_alone() -> None:
    near = msgspec.structs.replace(QUICK, mdns=True, announce_s=(0.5, 0.6))
    one, two = Node(1, near), Node(2, near)
    one.knows(two)
    two.knows(one)
    async with started(one, two):
        await until(lambda: one.linked_to(two) and two.linked_to(one), "they found each other")
        assert one.mesh.mdns == "on"
        one.mesh.pairing(b"8 bytes!", 4242)
        found: list[Offered] = []
        for _ in range(5):
            if not found:
                found = [o for o in await two.mesh.offers(1.0) if o.sid == b"8 bytes!"]
        assert [(offer.name, offer.addresses[0].port) for offer in found] == [("test", 4242)]
    assert one.mesh.mdns == "off"


async def test_without_mdns_nothing_is_announced_or_found() -> None:
    one, two = Node(1), Node(2)
    await introduce(one, two)
    async with started(one, two):
        one.mesh.pairing(b"8 bytes!", 4242)
        assert await two.mesh.offers(0.0) == []
        assert one.mesh.mdns == "off"
        assert one.mesh._discovery._engine is None


async def test_a_listener_opened_for_pairing_closes_with_it() -> None:
    one = Node(1)
    async with started(one):
        port = await one.mesh.listen()
        assert one.mesh.port == port
        one.mesh.pairing(b"8 bytes!", 4242)
        one.mesh.pairing(None)
        await until(lambda: one.mesh.port is None, "it is closed")
        assert one.mesh.addresses() == [HERE]


async def test_who_only_looks_from_here_whether_the_port_is_open_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    one = Node(1)
    async with started(one):
        port = await one.mesh.listen()
        for said in (b"", b"GET / HTTP/1.1\r\n\r\n"):
            reader, writer = await asyncio.open_connection(HERE, port)
            writer.write(said)
            writer.write_eof()
            await reader.read()
            writer.close()
        await until(lambda: "was not let in" in caplog.text, "who said something is")
    assert "ended before" not in caplog.text


async def test_a_large_fleet_does_not_gather_links() -> None:
    nodes = [Node(n) for n in range(1, FULL_MESH + 3)]
    await introduce(*nodes)

    def dialled(node: Node) -> set[bytes]:
        kept = node.mesh._links.kept()
        return {link.member.node for link in kept if link.dialler == node.id}

    def all_there() -> bool:
        return all(node.mesh._wanted <= set(node.mesh.linked()) for node in nodes)

    async with started(*nodes):
        await until(all_there, "all have the links they want")
        now = asyncio.get_running_loop().time()
        for _ in range(3):
            now += REDRAW_S
            for node in nodes:
                node.mesh._choose_anew(now)
            await until(all_there, "all have the links of the new draw")
            for node in nodes:
                node.mesh._choose_anew(now + SURPLUS_S)
            await until(
                lambda: all(dialled(node) <= node.mesh._wanted for node in nodes), "none is left"
            )
        await until(all_there, "and none is lost by it")
        assert all(node.trouble(other) == "" for node in nodes for other in nodes)
