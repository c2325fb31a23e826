"""A state machine over three real machines: whatever happens in whatever order, it holds.

Hypothesis chooses what happens: asks, answers, takings back, hand-overs, entries carried in
any order and more than once, cuts, crashes, clocks that jump, a removal. After every step
each machine is looked at; in the end all meet, and hold the same.
"""

import asyncio
import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Awaitable, Iterable, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from node.store import exchange, membership_tables, receive
from node.store.connection import open_reader
from node.store.projection import DERIVED
from node.store.transaction import Transaction
from node.verify.whole import verify
from sync.decide.lawful import Lawful
from sync.errors import CallerError, StoreError
from sync.limits import DAY_MS
from sync.log.chain import Head
from sync.log.entry import Entry, decode
from sync.log.facts import MarkFacts
from sync.log.kinds import EntryType
from sync.log.vector import Place, merge
from tests.counts import counted
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine
from tests.node.store.histories import LOCAL_ORDER

STEPS = 40
"""Of one history."""
NAMES = ("desk", "laptop", "phone")
PEOPLE = ("ann", "bob")
Result = TypeVar("Result")

machines = st.sampled_from(NAMES)
pairs = st.sampled_from(list(permutations(NAMES, 2)))
people = st.sampled_from(PEOPLE)
sessions = st.sampled_from(["one", "two"])


class Watched:
    """What was seen of one machine's store so far."""

    def __init__(self) -> None:
        self.n = 0
        self.connection: sqlite3.Connection | None = None
        self.lawful = Lawful(self._as_of)
        self.heads: dict[Place, Head] = {}

    def _as_of(self, fleet: bytes, heads: Iterable[bytes]) -> Any:  # noqa: ANN401 -- as it is
        assert self.connection is not None
        return membership_tables.settled_as_of(self.connection, fleet, heads)


class Meetings(RuleBasedStateMachine):
    """Three machines of one fleet, two people, and what may happen to them."""

    asks: Bundle[str] = Bundle("asks")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="meetings"))
        self.loop = asyncio.new_event_loop()
        self.stack = contextlib.AsyncExitStack()
        self.cuts: set[frozenset[str]] = set()
        self.removed: set[str] = set()
        self.written: dict[tuple[bytes, int, int], bytes] = {}
        """The one entry that there is at each place of each log."""
        self.finals: dict[str, bytes] = {}
        self.watched = {name: Watched() for name in NAMES}

    def do(self, work: Awaitable[Result]) -> Result | None:
        """Let something happen; what is refused in words is fine."""
        with contextlib.suppress(CallerError):
            return self.loop.run_until_complete(work)
        return None

    @initialize()
    def begin(self) -> None:
        async def begun() -> Fleet:
            fleet = await self.stack.enter_async_context(fleet_of(self.folder, *NAMES))
            await fleet.person("bob", "member", "phone", "laptop")
            return fleet

        self.fleet = self.loop.run_until_complete(begun())
        self.who = {"ann": self.fleet.ann, "bob": "bob"}

    def home_of(self, ask: str) -> Machine:
        node = ask.rpartition("-")[0]
        return next(one for one in self.fleet.machines.values() if one.id == node)

    # --- agents and persons -----------------------------------------------------------------

    @rule(target=asks, at=machines, kind=st.sampled_from(["question", "approval"]))
    def ask(self, at: str, kind: str) -> str:
        made = self.do(self.fleet[at].ask(kind, session="one", deadline_s=7_200))
        assert made is not None
        return made

    @rule(ask=asks, at=machines, person=people, yes=st.booleans())
    def vote(self, ask: str, at: str, person: str, yes: bool) -> None:
        self.do(self._vote(self.fleet[at], ask, self.who[person], yes=yes))

    async def _vote(self, machine: Machine, ask: str, person: str, *, yes: bool) -> None:
        with contextlib.suppress(AssertionError):  # it is not here yet
            kind = (await machine.row(ask)).kind
            words = {"approval": ("allow", "deny"), "question": ("answer", "decline")}[kind]
            decision = words[0] if yes else words[1]
            text = "so" if decision == "answer" else None
            await machine.vote(person, ask, decision, text=text)

    @rule(ask=asks, at=machines, person=people)
    def take_back(self, ask: str, at: str, person: str) -> None:
        self.do(self.fleet[at].take_back(self.who[person], ask))

    @rule(ask=asks, session=sessions)
    def fetch(self, ask: str, session: str) -> None:
        self.do(self.home_of(ask).fetch(ask, session=session))

    @rule(ask=asks, session=sessions)
    def claim(self, ask: str, session: str) -> None:
        home = self.home_of(ask)
        self.do(
            home.agents.claim(home.asker(session), ask, take_over=True, request=os.urandom(8).hex())
        )

    @rule(ask=asks, session=sessions, ok=st.booleans())
    def resolve(self, ask: str, session: str, ok: bool) -> None:
        home = self.home_of(ask)
        self.do(
            home.agents.resolve(
                home.asker(session),
                ask,
                token=None,
                outcome="so",
                ok=ok,
                request=os.urandom(8).hex(),
            )
        )

    @rule(ask=asks)
    def withdraw(self, ask: str) -> None:
        home = self.home_of(ask)
        request = os.urandom(8).hex()
        self.do(home.agents.withdraw(home.asker("one"), ask, reason="found it", request=request))

    @rule(ask=asks, at=machines, person=people, read=st.booleans())
    def mark(self, ask: str, at: str, person: str, read: bool) -> None:
        def job(transaction: Transaction) -> None:
            facts = MarkFacts(ask=ask, person=self.who[person], read=read, at=transaction.now)
            transaction.append(EntryType.MARK, facts)

        self.do(self.fleet[at].writer.run("mark", job))

    # --- the network ------------------------------------------------------------------------

    @rule(pair=pairs)
    def carry(self, pair: tuple[str, str]) -> None:
        """All that one has and the other lacks."""
        if frozenset(pair) not in self.cuts:
            self.loop.run_until_complete(self._carry(*pair))

    @rule(pair=pairs, chance=st.randoms(use_true_random=False))
    def carry_anyhow(self, pair: tuple[str, str], chance: Any) -> None:  # noqa: ANN401
        """Some of it, in any order, some twice, some that is there already."""
        if frozenset(pair) in self.cuts:
            return
        run = self._all(self.fleet[pair[0]])
        some = [chance.choice(run) for _ in range(chance.randrange(1, 2 * len(run)))]
        self.loop.run_until_complete(self._deliver(self.fleet[pair[1]], some))

    @rule(at=machines)
    def redeliver(self, at: str) -> None:
        """All that a machine has reaches it once more, and changes nothing."""
        machine = self.fleet[at]
        before = tables(machine)
        self.loop.run_until_complete(self._deliver(machine, self._all(machine)))
        assert tables(machine) == before

    async def _carry(self, source: str, target: str) -> None:
        giver, taker = self.fleet[source], self.fleet[target]
        held = vector(taker)
        run = [one for one in self._all(giver) if one.header.seq > _seq(held, one)]
        trouble = await self._deliver(taker, run)
        assert trouble is None or self.removed, trouble
        for path in (giver.home / "blobs").iterdir():
            taker.context.blobs.keep(bytes.fromhex(path.name), path.read_bytes())

    @staticmethod
    async def _deliver(taker: Machine, run: Sequence[Entry]) -> str | None:
        def job(transaction: Transaction) -> str | None:
            received = receive.keep(transaction, run)
            taker.answers.arrived(transaction, received.voted)
            return received.kept.trouble

        return await taker.writer.run("receive", job)

    @staticmethod
    def _all(machine: Machine) -> list[Entry]:
        with contextlib.closing(open_reader(machine.home)) as connection:
            return [
                decode(*row)
                for row in connection.execute(
                    "SELECT header, signature, facts, text FROM entry WHERE fleet ="
                    " (SELECT value FROM local WHERE name = 'fleet') ORDER BY n"
                )
            ]

    @rule(pair=pairs)
    def cut(self, pair: tuple[str, str]) -> None:
        self.cuts.add(frozenset(pair))

    @rule()
    def heal(self) -> None:
        self.cuts.clear()

    # --- faults -----------------------------------------------------------------------------

    @rule(at=machines)
    def restart(self, at: str) -> None:
        self.loop.run_until_complete(self.fleet[at].restart())

    @rule(at=machines)
    def crash(self, at: str) -> None:
        """What was committed is all that is left, as after a kill."""
        self.loop.run_until_complete(self._crash(self.fleet[at]))

    @staticmethod
    async def _crash(machine: Machine) -> None:
        def half(transaction: Transaction) -> None:
            facts = MarkFacts(ask="n-1", person="ann", read=True, at=transaction.now)
            transaction.append(EntryType.MARK, facts)
            raise StoreError("killed half-way")

        with contextlib.suppress(StoreError):
            await machine.writer.run("half", half)
        store, log = machine.home / "store.db", machine.home / "store.db-wal"
        kept, left = store.read_bytes(), log.read_bytes()
        await machine.close()
        # Into the same files: one that was put back would be taken for an old copy.
        store.write_bytes(kept)
        log.write_bytes(left)
        (machine.home / "store.db-shm").unlink(missing_ok=True)
        machine._open(create=False, fleet=None)
        await machine.answers.rule_open()

    @rule(at=machines, step=st.sampled_from([-DAY_MS, -60_000, 240_000, 400_000, DAY_MS]))
    def clock_jumps(self, at: str, step: int) -> None:
        self.fleet[at].times.wall += step

    @rule(span=st.sampled_from([1_000, 60_000, 3_600_000]))
    def time_passes(self, span: int) -> None:
        self.fleet.advance(span)
        self.loop.run_until_complete(self._sweep())

    async def _sweep(self) -> None:
        for machine in self.fleet.machines.values():
            await machine.sweeper.sweep()

    @precondition(lambda self: not self.removed)
    @rule()
    def remove(self) -> None:
        self.loop.run_until_complete(self.fleet.remove("phone"))
        self.removed.add("phone")

    # --- what must hold ---------------------------------------------------------------------

    @invariant()
    def every_store_keeps_its_word(self) -> None:
        for name in NAMES if hasattr(self, "fleet") else ():
            with contextlib.closing(open_reader(self.fleet[name].home)) as connection:
                self._look(self.watched[name], connection)

    def _look(self, watched: Watched, connection: sqlite3.Connection) -> None:
        watched.connection = connection
        for n, fleet, *row in connection.execute(
            "SELECT n, fleet, header, signature, facts, text FROM entry WHERE n > ? ORDER BY n",
            (watched.n,),
        ):
            entry = decode(*row)
            watched.n = n
            place = (entry.header.author, entry.header.log, entry.header.seq)
            assert self.written.setdefault(place, entry.hash) == entry.hash, "a fork"
            assert watched.lawful.hear(entry) is None
            assert fleet == entry.header.fleet
        self._look_at_heads(watched, connection)
        for ask, final in connection.execute("SELECT id, final_hash FROM ask WHERE final_hash"):
            assert self.finals.setdefault(ask, final) == final, "two finals"

    def _look_at_heads(self, watched: Watched, connection: sqlite3.Connection) -> None:
        heads = {
            (author, log): Head(seq=seq, hash=head)
            for author, log, seq, head in connection.execute("SELECT * FROM head")
        }
        held = connection.execute(
            "SELECT author, log, count(*), max(seq) FROM entry GROUP BY author, log"
        ).fetchall()
        assert {(author, log) for author, log, _, _ in held} == heads.keys()
        for author, log, count, last in held:
            assert count == last == heads[author, log].seq, "a gap"
            assert self.written[author, log, last] == heads[author, log].hash
        # It only grows: what one vector adds to an earlier one is the later one.
        assert merge(watched.heads, heads) == heads
        watched.heads = heads

    def teardown(self) -> None:
        try:
            if hasattr(self, "fleet"):
                self.loop.run_until_complete(self._end())
        finally:
            self.loop.run_until_complete(self.stack.aclose())
            self.loop.close()
            shutil.rmtree(self.folder)

    async def _end(self) -> None:
        """Nothing is in the way any more: all meet, and hold the same."""
        # Later than any clock ever was: what was stamped ahead of its time is due by then.
        latest = max(machine.times.wall for machine in self.fleet.machines.values())
        for machine in self.fleet.machines.values():
            machine.times.wall = latest + STEPS * DAY_MS
        members = [name for name in NAMES if name not in self.removed]
        for _ in range(5):
            await self._sweep()
            for one, other in combinations(members, 2):
                await self._carry(one, other)
                await self._carry(other, one)
        first, *rest = (self.fleet[name] for name in members)
        for another in rest:
            assert vector(first) == vector(another)
            assert tables(first) == tables(another)
        for machine in self.fleet.machines.values():
            verified = verify(machine.home)
            assert [kind for kind in verified.kinds if kind.faults] == []


def vector(machine: Machine) -> dict[Place, Head]:
    with contextlib.closing(open_reader(machine.home)) as connection:
        return exchange.vector(connection)


def _seq(held: dict[Place, Head], entry: Entry) -> int:
    return held.get((entry.header.author, entry.header.log), Head()).seq


def tables(machine: Machine) -> dict[str, list[tuple[object, ...]]]:
    """The derived tables, without what is the order of arrival, and what lies beyond a cut."""
    found: dict[str, list[tuple[object, ...]]] = {}
    with contextlib.closing(open_reader(machine.home)) as connection:
        for table in DERIVED[1:]:
            rows = connection.execute(f"SELECT * FROM {table}")  # noqa: S608 -- names of ours
            names = [column[0] for column in rows.description]
            local = [at for at, name in enumerate(names) if name == LOCAL_ORDER.get(table)]
            found[table] = sorted(
                (tuple(item for at, item in enumerate(row) if at not in local) for row in rows),
                key=repr,
            )
    return found


TestMeetings = Meetings.TestCase
TestMeetings.settings = settings(
    max_examples=counted(12),
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
