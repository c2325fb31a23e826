"""A vote whose ruling the store could not take: it is kept, said to be kept, and ruled later."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from node.desk.answers import Answers
from node.desk.rows import by_id
from node.desk.sweeper import UNRULED_MS, Sweeper
from node.store.reader import Reader
from node.store.transaction import Transaction
from node.store.writer import Job, Writer
from sync.errors import StoreError, StoreFull
from sync.log.facts import AskFacts, AskText, PersonFacts, SpeaksForFacts, VoteFacts
from sync.log.kinds import EntryType
from sync.log.names import ask_name
from tests.node.desk.desks import context_of
from tests.node.store.stores import SetTimes, writing
from web.desk import Ballot, Viewer

ANN = Viewer(session_id="s", person="ann", name="Ann", role="owner", kind="page")


class Fillable:
    """A writer whose disk is full for jobs of one name, while told so."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.full_for: str | None = None
        self.trouble: StoreError | None = None

    async def run(self, name: str, job: Job[Any]) -> Any:  # noqa: ANN401 -- a job's result
        if name == self.full_for:
            raise StoreFull
        return await self.writer.run(name, job)


class Desk(NamedTuple):
    """An open approval, and who decides on it."""

    ask: str
    writer: Fillable
    answers: Answers
    sweeper: Sweeper
    times: SetTimes

    def row(self) -> tuple[str, str | None]:
        found = by_id(self.writer.writer._connection, self.ask)
        assert found is not None
        return found.state, found.outcome

    def allow(self) -> Ballot:
        found = by_id(self.writer.writer._connection, self.ask)
        assert found is not None
        return Ballot(decision="allow", seen=found.entry_hash.hex())


def _begun(transaction: Transaction) -> None:
    now, node = transaction.now, transaction.identity.key.node_id
    transaction.append(
        EntryType.PERSON, PersonFacts(person="ann", name="Ann", role="owner", at=now)
    )
    transaction.append(
        EntryType.SPEAKS_FOR, SpeaksForFacts(node=node, person="ann", on=True, at=now)
    )
    facts = AskFacts(
        number=1,
        kind="approval",
        agent="claude",
        session="s",
        project="p",
        created=now,
        deadline=now + 1_000_000,
    )
    transaction.append(EntryType.ASK, facts, AskText(title="Deploy"))


@asynccontextmanager
async def desk_in(home: Path) -> AsyncIterator[Desk]:
    times = SetTimes()
    async with writing(home, times=times) as kept:
        await kept.writer.run("begin", _begun)
        writer, reader = Fillable(kept.writer), Reader(home)
        context = context_of(kept, reader, writer=cast("Writer", writer))
        answers = Answers(context)
        ask = ask_name(kept.opened.identity.key.node_id, 1)
        yield Desk(ask, writer, answers, Sweeper(context, answers), times)
        reader.close()


async def test_it_is_said_to_be_recorded_and_ruled_on_later(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        desk.writer.full_for = "rule"
        receipt = await desk.answers.vote(ANN, desk.ask, desk.allow())
        assert receipt.state == "recorded"
        assert (receipt.ask.card.state, receipt.ask.card.actions) == ("sending", ["take_back"])
        desk.times.advance(UNRULED_MS)
        with pytest.raises(StoreFull):
            await desk.sweeper.sweep()
        desk.writer.full_for = None
        await desk.sweeper.sweep()
        assert desk.row() == ("closed", "allowed")


async def test_the_sweeper_leaves_a_vote_to_the_one_who_just_recorded_it(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        desk.writer.full_for = "rule"
        await desk.answers.vote(ANN, desk.ask, desk.allow())
        desk.writer.full_for = None
        assert await desk.sweeper.sweep() <= UNRULED_MS / 1_000
        assert desk.row() == ("waiting", None)


async def test_a_vote_by_a_clock_that_is_ahead_waits_no_longer(tmp_path: Path) -> None:
    """It came while this machine was on hold: nothing but the sweeper rules on it then."""
    async with desk_in(tmp_path) as desk:

        def vote(transaction: Transaction) -> None:
            seen = bytes.fromhex(desk.allow().seen)
            at = transaction.now + 10 * 60_000
            facts = VoteFacts(ask=desk.ask, person="ann", decision="allow", seen=seen, at=at)
            transaction.append(EntryType.VOTE, facts)

        await desk.writer.run("vote", vote)
        assert await desk.sweeper.sweep() <= UNRULED_MS / 1_000
        desk.times.advance(UNRULED_MS)
        await desk.sweeper.sweep()
        assert desk.row() == ("closed", "allowed")


async def test_it_can_be_taken_back_before_it_is_ruled_on(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        desk.writer.full_for = "rule"
        await desk.answers.vote(ANN, desk.ask, desk.allow())
        receipt = await desk.answers.take_back(ANN, desk.ask)
        assert receipt.state == "recorded"
        desk.writer.full_for = None
        assert await desk.answers.rule_open() == 1
        # What never was an answer leaves the ask open for another one.
        assert desk.row() == ("waiting", None)


async def test_a_vote_that_was_not_recorded_is_refused(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk:
        desk.writer.full_for = "vote"
        with pytest.raises(StoreFull, match="nothing was recorded"):
            await desk.answers.vote(ANN, desk.ask, desk.allow())
        assert await desk.answers.rule_open() == 0
        assert desk.row() == ("waiting", None)
