"""Any order of what agents and persons may do, with restarts: the promises of DESIGN §5 hold."""

import asyncio
import contextlib
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.desk.agents import AgentDesk
from node.desk.answers import Answers
from node.desk.requests import Asker, Flag, OptionRequest
from node.desk.rules_store import RulesStore
from node.desk.sessions import SessionBook
from node.desk.sweeper import Sweeper
from node.store.reader import Reader
from node.store.rebuild import compare
from node.store.transaction import Transaction
from sync.decide.ask import DECIDED, OUTCOMES, Kind, Outcome
from sync.errors import AskmeshError
from sync.log import facts as say
from sync.log.kinds import EntryType
from tests.node.audit.reading import unsound
from tests.node.desk.desks import context_of
from tests.node.store.stores import Kept, SetTimes, found, looked
from web.desk import Ballot, Viewer

PEOPLE = ("ann", "bob")
ASKS = st.integers(0, 2)
SESSIONS = st.sampled_from(["one", "two"])


class Do(NamedTuple):
    """One thing that happens."""

    what: str
    ask: int = 0
    who: str = ""
    how: str = ""


def steps(
    what: str,
    ask: st.SearchStrategy[int] = ASKS,
    who: st.SearchStrategy[str] = SESSIONS,
    how: str | tuple[str, ...] = "-",
) -> st.SearchStrategy[Do]:
    """All the ways in which one thing can happen."""
    return st.builds(Do, what=st.just(what), ask=ask, who=who, how=st.sampled_from(how))


STEPS = st.one_of(
    steps("vote", who=st.sampled_from(PEOPLE), how="adsc"),
    steps("take back", who=st.sampled_from(PEOPLE)),
    steps("await"),
    steps("claim", how=("", "over")),
    steps("resolve"),
    steps("withdraw"),
    steps("pass", how=("1000", "600000", "3600000")),
    *(steps(what) for what in ("sweep", "restart", "again")),
)


def asker(session: str) -> Asker:
    return Asker(agent="claude", session=session, project="p", cwd="/")


def viewer(person: str) -> Viewer:
    return Viewer(session_id="s", person=person, name=person, role="owner", kind="page")


class Node:
    """Desks on a store, which can be closed and opened again."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.times = SetTimes()
        self.asks: list[str] = []
        self.told: list[tuple[str, str, int | None]] = []
        """(ask, state, token) of every answer that reached an agent under a new request."""
        self.requests = 0
        self.last: Any = None

    def open(self) -> None:
        self.kept = Kept(self.home, found(self.home, self.times), lambda _name: None)
        self.reader = Reader(self.home)
        context = context_of(self.kept, self.reader)
        self.answers = Answers(context)
        self.agents = AgentDesk(context, SessionBook(), RulesStore(context))
        self.sweeper = Sweeper(context, self.answers)

    async def close(self) -> None:
        await self.kept.writer.close()
        await asyncio.sleep(0)
        self.reader.close()

    async def begin(self) -> None:
        self.open()
        await self.kept.writer.run("people", _people)
        for flag in (
            Flag(kind="approval", title="A", call={"tool": "deploy"}, deadline_s=7_200),
            Flag(kind="question", title="Q", options=[OptionRequest(label="left")]),
            Flag(kind="approval", title="B", deadline_s=60),
        ):
            flagged = await self.agents.flag(asker("one"), flag, request=self._request())
            self.asks.append(flagged.full_id)

    def _request(self) -> str:
        self.requests += 1
        return f"r{self.requests}"

    async def do(self, step: Do) -> None:
        """Carry one step out; what is refused in words is fine."""
        if step.what == "restart":
            await self.close()
            self.open()
            await self.answers.rule_open()
            return
        with contextlib.suppress(AskmeshError):
            await self._do(step, self.asks[step.ask])

    async def _do(self, step: Do, ask: str) -> None:
        who = asker(step.who)
        if step.what == "vote":
            await self.answers.vote(viewer(step.who), ask, self._ballot(ask, step.how))
        elif step.what == "take back":
            await self.answers.take_back(viewer(step.who), ask)
        elif step.what in ("await", "claim", "again"):
            await self._fetch(step, who, ask)
        elif step.what == "resolve":
            await self.agents.resolve(
                who, ask, token=None, outcome="x", ok=True, request=self._request()
            )
        elif step.what == "withdraw":
            await self.agents.withdraw(who, ask, reason="x", request=self._request())
        elif step.what == "pass":
            self.times.advance(int(step.how))
        else:
            await self.sweeper.sweep()

    async def _fetch(self, step: Do, who: Asker, ask: str) -> None:
        if step.what == "again":
            # The reply was lost and the very same request comes once more.
            if self.last is not None:
                reply, asked_then = self.last
                assert await asked_then() == reply
            return
        request = self._request()

        async def asked() -> Any:  # noqa: ANN401 -- an answer
            if step.what == "await":
                return await self.agents.await_answer(
                    who, ask, wait_s=0, request=request, progress=None
                )
            return await self.agents.claim(who, ask, take_over=bool(step.how), request=request)

        reply = await asked()
        if reply.state == "waiting":
            return
        self.last = reply, asked
        self.told.append((ask, reply.state, reply.token))

    def _ballot(self, ask: str, how: str) -> Ballot:
        (row,) = looked(self.home, f"SELECT entry_hash FROM ask WHERE id = '{ask}'")  # noqa: S608
        seen = row[0].hex() if isinstance(row[0], bytes) else ""
        question = ask == self.asks[1]
        if how == "s":
            return Ballot(decision="deny", seen="00" * 32)
        if how == "a":
            decided = "answer" if question else "allow"
            return Ballot(decision=decided, seen=seen, text="x" if question else None)  # type: ignore[arg-type]
        if how == "c":
            return Ballot(decision="answer", seen=seen, choice="1")
        return Ballot(decision="decline" if question else "deny", seen=seen)


def _people(transaction: Transaction) -> None:
    by = None
    for person in PEOPLE:
        facts = say.PersonFacts(person=person, name=person, role="owner", by=by, at=1)
        transaction.append(EntryType.PERSON, facts)
        transaction.append(
            EntryType.SPEAKS_FOR,
            say.SpeaksForFacts(
                node=transaction.identity.key.node_id, person=person, on=True, by=by, at=1
            ),
        )
        by = PEOPLE[0]


def entries(home: Path, kind: EntryType) -> list[Any]:
    """The facts of all entries of a type, in their order."""
    rows = looked(home, f"SELECT facts FROM entry WHERE type = {kind.value} ORDER BY n")  # noqa: S608
    return [say.read(say.FACTS[kind], row[0]) for row in rows if isinstance(row[0], bytes)]


def check(node: Node) -> None:
    """What must be so after any life."""
    home = node.home
    kinds = {str(ask): str(kind) for ask, kind in looked(home, "SELECT id, kind FROM ask")}
    finals = {final.ask: final for final in entries(home, EntryType.FINAL)}
    assert len(finals) == len(entries(home, EntryType.FINAL)), "two finals for one ask"
    for ask, final in finals.items():
        assert Kind(kinds[ask]) in DECIDED
        assert Outcome(final.outcome) in OUTCOMES[Kind(kinds[ask])]
        assert bool(final.votes) is (final.outcome not in ("expired", "withdrawn"))
    handed: Counter[str] = Counter()
    void: Counter[str] = Counter()
    for over in entries(home, EntryType.HANDOVER):
        assert over.ask in finals
        if over.status == "void":
            void[over.ask] += 1
            assert not handed[over.ask], "void after it was handed over"
        else:
            handed[over.ask] += 1
            assert not void[over.ask], "handed over after it was void"
            assert over.token == handed[over.ask]
    for ask, kind in kinds.items():
        assert void[ask] <= 1
        assert kind == "question" or handed[ask] <= 1
    check_told(node, handed)
    rulings = Counter(ruling.vote for ruling in entries(home, EntryType.RULING))
    assert set(rulings.values()) <= {1}
    assert len(rulings) == len(entries(home, EntryType.VOTE)), "a vote without its ruling"
    numbers = [row[0] for row in looked(home, "SELECT n FROM event ORDER BY n")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert compare(home) == []
    assert unsound(home) == []


def check_told(node: Node, handed: Counter[str]) -> None:
    """What agents were told is what was committed before."""
    for ask in node.asks:
        verdicts = [
            (state, token) for one, state, token in node.told if one == ask and state != "void"
        ]
        if ask != node.asks[1]:
            assert len(verdicts) <= handed[ask]
        assert len({state for state, _ in verdicts}) <= 1, "two verdicts for one ask"
        tokens = [token for _, token in verdicts]
        assert all(token is not None for token in tokens)
        assert tokens == sorted(tokens, key=lambda token: token or 0)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEPS, max_size=25))
def test_any_life_keeps_the_promises(steps: list[Do]) -> None:
    async def life(home: Path) -> None:
        node = Node(home)
        await node.begin()
        try:
            for step in steps:
                await node.do(step)
        finally:
            await node.close()
        check(node)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(life(Path(folder) / "home"))
