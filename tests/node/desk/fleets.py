"""A fleet of real stores in one process: entries are carried by hand, whenever a test wants.

No sockets and no links: what a machine knows of another one is what was carried to it, and
a test says which machines see each other.
"""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from node.desk import carrying, erasing, recovering
from node.desk.sight import Sight
from node.desk.sign_in_far import consent
from node.store import exchange, receive
from node.store.transaction import Transaction
from sync.decide.card_state import HomeState
from sync.log.entry import Entry, decode
from sync.log.facts import MemberFacts, PersonFacts, RemovedFacts, SpeaksForFacts
from sync.log.kinds import EntryType
from sync.net.certificate import certificate_of
from tests.node.desk.machines import TOKEN, Machine, Place, viewer


class Fleet:
    """The machines, and what is carried between them."""

    def __init__(self) -> None:
        self.machines: dict[str, Machine] = {}
        self.founder: Machine | None = None
        self.ann = ""
        """The owner; the first machine speaks for her, and each one she was given."""
        self.words = ""
        """The recovery words she was shown."""

    def __getitem__(self, name: str) -> Machine:
        return self.machines[name]

    async def add(self, folder: Path, name: str) -> Machine:
        """Add a machine; the first one founds the fleet, and Ann signs in there."""
        fleet = None if self.founder is None else self.founder.identity.fleet
        machine = Machine(folder / name, self.machines, fleet)
        self.machines[name] = machine
        if self.founder is None:
            self.founder = machine
            made = await machine.sign_ins.first(TOKEN, name="Ann", passphrase=None, where="test")
            self.ann = made.viewer.person
            self.words = " ".join(made.recovery_words or [])
        else:
            await self.state(_member(machine, self.ann))
        return machine

    async def state(self, *statements: tuple[EntryType, Any]) -> None:
        """Ann states something on the first machine; nobody else hears of it yet."""
        assert self.founder is not None

        def job(transaction: Transaction) -> None:
            for kind, facts in statements:
                transaction.append(kind, facts)

        await self.founder.writer.run("state", job)

    async def person(self, name: str, role: str, *machines: str) -> str:
        """Ann names a person, and the machines that speak for them; all hear of it."""
        assert self.founder is not None
        facts = PersonFacts(person=name, name=name.capitalize(), role=role, by=self.ann, at=1)
        await self.state((EntryType.PERSON, facts))
        for machine in machines:
            await self.give(machine, name)
            await self.meet_all()
            # Who has a machine already must say so from there as well.
            node = self[machine].id
            await self[machines[0]].writer.run(
                "consent", partial(consent, viewer=viewer(name), node=node)
            )
        await self.meet_all()
        return name

    async def give(self, machine: str, person: str) -> None:
        """Ann says that a machine speaks for a person."""
        await self.state(
            (
                EntryType.SPEAKS_FOR,
                SpeaksForFacts(
                    node=self[machine].identity.key.node_id,
                    person=person,
                    on=True,
                    by=self.ann,
                    at=1,
                ),
            )
        )

    async def remove(self, machine: str) -> None:
        """Ann removes a machine; what it wrote so far counts, as far as it was heard of."""
        assert self.founder is not None
        node = self[machine].identity.key.node_id

        def job(transaction: Transaction) -> None:
            transaction.append(EntryType.REMOVED, _removed(transaction, node, self.ann))

        await self.founder.writer.run("remove", job)

    async def carry(self, source: str, target: str, *, only: str | None = None) -> None:
        """Bring what one machine holds to another (`only`: entries of this machine)."""
        giver, taker = self[source], self[target]
        author = None if only is None else self[only].identity.key.node_id
        held = await taker.heads()
        run = await giver.reader.run(lambda connection: _beyond(connection, held, author))

        def job(transaction: Transaction) -> None:
            received = receive.keep(transaction, run)
            assert received.kept.trouble is None, received.kept.trouble
            if received.erased:
                erasing.close_erased(transaction)
            if received.members_moved:
                recovering.hear(transaction)
            if received.mailed:
                carrying.receive(transaction, anew=received.members_moved)
            taker.answers.arrived(transaction, received.voted)

        if run:
            await taker.writer.run("receive", job)
        await erasing.wipe(taker.context)
        for blob in await giver.reader.run(_blobs):
            data = giver.context.blobs.salted(blob)
            wanted = partial(exchange.is_wanted, blob=blob)
            if data is not None and await taker.reader.run(wanted):
                taker.context.blobs.keep(blob, data)

    async def meet(self, one: str, other: str) -> None:
        """Two machines meet until both hold the same."""
        while await self[one].heads() != await self[other].heads():
            await self.carry(one, other)
            await self.carry(other, one)

    async def meet_all(self) -> None:
        """Every machine meets every other one, twice: what is ruled on meeting travels too."""
        names = list(self.machines)
        for _ in range(2):
            for index, one in enumerate(names):
                for other in names[index + 1 :]:
                    await self.meet(one, other)

    def link(self, one: str, other: str) -> None:
        """The two see each other from now on; nothing is carried by that."""
        self[one].seen.up.add(self[other].id)
        self[other].seen.up.add(self[one].id)

    def cut(self, one: str, other: str) -> None:
        """The two do not see each other any more."""
        for here, there in ((self[one], self[other]), (self[other], self[one])):
            here.seen.up.discard(there.id)
            here.seen.last[there.id] = Sight(state=HomeState.AWAY, at=here.context.clock.now())

    def advance(self, milliseconds: int) -> None:
        """Time passes everywhere."""
        for machine in self.machines.values():
            machine.times.advance(milliseconds)


@asynccontextmanager
async def fleet_of(folder: Path, *names: str, own: str | None = None) -> AsyncIterator[Fleet]:
    """Machines of one fleet that have met, all of them Ann's (`own`: only this one)."""
    fleet = Fleet()
    async with AsyncExitStack() as stack:
        for name in names:
            machine = await fleet.add(folder, name)
            stack.push_async_callback(machine.close)
            if machine is not fleet.founder and own is None:
                await fleet.give(name, fleet.ann)
        await fleet.meet_all()
        yield fleet


def _member(machine: Machine, by: str) -> tuple[EntryType, MemberFacts]:
    facts = MemberFacts(
        node_key=machine.identity.key.public,
        certificate=certificate_of(machine.identity.key),
        machine=machine.home.name,
        by=by,
        at=1,
    )
    return EntryType.MEMBER, facts


def _removed(transaction: Transaction, node: bytes, by: str) -> RemovedFacts:
    cut = [
        {"log": log, "seq": seq, "hash": head}
        for log, seq, head in transaction.rows(
            "SELECT log, seq, hash FROM head WHERE author = ? ORDER BY log", node
        )
    ]
    return msgspec.convert({"node": node, "cut": cut, "by": by, "at": 2}, RemovedFacts)


def _beyond(
    connection: sqlite3.Connection, held: dict[Place, int], author: bytes | None
) -> list[Entry]:
    found = connection.execute(
        "SELECT author, log, seq, header, signature, facts, text FROM entry"
        " WHERE fleet = (SELECT value FROM local WHERE name = 'fleet') ORDER BY n"
    )
    return [
        decode(header, signature, facts, text)
        for by, log, seq, header, signature, facts, text in found
        if seq > held.get((by, log), 0) and author in (None, by)
    ]


def _blobs(connection: sqlite3.Connection) -> list[bytes]:
    return [
        bytes(blob) for (blob,) in connection.execute("SELECT blob FROM ask WHERE blob IS NOT NULL")
    ]
