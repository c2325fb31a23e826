"""Persons' answers: a vote is recorded first, then ruled on by the home, each durably.

The home may be another machine: the vote is then kept here until its ruling arrives. The
same ruling serves a vote that arrives from another node: whatever is not ruled on is
ruled on, also after a crash between the two commits.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Iterable
from functools import partial

from node.desk import accounts, far, persons
from node.desk.closing import close, expire_if_due, void
from node.desk.context import Context
from node.desk.rows import AskRow, by_id, find, words
from node.desk.views import Looking
from node.desk.votes import (
    counting_votes,
    final_votes,
    is_signed,
    taken_back,
    uncounted,
    unruled,
    words_of,
)
from node.store import erasing
from node.store.transaction import Transaction
from sync.decide.ask import AskState, Kind
from sync.decide.card_open import own_agent
from sync.decide.card_state import GONE, HomeState
from sync.decide.final import Verdict, rule
from sync.decide.handover import Void
from sync.decide.people import eligible
from sync.decide.vote import Decision, Ruling, Vote, check_ballot
from sync.errors import AskmeshError, Conflict, Invalid, NotAllowed, StoreError
from sync.log.facts import FinalText, RulingFacts, VoteFacts, VoteText
from sync.log.kinds import EntryType
from web.desk import AskClosed, Ballot, Viewer
from web.views import AskView, VoteReceipt

_log = logging.getLogger("askmesh.answers")

LOST = frozenset({Ruling.SUPERSEDED.value, Ruling.LATE.value})
NOT_RECORDED = "Your answer came after that and was not recorded."
UNCOUNTED = "uncounted"
"""What is told of an allow that is recorded, and adds nothing to another of its machine."""
YES = frozenset({Decision.ALLOW, Decision.ANSWER})
OPEN_OWN = (
    "SELECT hash FROM vote WHERE ask = ? AND person = ? AND decision != 'take_back'"
    " AND (ruling IS NULL OR ruling IN ('accepted', 'counted'))"
)
TAKES_BACK = 16
"""Votes one taking back names: far more than anyone gives on one ask between rulings."""

SESSION_SHOWN = 8
"""Characters of a session's id that tell the places of a person apart."""


class Answers:
    """Voting, taking back, and the home's rulings."""

    def __init__(self, context: Context) -> None:
        self.context = context

    async def vote(self, viewer: Viewer, ask_id: str, ballot: Ballot) -> VoteReceipt:
        """Record a vote and rule on it. Raises `AskClosed` when another final stands."""
        context = self.context
        decision = Decision(ballot.decision)
        await context.reader.run(lambda connection: self._blob_here(connection, ask_id, decision))

        def job(transaction: Transaction) -> tuple[str, bytes]:
            row = find(transaction.connection, ask_id)
            self._check(transaction, row, viewer, ballot)
            return row.id, self._record(transaction, row, viewer, ballot)

        ask, vote = await context.writer.run("vote", job)
        return await self._ruled(viewer, ask, vote, ballot.wait_s)

    async def take_back(self, viewer: Viewer, ask_id: str) -> VoteReceipt:
        """Take the viewer's own vote back; `Conflict` once it was handed over."""

        def job(transaction: Transaction) -> tuple[str, bytes]:
            row = find(transaction.connection, ask_id)
            self._check_home(transaction, row, viewer)
            own = [bytes(vote) for (vote,) in transaction.rows(OPEN_OWN, row.id, viewer.person)]
            if not own:
                raise Conflict("You have no answer here that could be taken back.")
            if row.state not in (AskState.WAITING.value, AskState.CLOSED.value):
                raise Conflict(
                    "It was handed over already, so it cannot be taken back.",
                    hint="Tell the agent, or deny what it asks next.",
                )
            blank = Ballot(decision="decline", seen=row.entry_hash.hex())
            named = own[-TAKES_BACK:]
            return row.id, self._record(transaction, row, viewer, blank, takes_back=named)

        ask, vote = await self.context.writer.run("take_back", job)
        return await self._ruled(viewer, ask, vote, 0.0)

    async def rule_open(self) -> int:
        """Rule on every vote that has no ruling yet (after a crash); return how many."""

        def read(connection: sqlite3.Connection) -> list[str]:
            return [
                ask
                for (ask,) in connection.execute(
                    "SELECT DISTINCT ask FROM vote JOIN ask ON ask.id = vote.ask"
                    " WHERE ruling IS NULL AND home = ? AND state != 'posted'",
                    (self.context.identity.name,),
                )
            ]

        asks = await self.context.reader.run(read)
        for ask in asks:
            await self.context.writer.run("rule", partial(self.rule, ask=ask))
        return len(asks)

    def arrived(self, transaction: Transaction, asks: Iterable[str]) -> None:
        """Rule on votes that were just stored, in the transaction that stored them.

        Asks of other machines, notes and names of no ask are passed over.
        """
        for ask in asks:
            self.rule(transaction, ask)

    def rule(self, transaction: Transaction, ask: str) -> None:
        """Rule on every vote of an ask that has no ruling yet, in order of arrival."""
        row = by_id(transaction.connection, ask)
        if row is None or row.home != transaction.identity.name or row.posted:
            return
        if transaction.silenced is not None:
            # The sweeper rules on it as soon as this machine may.
            return
        for vote in unruled(transaction.connection, ask):
            row = self._rule_one(transaction, row, vote)

    def _rule_one(self, transaction: Transaction, row: AskRow, vote: Vote) -> AskRow:
        connection = transaction.connection
        said = words_of(connection, vote.hash)
        people = persons.everyone(connection)
        verdict = rule(
            row.to_decide(),
            vote,
            earlier=counting_votes(connection, row, people),
            person=people.get(vote.person),
            speaks_for=persons.speaks_for(connection, vote.node.decode(), vote.person)
            and is_signed(connection, vote.hash),
            final_by=final_votes(connection, row),
            now=transaction.now,
            text=said.text,
            because=said.because,
            taken_back=taken_back(connection, row.id, vote),
            on_hold=accounts.refuses(connection, vote.person) is not None,
        )
        transaction.append(
            EntryType.RULING,
            RulingFacts(
                ask=row.id,
                vote=vote.hash,
                ruling=verdict.ruling.value,
                counted=verdict.counted,
                needed=verdict.needed,
                at=transaction.now,
            ),
        )
        transaction.change("ask", row.id)
        return self._carry_out(transaction, row, vote, verdict, said)

    def _carry_out(
        self,
        transaction: Transaction,
        row: AskRow,
        vote: Vote,
        verdict: Verdict,
        said: VoteText,
    ) -> AskRow:
        if verdict.voids:
            return void(transaction, row, Void.TAKEN_BACK)
        if verdict.closes is None:
            return row
        if not verdict.made_by:
            return expire_if_due(transaction, row)
        return close(
            transaction,
            row,
            verdict.closes,
            votes=[made.hash for made in verdict.made_by],
            choice=vote.choice,
            text=FinalText(text=said.text, because=said.because),
            unclear=vote.unclear,
        )

    def _blob_here(self, connection: sqlite3.Connection, ask_id: str, decision: Decision) -> None:
        """What is allowed must be readable: the exact call is here and is the signed one."""
        row = find(connection, ask_id)
        if decision is Decision.ALLOW and row.blob is not None:
            self.context.blobs.get(row.blob)

    def _check(self, transaction: Transaction, row: AskRow, viewer: Viewer, ballot: Ballot) -> None:
        person = persons.everyone(transaction.connection).get(viewer.person)
        if not eligible(person, row.role):
            raise NotAllowed(
                "You may see this, but not answer it.", hint="An owner can change your role."
            )
        if row.posted:
            raise Invalid(f"A {row.kind} is only read; nobody answers it.")
        accounts.check_answers(transaction.connection, viewer.person)
        self._check_home(transaction, row, viewer)
        if ballot.decision == Decision.ALLOW.value and viewer.person in row.quorum.not_by:
            raise NotAllowed(
                own_agent(row.role),
                hint="You can deny it; allowing it takes someone else.",
            )
        if row.state != AskState.WAITING.value:
            raise self.closed(transaction.connection, row, viewer)
        self._check_words(transaction.connection, row, Decision(ballot.decision))
        check_ballot(
            Kind(row.kind),
            decision=Decision(ballot.decision),
            options=row.option_ids,
            choice=ballot.choice,
            text=ballot.text,
            because=ballot.because,
            unclear=ballot.unclear,
        )
        if ballot.unclear and not (ballot.because or "").strip():
            raise Invalid(
                "Nothing says what is unclear, so the agent could not ask better.",
                hint="Write what you need to know.",
            )
        if ballot.seen != row.entry_hash.hex():
            raise Conflict(
                "This ask has changed since it was shown to you; nothing was recorded.",
                hint="Read it again, then answer.",
            )

    def _check_words(self, connection: sqlite3.Connection, row: AskRow, decision: Decision) -> None:
        """Refuse to say yes to what cannot be read, and anything to what is about to end."""
        if erasing.redacted(connection, row.id) is not None:
            raise Conflict("An owner had its text erased, so nobody can answer it any more.")
        if decision in YES and not words(connection, row).here:
            raise Conflict(
                "Its text is not on this machine, so it cannot be answered from here.",
                hint="Answer where it can be read.",
            )

    def _check_home(self, transaction: Transaction, row: AskRow, viewer: Viewer) -> None:
        """Refuse what can never count: the home is gone, or this node does not speak."""
        connection = transaction.connection
        machine = Looking(self.context, connection, None).machine(row.home).name
        state = far.sight(self.context, connection, row.home).state
        if state is HomeState.REMOVED:
            raise Conflict(f"{machine} is no machine of this fleet any more; nothing was recorded.")
        if state in GONE:
            raise Conflict(
                f"{machine} must join again before anyone can answer what it asks;"
                " nothing was recorded."
            )
        if not persons.speaks_for(connection, self.context.identity.name, viewer.person):
            raise NotAllowed(
                "This machine does not speak for you, so an answer from here would not count.",
                hint="Answer on a machine that is yours, or let an owner say that this one is.",
            )

    def _record(
        self,
        transaction: Transaction,
        row: AskRow,
        viewer: Viewer,
        ballot: Ballot,
        *,
        takes_back: list[bytes] | None = None,
    ) -> bytes:
        entry = transaction.append(
            EntryType.VOTE,
            VoteFacts(
                session=place_of(viewer),
                ask=row.id,
                person=viewer.person,
                decision=Decision.TAKE_BACK.value if takes_back else ballot.decision,
                seen=row.entry_hash,
                choice=ballot.choice,
                unclear=ballot.unclear and not takes_back,
                takes_back=takes_back or [],
                at=transaction.now,
            ),
            VoteText(text=ballot.text, because=ballot.because),
        )
        transaction.change("ask", row.id)
        return entry.hash

    async def _ruled(self, viewer: Viewer, ask: str, vote: bytes, wait_s: float) -> VoteReceipt:
        """Rule on the vote where the home is here; else wait for the home's ruling to come."""
        context = self.context
        if ask.rpartition("-")[0] == context.identity.name:
            try:
                await context.writer.run("rule", lambda transaction: self.rule(transaction, ask))
            except StoreError as error:
                # The vote is durable, so "nothing was recorded" would be wrong; the sweeper
                # rules on it once the store takes entries again.
                _log.warning("a vote waits for its ruling: %s", error.sentence)
        else:
            await self._until_ruled(ask, vote, wait_s)
        receipt, refused = await context.reader.run(
            partial(self._receipt, viewer=viewer, ask=ask, vote=vote)
        )
        if refused is not None:
            raise refused
        return receipt

    async def _until_ruled(self, ask: str, vote: bytes, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        with self.context.signals.of(ask) as changed:
            while True:
                changed.clear()
                ruling = await self.context.reader.run(partial(_ruling, vote=vote))
                left = until - loop.time()
                if ruling is not None or left <= 0:
                    return
                try:
                    await asyncio.wait_for(changed.wait(), left)
                except TimeoutError:
                    return

    def _receipt(
        self, connection: sqlite3.Connection, *, viewer: Viewer, ask: str, vote: bytes
    ) -> tuple[VoteReceipt, AskmeshError | None]:
        row = by_id(connection, ask)
        if row is None:
            raise Conflict
        ruling = _ruling(connection, vote)
        view = Looking(self.context, connection, viewer.person).ask(row)
        beside = vote in uncounted(connection, row, persons.everyone(connection))
        state = UNCOUNTED if beside else ruling or "recorded"
        receipt = VoteReceipt(vote=vote.hex(), state=state, ask=view)
        if ruling == Ruling.ON_HOLD.value:
            return receipt, accounts.held_at_home(connection, viewer.person, view.machine.name)
        # A ruling may be here before the final that it names.
        lost = ruling in LOST and row.outcome is not None
        closed = self.closed(connection, row, viewer, view, late=True) if lost else None
        return receipt, closed

    def closed(
        self,
        connection: sqlite3.Connection,
        row: AskRow,
        viewer: Viewer,
        view: AskView | None = None,
        *,
        late: bool = False,
    ) -> AskClosed:
        """Return the error that tells a person what became final instead.

        `late`: the answer is recorded, and came later than what closed the ask.
        """
        looking = Looking(self.context, connection, viewer.person)
        view = view or looking.ask(row)
        final = looking.final(row, words(connection, row))
        if final is None:
            raise Conflict
        yours = "Your answer came later and does not count." if late else NOT_RECORDED
        return AskClosed(f"{looking.ended(row)}. {yours}", final=final, ask=view)


def _ruling(connection: sqlite3.Connection, vote: bytes) -> str | None:
    row = connection.execute("SELECT ruling FROM vote WHERE hash = ?", (vote,)).fetchone()
    return None if row is None else row[0]


def place_of(viewer: Viewer) -> str:
    """Name the signed-in place of a vote: its kind and the beginning of its id, no secret."""
    return f"{viewer.kind} {viewer.session_id[:SESSION_SHOWN]}"
