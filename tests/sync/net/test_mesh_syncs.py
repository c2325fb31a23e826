"""Meshes with real sessions over real TLS, their stores in memory: they end up the same."""

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from sync.errors import StoreFull
from sync.log.entry import Entry, sha256
from sync.log.kinds import EntryType
from sync.net import link as link_module
from sync.net.ledger import Kept
from sync.net.mesh import Callbacks, Mesh
from tests.sync.log.entries import SALT, key
from tests.sync.net.ledgers import MemoryLedger
from tests.sync.net.machines import QUICK, at, member, until


class Publishing(MemoryLedger):
    """A store that publishes what it stored, as a node's writer does after its commit."""

    mesh: Mesh
    after_some: Callable[[], None] | None = None
    """Called once, when a thousand entries are here."""

    async def keep(self, run: Sequence[Entry], source: bytes) -> Kept:
        before = {place: len(log) for place, log in self.logs.items()}
        kept = await super().keep(run, source)
        fresh = [one for place, log in self.logs.items() for one in log[before.get(place, 0) :]]
        self.mesh.push(fresh, source)
        if self.after_some is not None and self.count() > 1_000:
            self.after_some()
            self.after_some = None
        return kept

    def write(self, count: int = 1, *, kind: int = EntryType.ASK, text: bytes = b"{}") -> None:
        self.mesh.push(self.append(count, kind=kind, text=text))


class Node:
    """One mesh over its own store."""

    def __init__(self, number: int) -> None:
        self.id = member(number).node
        self.number = number
        self.ledger = Publishing(key(number))
        self.letters: list[bytes] = []
        self.mesh = self.ledger.mesh = Mesh(
            self.ledger,
            key(number),
            QUICK,
            Callbacks(
                heard=lambda raw, _signature, _node: self.letters.append(raw),
                carried=lambda raw, _signature, _node: self.letters.append(raw),
                changed=lambda _: None,
            ),
            random=os.urandom,
        )


@asynccontextmanager
async def fleet(count: int, *, chain: bool = False) -> AsyncIterator[list[Node]]:
    """So many nodes; `chain`: each knows only its neighbours."""
    nodes = [Node(number) for number in range(1, count + 1)]
    ports = {node.id: await node.mesh.listen() for node in nodes}
    for one, other in itertools.permutations(nodes, 2):
        if not chain or abs(one.number - other.number) == 1:
            one.ledger.known[other.id] = member(other.number)
            one.ledger.where[other.id] = [at(ports[other.id])]
    try:
        yield nodes
    finally:
        await asyncio.gather(*(node.mesh.stop() for node in nodes))


async def start(*nodes: Node) -> None:
    for node in nodes:
        await node.mesh.start()


async def same(*nodes: Node, seconds: float = 10.0) -> None:
    def equal() -> bool:
        first = {place: log[-1].hash for place, log in nodes[0].ledger.logs.items() if log}
        return all(
            {place: log[-1].hash for place, log in node.ledger.logs.items() if log} == first
            for node in nodes
        )

    await until(equal, "all hold the same", seconds)


async def test_what_each_has_comes_to_the_other_and_then_what_is_written() -> None:
    async with fleet(2) as (one, two):
        one.ledger.append(3)
        two.ledger.append(2, kind=EntryType.NOTE)
        await start(one, two)
        await same(one, two)
        assert one.ledger.count() == 5
        one.ledger.write()
        two.ledger.write(kind=EntryType.NOTE)
        await same(one, two)
        status = one.mesh.status(two.id)
        assert status is not None
        assert status.version == "0.1.0"
        await until(
            lambda: (figures := one.mesh.status(two.id)) and figures.behind_them == 0, "it is told"
        )


async def test_a_chain_of_three_relays() -> None:
    async with fleet(3, chain=True) as nodes:
        nodes[0].ledger.append(5)
        await start(*nodes)
        nodes[2].ledger.write(3)
        await same(*nodes)
        assert nodes[1].ledger.count() == 8


async def test_a_full_disk_holds_up_nothing_else_and_is_caught_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_module, "STORE_RETRY_S", 0.05)
    async with fleet(2) as (one, two):
        await start(one, two)
        await until(lambda: one.mesh.linked() and two.mesh.linked(), "they are linked")
        two.ledger.failing = StoreFull()
        one.ledger.write(20)
        await until(lambda: (s := two.mesh.status(one.id)) and s.trouble, "the trouble shows")
        two.mesh.send_letter(one.id, b"{}", bytes(64))
        await until(lambda: one.letters, "the link lives")
        two.ledger.failing = None
        await same(one, two)


async def test_a_large_blob_comes() -> None:
    async with fleet(2) as (one, two):
        data = SALT + os.urandom(4 * 1024 * 1024)
        one.ledger.blobs[sha256(data)] = data
        two.ledger.wanted_blobs.add(sha256(data))
        await start(one, two)
        await until(lambda: two.ledger.blobs, "the blob is there")
        assert two.ledger.blobs == one.ledger.blobs


async def test_thousands_are_caught_up_and_a_vote_comes_meanwhile() -> None:
    async with fleet(2) as (one, two):
        one.ledger.append(10_000, kind=EntryType.NOTE, text=b"x" * 300)
        two.ledger.after_some = lambda: one.ledger.write(kind=EntryType.VOTE)
        await start(one, two)
        await until(lambda: two.ledger.logs[one.id, 0], "the vote is here")
        assert len(two.ledger.logs[one.id, 1]) < 4_000, "before most of the chatter"
        await same(one, two, seconds=30.0)
