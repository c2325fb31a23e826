"""One machine of `tests.node.desk.fleets`: a real store and its desks, without a listener."""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
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
from node.desk.sight import AllHere, FarSession, FleetSight, Sight
from node.desk.sign_in import SignIns
from node.desk.signals import Change, Signals
from node.desk.sweeper import Sweeper
from node.desk.views import Looking
from node.founding import Opened, open_store
from node.store.blobs import Blobs
from node.store.reader import Reader
from node.store.writer import Writer
from sync.decide.card_state import HomeState
from sync.log.entry import Entry
from sync.log.kinds import EntryType
from tests.node.store.stores import SetTimes
from web.desk import Ballot, Viewer
from web.views import AskView, FleetView, HistoryLine, VoteReceipt

TOKEN = "first"
LIMITS = Limits(open_asks_per_session=99, asks_per_second_session=999, asks_per_second_node=999)
CALL = {"tool": "deploy", "arguments": {"target": "staging"}}
Place = tuple[bytes, int]


class Seen(AllHere):
    """Which machines are linked, as a test says, or (`through`) as real links tell."""

    def __init__(self) -> None:
        self.through: FleetSight | None = None
        self.up: set[str] = set()
        self.last: dict[str, Sight] = {}
        self.told: list[FarSession] = []

    def seen(self, connection: sqlite3.Connection, node: str) -> Sight:
        if self.through is not None:
            return self.through.seen(connection, node)
        if node in self.up:
            return Sight(state=HomeState.CONNECTED)
        return self.last.get(node, Sight(state=HomeState.NEVER_SEEN))

    def sessions(self) -> Sequence[FarSession]:
        return self.told if self.through is None else self.through.sessions()

    def view(self, connection: sqlite3.Connection, now: int) -> FleetView:
        if self.through is not None:
            return self.through.view(connection, now)
        return super().view(connection, now)


class Post:
    """Carries letters at once, to machines that are linked."""

    def __init__(self, machine: "Machine", others: Mapping[str, "Machine"]) -> None:
        self._machine = machine
        self._others = others
        self.sent: list[tuple[str | None, str, dict[str, Any]]] = []

    async def send(self, to: str | None, kind: str, body: dict[str, Any]) -> bool:
        self.sent.append((to, kind, body))
        reached = [
            other
            for other in self._others.values()
            if other.id in self._machine.seen.up and to in (None, other.id)
        ]
        for other in reached:
            await other.sign_ins.letter(self._machine.id, kind, body)
        return bool(reached)


class Machine:
    """One node: its store and its desks, without any listener."""

    def __init__(
        self, home: Path, others: Mapping[str, "Machine"], fleet: bytes | None = None
    ) -> None:
        self.home = home
        self.times = SetTimes()
        self.seen = Seen()
        self.stored: Callable[[Sequence[Entry]], None] = lambda _entries: None
        """Told of every entry that was committed."""
        self.noticed: Callable[[set[str]], None] = lambda _topics: None
        """Told the topics of every change that was numbered."""
        self._others = others
        home.mkdir(mode=0o700)
        self._open(create=True, fleet=fleet)

    def _open(self, *, create: bool, fleet: bytes | None) -> None:
        opened = open_store(
            self.home, create=create, machine=self.home.name, times=self.times, random=os.urandom
        )
        if fleet is not None:
            _enter(opened.connection, fleet)
            identity = msgspec.structs.replace(opened.identity, fleet=fleet)
            opened = msgspec.structs.replace(opened, identity=identity)
        self.identity = opened.identity
        self.id = self.identity.name
        self.context = self._context(opened)
        self.writer, self.reader = self.context.writer, self.context.reader
        self.answers = Answers(self.context)
        rules = RulesStore(self.context)
        self.reading = Reading(self.context, rules)
        self.agents = AgentDesk(self.context, SessionBook(), rules)
        self.sweeper = Sweeper(self.context, self.answers)
        self.post = Post(self, self._others)
        self.sign_ins = SignIns(self.context, TOKEN, lambda _job: None, self.post)

    def _context(self, opened: Opened) -> Context:
        signals = Signals()

        def published(changes: Sequence[Change]) -> None:
            signals.publish(changes)
            self.noticed({topic for _, topic, _ in changes})

        def stored(entries: Sequence[Entry]) -> None:
            # Looked up at each call: the links are set up after the writer.
            self.stored(entries)

        writer = Writer(
            opened.connection,
            identity=opened.identity,
            clock=opened.clock,
            random=os.urandom,
            published=published,
            stored=stored,
            stop_point=lambda _name: None,
        )
        return Context(
            store_id=opened.store_id,
            machine=self.home.name,
            identity=opened.identity,
            writer=writer,
            reader=Reader(self.home),
            blobs=Blobs(self.home),
            clock=opened.clock,
            signals=signals,
            random=os.urandom,
            limits=LIMITS,
            started=opened.clock.now(),
            fleet=self.seen,
        )

    async def close(self) -> None:
        """Stop, as a node that is asked to does."""
        await self.writer.close()
        self.reader.close()
        await asyncio.sleep(0)

    async def restart(self) -> None:
        """Stop and start again on the same store."""
        await self.close()
        self._open(create=False, fleet=None)
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

    async def voted(self, ask: str, votes: int = 1) -> None:
        """Wait until a vote (or so many) on the ask is recorded here."""
        with self.context.signals.of(ask) as changed:
            while True:
                changed.clear()
                if await self.entries(EntryType.VOTE) >= votes:
                    return
                await asyncio.wait_for(changed.wait(), 20)

    async def heads(self) -> dict[Place, int]:
        return await self.reader.run(
            lambda connection: {
                (author, log): seq
                for author, log, seq in connection.execute("SELECT author, log, seq FROM head")
            }
        )


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


def _row(connection: sqlite3.Connection, ask: str) -> AskRow:
    row = by_id(connection, ask)
    assert row is not None, ask
    return row
