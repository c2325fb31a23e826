"""Two real stores joined by real links over TLS: the ledger is all that lies between them."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from node.desk.persons import reachable
from node.fleet import addresses
from node.fleet.ledger import StoreLedger
from node.fleet.removal import Removed, removed_here
from sync.log.entry import decode
from sync.log.facts import CertificateFacts, PersonFacts
from sync.log.kinds import EntryType
from sync.net.certificate import certificate_of
from sync.net.ledger import Address
from sync.net.mesh import Callbacks, Mesh
from tests.node.desk.fleets import Fleet, _beyond, fleet_of
from tests.node.desk.machines import Machine
from tests.sync.net.machines import HERE, QUICK, until


class Linked:
    """A machine with its links, which its writer tells of what was committed."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.ledger = StoreLedger(machine.context, machine.answers, self._members_changed)
        self.mesh = Mesh(
            self.ledger,
            machine.identity.key,
            QUICK,
            Callbacks(
                heard=lambda _raw, _signature, _node: None,
                carried=lambda _raw, _signature, _node: None,
                changed=lambda _node: None,
            ),
            random=os.urandom,
        )
        machine.stored = self.mesh.push

    def _members_changed(self) -> None:
        self.mesh.members_changed()


@asynccontextmanager
async def linked(fleet: Fleet, *names: str) -> AsyncIterator[list[Linked]]:
    """The machines know where each one listens, and are started."""
    nodes = [Linked(fleet[name]) for name in names]
    ports = {node.machine.id: await node.mesh.listen() for node in nodes}
    for node in nodes:
        for other, port in ports.items():
            if other != node.machine.id:
                give = partial(addresses.give, node=other, address=f"{HERE}:{port}")
                await node.machine.writer.run("give", give)
    try:
        for node in nodes:
            await node.mesh.start()
        yield nodes
    finally:
        await asyncio.gather(*(node.mesh.stop() for node in nodes))


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", "laptop") as made:
        yield made


async def happens(node: Linked, sql: str, *values: object, is_: object = 1) -> None:
    """Return once a query on a machine's store gives this."""
    seen: list[object] = []

    def read(connection: sqlite3.Connection) -> object:
        row = connection.execute(sql, values).fetchone()
        return None if row is None else row[0]

    for _ in range(1000):
        seen[:] = [await node.machine.reader.run(read)]
        if seen == [is_]:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"did not become {is_!r}: {sql} gave {seen}")


async def test_an_answer_given_elsewhere_is_ruled_on_as_it_arrives(fleet: Fleet) -> None:
    async with linked(fleet, "desk", "laptop") as (desk, laptop):
        ask = await desk.machine.ask("question")
        await happens(laptop, "SELECT 1 FROM ask WHERE id = ?", ask)
        await laptop.machine.vote(fleet.ann, ask, "answer", text="blue")
        await happens(desk, "SELECT outcome FROM ask WHERE id = ?", ask, is_="answered")
        await happens(laptop, "SELECT ruling FROM vote WHERE ask = ?", ask, is_="accepted")
        await happens(laptop, "SELECT outcome FROM ask WHERE id = ?", ask, is_="answered")
        told = await desk.machine.fetch(ask)
        assert told.text == "blue"


async def test_the_exact_call_comes_before_it_can_be_allowed(fleet: Fleet) -> None:
    async with linked(fleet, "desk", "laptop") as (desk, laptop):
        ask = await desk.machine.ask("approval")
        blob = (await desk.machine.row(ask)).blob
        assert blob is not None
        await until(lambda: laptop.machine.context.blobs.has(blob), "the call is there")
        assert laptop.machine.context.blobs.salted(blob) == desk.machine.context.blobs.salted(blob)
        await laptop.machine.vote(fleet.ann, ask, "allow")
        await happens(desk, "SELECT outcome FROM ask WHERE id = ?", ask, is_="allowed")


async def test_a_removed_machine_learns_by_whom_and_when(fleet: Fleet) -> None:
    async with linked(fleet, "desk", "laptop") as (desk, laptop):
        await until(lambda: desk.mesh.linked() and laptop.mesh.linked(), "they are linked")
        await fleet.remove("laptop")
        desk.mesh.members_changed()
        await until(lambda: not desk.mesh.linked(), "the link is cut")

        await happens(laptop, "SELECT count(*) FROM local WHERE name = 'removed'")
        found = await laptop.machine.reader.run(removed_here)
        assert found == Removed(by="Ann", machine="desk", at=2)
        reach, reason = await laptop.machine.reader.run(lambda one: reachable(one, None))
        assert (reach, reason) == (
            0,
            "this machine was removed from its fleet; no answer reaches it any more",
        )
        assert (await desk.machine.reader.run(lambda one: reachable(one, None)))[0] == 1


async def test_a_farewell_without_proof_is_not_believed(fleet: Fleet) -> None:
    desk, laptop = Linked(fleet["desk"]), Linked(fleet["laptop"])
    await fleet.remove("laptop")
    (proof,) = await desk.ledger.farewell(laptop.ledger.node)
    spoiled = decode(proof.raw, bytes(64), proof.facts, proof.text)
    await laptop.ledger.removed([spoiled])
    # True, and about another machine.
    await desk.ledger.removed([proof])
    assert await laptop.machine.reader.run(removed_here) is None
    assert await desk.machine.reader.run(removed_here) is None
    await laptop.ledger.removed([spoiled, proof])
    assert await laptop.machine.reader.run(removed_here) is not None


async def test_members_and_where_they_are(fleet: Fleet) -> None:
    desk, laptop = Linked(fleet["desk"]), Linked(fleet["laptop"])
    (member,) = await desk.ledger.members()
    assert (member.node, member.name, member.removed) == (laptop.ledger.node, "laptop", False)
    told = [Address(host="10.0.0.9", port=7717, source="told")]
    await desk.ledger.told(member.node, told)
    reached = Address(host="10.0.0.8", port=7717, source="mdns")
    await desk.ledger.reached(member.node, reached, "0.1.0")
    assert [one.host for one in await desk.ledger.addresses(member.node)] == [
        "10.0.0.8",
        "10.0.0.9",
    ]
    await fleet.remove("laptop")
    (member,) = await desk.ledger.members()
    assert member.removed


async def test_a_blob_that_no_ask_names_is_dropped(fleet: Fleet) -> None:
    desk = Linked(fleet["desk"])
    name = desk.machine.context.blobs.put(b"content", b"s" * 16)
    data = await desk.ledger.blob(name)
    assert data == b"s" * 16 + b"content"
    laptop = Linked(fleet["laptop"])
    await laptop.ledger.keep_blob(name, data)
    assert await laptop.ledger.blob(name) is None


async def test_nobody_takes_the_place_of_another_by_its_certificate(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    stolen = CertificateFacts(certificate=certificate_of(desk.identity.key), at=1)
    await laptop.writer.run("test", lambda job: job.append(EntryType.CERTIFICATE, stolen))
    await fleet.meet_all()
    for machine in (desk, laptop):
        stated = await machine.reader.run(
            lambda connection: connection.execute(
                "SELECT count(DISTINCT certificate), count(*) FROM node"
            ).fetchone()
        )
        assert stated == (1, 2)
    # Whoever holds the desk's key is the desk, and the laptop has no certificate of its own.
    ledger = StoreLedger(desk.context, desk.answers, lambda: None)
    assert await ledger.members() == []
    ledger = StoreLedger(laptop.context, laptop.answers, lambda: None)
    assert [member.name for member in await ledger.members()] == ["desk"]


async def test_what_came_by_a_link_that_broke_right_then_is_told_all_the_same(
    fleet: Fleet,
) -> None:
    laptop, told = fleet["laptop"], asyncio.Event()
    ledger = StoreLedger(laptop.context, laptop.answers, told.set)
    named = PersonFacts(person="bob", name="Bob", role="member", by=fleet.ann, at=1)
    await fleet.state((EntryType.PERSON, named))
    held = await laptop.heads()
    run = await fleet["desk"].reader.run(lambda connection: _beyond(connection, held, None))
    link = asyncio.create_task(ledger.keep(run, fleet["desk"].identity.key.node_id))
    # The job is queued, and cannot be taken back any more.
    await asyncio.sleep(0)
    link.cancel()
    with pytest.raises(asyncio.CancelledError):
        await link
    await asyncio.wait_for(told.wait(), 20)
    assert await laptop.heads() != held
