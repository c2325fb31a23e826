"""A fleet of real stores in one process: entries are carried by hand, whenever a test wants.

No sockets and no links: what a machine knows of another one is what was carried to it, and
a test says which machines see each other.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from node.desk.agents import AgentDesk
from node.desk.answers import Answers
from node.desk.context import Context, Limits
from node.desk.reading import Reading
from node.desk.requests import Answer, Asker, Flag, Flagged
from node.desk.rows import AskRow, by_id
from node.desk.rules_store import RulesStore
from node.desk.sessions import SessionBook
from node.desk.sight import AllHere, FarSession, Sight
from node.desk.sign_in import SignIns
from node.desk.sign_in_far import consent
from node.desk.signals import Signals
from node.desk.sweeper import Sweeper
from node.desk.views import Looking
from node.founding import open_store
from node.store import receive
from node.store.blobs import Blobs
from node.store.reader import Reader
from node.store.transaction import Identity, Transaction
from node.store.writer import Writer
from sync.decide.card_state import HomeState
from sync.log.entry import Entry, decode
from sync.log.facts import MemberFacts, PersonFacts, RemovedFacts, SpeaksForFacts
from sync.log.kinds import EntryType
from tests.node.store.stores import SetTimes
from web.desk import Ballot, Viewer
from web.views import AskView, HistoryLine, VoteReceipt

TOKEN = "first"
LIMITS = Limits(open_asks_per_session=99, asks_per_second_session=999, asks_per_second_node=999)
CALL = {"tool": "deploy", "arguments": {"target": "staging"}}
Place = tuple[bytes, int]


class Seen(AllHere):
    """Which machines are linked, as a test says."""

    def __init__(self) -> None:
        self.up: set[str] = set()
        self.last: dict[str, Sight] = {}
        self.told: list[FarSession] = []

    def seen(self, connection: sqlite3.Connection, node: str) -> Sight:
        if node in self.up:
            return Sight(state=HomeState.CONNECTED)
        return self.last.get(node, Sight(state=HomeState.NEVER_SEEN))

    def sessions(self) -> Sequence[FarSession]:
        return self.told


class Post:
    """Carries letters at once, to machines that are linked."""

    def __init__(self, machine: "Machine", fleet: "Fleet") -> None:
        self._machine = machine
        self._fleet = fleet
        self.sent: list[tuple[str | None, str, dict[str, Any]]] = []

    async def send(self, to: str | None, kind: str, body: dict[str, Any]) -> bool:
        self.sent.append((to, kind, body))
        reached = [
            other
            for other in self._fleet.machines.values()
            if other.id in self._machine.seen.up and to in (None, other.id)
        ]
        for other in reached:
            await other.sign_ins.letter(self._machine.id, kind, body)
        return bool(reached)


class Machine:
    """One node: its store and its desks, without any listener."""

    def __init__(self, home: Path, fleet: "Fleet", times: SetTimes) -> None:
        self.home = home
        self.times = times
        self.seen = Seen()
        self._fleet = fleet
        self._open(create=True)

    def _open(self, *, create: bool) -> None:
        self.home.mkdir(mode=0o700, exist_ok=True)
        opened = open_store(
            self.home, create=create, machine=self.home.name, times=self.times, random=os.urandom
        )
        founder = self._fleet.founder
        if create and founder is not None:
            _enter(opened.connection, founder.identity.fleet)
            self.identity: Identity = msgspec.structs.replace(
                opened.identity, fleet=founder.identity.fleet
            )
        else:
            self.identity = opened.identity
        self.id = self.identity.name
        signals = Signals()
        self.writer = Writer(
            opened.connection,
            identity=self.identity,
            clock=opened.clock,
            random=os.urandom,
            published=signals.publish,
            stop_point=lambda _name: None,
        )
        self.reader = Reader(self.home)
        self.context = Context(
            store_id=opened.store_id,
            machine=self.home.name,
            identity=self.identity,
            writer=self.writer,
            reader=self.reader,
            blobs=Blobs(self.home),
            clock=opened.clock,
            signals=signals,
            random=os.urandom,
            limits=LIMITS,
            started=opened.clock.now(),
            fleet=self.seen,
        )
        self.answers = Answers(self.context)
        rules = RulesStore(self.context)
        self.reading = Reading(self.context, rules)
        self.agents = AgentDesk(self.context, SessionBook(), rules)
        self.sweeper = Sweeper(self.context, self.answers)
        self.post = Post(self, self._fleet)
        self.sign_ins = SignIns(self.context, TOKEN, lambda _job: None, self.post)

    async def close(self) -> None:
        """Stop, as a node that is asked to does."""
        await self.writer.close()
        self.reader.close()
        await asyncio.sleep(0)

    async def restart(self) -> None:
        """Stop and start again on the same store."""
        await self.close()
        self._open(create=False)
        await self.answers.rule_open()

    # --- agents -------------------------------------------------------------------------

    def asker(self, session: str = "s") -> Asker:
        return Asker(agent="claude", session=session, project="shop", cwd=str(self.home))

    async def ask(self, kind: str = "question", *, session: str = "s", **more: object) -> str:
        """An agent here raises an ask; return its full id."""
        if kind == "approval":
            more.setdefault("call", CALL)
        flag = msgspec.convert({"kind": kind, "title": f"A {kind}", **more}, Flag)
        made: Flagged = await self.agents.flag(
            self.asker(session), flag, request=os.urandom(8).hex()
        )
        return made.full_id

    async def fetch(self, ask: str, *, session: str = "s", wait_s: float = 0.0) -> Answer:
        """The agent asks for what was decided, which hands it over."""
        return await self.agents.await_answer(
            self.asker(session),
            ask,
            wait_s=wait_s,
            request=os.urandom(8).hex(),
            progress=None,
        )

    # --- persons ------------------------------------------------------------------------

    async def view(self, ask: str, person: str) -> AskView:
        """What a page here shows of an ask."""

        def read(connection: sqlite3.Connection) -> AskView:
            return Looking(self.context, connection, person).ask(_row(connection, ask))

        return await self.reader.run(read)

    async def needs(self, person: str) -> int:
        """How many asks the badge of a page here counts."""
        return await self.reader.run(
            lambda connection: Looking(self.context, connection, person).counts().needs_me
        )

    async def vote(
        self, person: str, ask: str, decision: str, *, wait_s: float = 0.0, **more: object
    ) -> VoteReceipt:
        """A person answers on a page here."""
        seen = (await self.view(ask, person)).seen
        given = {"decision": decision, "seen": seen, "wait_s": wait_s, **more}
        return await self.answers.vote(viewer(person), ask, msgspec.convert(given, Ballot))

    async def take_back(self, person: str, ask: str) -> VoteReceipt:
        """A person takes an answer back on a page here."""
        return await self.answers.take_back(viewer(person), ask)

    async def row(self, ask: str) -> AskRow:
        return await self.reader.run(lambda connection: _row(connection, ask))

    async def stands(self, ask: str) -> tuple[str, str | None]:
        row = await self.row(ask)
        return row.state, row.outcome

    async def history(self, ask: str, person: str) -> list[HistoryLine]:
        return (await self.reading.ask(ask, person)).history

    async def entries(self, kind: EntryType) -> int:
        """How many entries of a type are held here."""
        return await self.reader.run(
            lambda connection: connection.execute(
                "SELECT count(*) FROM entry WHERE type = ?", (kind,)
            ).fetchone()[0]
        )

    async def voted(self, ask: str) -> None:
        """Wait until a vote on the ask is recorded here."""
        with self.context.signals.of(ask) as changed:
            while True:
                changed.clear()
                if await self.entries(EntryType.VOTE):
                    return
                await asyncio.wait_for(changed.wait(), 20)

    async def heads(self) -> dict[Place, int]:
        return await self.reader.run(
            lambda connection: {
                (author, log): seq
                for author, log, seq in connection.execute("SELECT author, log, seq FROM head")
            }
        )


class Fleet:
    """The machines, and what is carried between them."""

    def __init__(self) -> None:
        self.machines: dict[str, Machine] = {}
        self.founder: Machine | None = None
        self.ann = ""
        """The owner; the first machine speaks for her, and each one she was given."""

    def __getitem__(self, name: str) -> Machine:
        return self.machines[name]

    async def add(self, folder: Path, name: str) -> Machine:
        """Add a machine; the first one founds the fleet, and Ann signs in there."""
        times = SetTimes()
        machine = Machine(folder / name, self, times)
        self.machines[name] = machine
        if self.founder is None:
            self.founder = machine
            made = await machine.sign_ins.first(TOKEN, name="Ann", passphrase=None, where="test")
            self.ann = made.viewer.person
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
            taker.answers.arrived(transaction, received.voted)

        if run:
            await taker.writer.run("receive", job)
        for blob in await giver.reader.run(_blobs):
            data = giver.context.blobs.salted(blob)
            if data is not None:
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


def viewer(person: str) -> Viewer:
    """A signed-in person, as the page's session proves it."""
    return Viewer(session_id="x", person=person, name=person, role="", kind="page")


def _enter(connection: sqlite3.Connection, fleet: bytes) -> None:
    """Forget the fleet this store was founded with, and belong to another one."""
    connection.execute("BEGIN IMMEDIATE")
    for table in ("entry", "head", "node", "statement_head"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 -- names from here
    connection.execute("UPDATE local SET value = ? WHERE name = 'fleet'", (fleet,))
    connection.execute("COMMIT")


def _member(machine: Machine, by: str) -> tuple[EntryType, MemberFacts]:
    facts = MemberFacts(
        node_key=machine.identity.key.public,
        certificate=b"certificate of " + machine.home.name.encode(),
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
        "SELECT author, log, seq, header, signature, facts, text FROM entry ORDER BY n"
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


def _row(connection: sqlite3.Connection, ask: str) -> AskRow:
    row = by_id(connection, ask)
    assert row is not None, ask
    return row
