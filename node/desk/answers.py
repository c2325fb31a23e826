"""Persons' answers: a vote is recorded first, then ruled on by the home, each durably.

The same ruling serves a vote that arrives from another node: whatever is not ruled on is
ruled on, also after a crash between the two commits.
"""

import logging
import sqlite3
from functools import partial

from node.desk import persons
from node.desk.closing import close, expire_if_due, void
from node.desk.context import Context
from node.desk.rows import AskRow, by_id, find, select, words
from node.desk.views import Looking
from node.store.transaction import Transaction
from sync.decide.ask import AskState, Kind
from sync.decide.final import Verdict, rule
from sync.decide.handover import Void
from sync.decide.people import eligible
from sync.decide.vote import Decision, Ruling, Vote, check_ballot
from sync.errors import Conflict, Invalid, NotAllowed, StoreError
from sync.log.entry import sha256
from sync.log.facts import (
    FinalFacts,
    FinalText,
    RulingFacts,
    VoteFacts,
    VoteText,
    read,
    read_text,
)
from sync.log.kinds import EntryType
from web.desk import AskClosed, Ballot, Viewer
from web.views import AskView, VoteReceipt

_log = logging.getLogger("askmesh.answers")

STANDING = (Ruling.ACCEPTED.value, Ruling.COUNTED.value)


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
            return row.id, self._record(transaction, row, viewer, decision, ballot)

        ask, vote = await context.writer.run("vote", job)
        return await self._ruled(viewer, ask, vote)

    async def take_back(self, viewer: Viewer, ask_id: str) -> VoteReceipt:
        """Take the viewer's own vote back; `Conflict` once it was handed over."""

        def job(transaction: Transaction) -> tuple[str, bytes]:
            row = find(transaction.connection, ask_id)
            own = transaction.row(
                "SELECT 1 FROM vote WHERE ask = ? AND person = ? AND decision != 'take_back'"
                " AND (ruling IS NULL OR ruling IN (?, ?))",
                row.id,
                viewer.person,
                *STANDING,
            )
            if own is None:
                raise Conflict("You have no answer here that could be taken back.")
            if row.state not in (AskState.WAITING.value, AskState.CLOSED.value):
                raise Conflict(
                    "It was handed over already, so it cannot be taken back.",
                    hint="Tell the agent, or deny what it asks next.",
                )
            blank = Ballot(decision="decline", seen=row.entry_hash.hex())
            return row.id, self._record(transaction, row, viewer, Decision.TAKE_BACK, blank)

        ask, vote = await self.context.writer.run("take_back", job)
        return await self._ruled(viewer, ask, vote)

    async def rule_open(self) -> int:
        """Rule on every vote that has no ruling yet (after a crash); return how many."""

        def read(connection: sqlite3.Connection) -> list[str]:
            return [
                ask
                for (ask,) in connection.execute(
                    "SELECT DISTINCT ask FROM vote WHERE ruling IS NULL"
                )
            ]

        asks = await self.context.reader.run(read)
        for ask in asks:
            await self.context.writer.run("rule", partial(self.rule, ask=ask))
        return len(asks)

    def rule(self, transaction: Transaction, ask: str) -> None:
        """Rule on every vote of an ask that has no ruling yet, in order of arrival."""
        row = by_id(transaction.connection, ask)
        if row is None or row.home != transaction.identity.name or row.posted:
            return
        waiting = transaction.rows(
            "SELECT hash, node, person, decision, seen, choice FROM vote"
            " WHERE ask = ? AND ruling IS NULL ORDER BY n",
            ask,
        )
        for record in waiting:
            row = self._rule_one(transaction, row, _vote(record))

    def _rule_one(self, transaction: Transaction, row: AskRow, vote: Vote) -> AskRow:
        standing = transaction.rows(
            "SELECT hash, node, person, decision, seen, choice FROM vote"
            " WHERE ask = ? AND (ruling IN (?, ?) OR (ruling = ? AND decision = 'take_back'))"
            " ORDER BY n",
            row.id,
            *STANDING,
            Ruling.TAKEN_BACK.value,
        )
        verdict = rule(
            row.to_decide(),
            vote,
            earlier=[_vote(record) for record in standing],
            person=persons.everyone(transaction.connection).get(vote.person),
            speaks_for=persons.speaks_for(
                transaction.connection, node_of(transaction, vote), vote.person
            ),
            final_by=self._final_by(transaction, row),
            now=transaction.now,
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
        return self._carry_out(transaction, row, vote, verdict)

    def _carry_out(
        self, transaction: Transaction, row: AskRow, vote: Vote, verdict: Verdict
    ) -> AskRow:
        if verdict.voids:
            return void(transaction, row, Void.TAKEN_BACK)
        if verdict.closes is None:
            return row
        if not verdict.made_by:
            return expire_if_due(transaction, row)
        (text,) = transaction.row("SELECT text FROM entry WHERE hash = ?", vote.hash)
        said = read_text(VoteText, text) or VoteText()
        return close(
            transaction,
            row,
            verdict.closes,
            votes=[made.hash for made in verdict.made_by],
            choice=vote.choice,
            text=FinalText(text=said.text, because=said.because),
        )

    def _final_by(self, transaction: Transaction, row: AskRow) -> list[bytes]:
        """The votes in the final itself: others may count and yet not have made it."""
        if row.final_hash is None:
            return []
        (facts,) = transaction.row("SELECT facts FROM entry WHERE hash = ?", row.final_hash)
        return [sha256(vote.raw + vote.signature) for vote in read(FinalFacts, facts).votes]

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
        if row.state != AskState.WAITING.value:
            raise self.closed(transaction.connection, row, viewer)
        check_ballot(
            Kind(row.kind),
            decision=Decision(ballot.decision),
            options=row.option_ids,
            choice=ballot.choice,
            text=ballot.text,
            because=ballot.because,
        )
        if ballot.seen != row.entry_hash.hex():
            raise Conflict(
                "This ask has changed since it was shown to you; nothing was recorded.",
                hint="Read it again, then answer.",
            )

    def _record(
        self,
        transaction: Transaction,
        row: AskRow,
        viewer: Viewer,
        decision: Decision,
        ballot: Ballot,
    ) -> bytes:
        entry = transaction.append(
            EntryType.VOTE,
            VoteFacts(
                ask=row.id,
                person=viewer.person,
                decision=decision.value,
                seen=row.entry_hash,
                choice=ballot.choice,
                at=transaction.now,
            ),
            VoteText(text=ballot.text, because=ballot.because),
        )
        transaction.change("ask", row.id)
        return entry.hash

    async def _ruled(self, viewer: Viewer, ask: str, vote: bytes) -> VoteReceipt:
        """Rule on the vote; the home is here, so nobody waits for another machine."""
        context = self.context
        try:
            await context.writer.run("rule", lambda transaction: self.rule(transaction, ask))
        except StoreError as error:
            # The vote is durable, so "nothing was recorded" would be wrong; the sweeper
            # rules on it once the store takes entries again.
            _log.warning("a vote waits for its ruling: %s", error.sentence)

        def read(connection: sqlite3.Connection) -> tuple[VoteReceipt, AskClosed | None]:
            row = by_id(connection, ask)
            if row is None:
                raise Conflict
            (ruling,) = connection.execute(
                "SELECT ruling FROM vote WHERE hash = ?", (vote,)
            ).fetchone()
            view = Looking(context, connection, viewer.person).ask(row)
            receipt = VoteReceipt(vote=vote.hex(), state=ruling or "recorded", ask=view)
            lost = ruling in (Ruling.SUPERSEDED.value, Ruling.LATE.value)
            return receipt, self.closed(connection, row, viewer, view) if lost else None

        receipt, closed = await context.reader.run(read)
        if closed is not None:
            raise closed
        return receipt

    def closed(
        self,
        connection: sqlite3.Connection,
        row: AskRow,
        viewer: Viewer,
        view: AskView | None = None,
    ) -> AskClosed:
        """Return the error that tells a person what became final instead."""
        looking = Looking(self.context, connection, viewer.person)
        view = view or looking.ask(row)
        final = looking.final(row, words(connection, row))
        if final is None:
            raise Conflict
        who = f" by {final.by}" if final.by else ""
        return AskClosed(
            f"It was {final.outcome}{who} before your answer came; yours does not count.",
            final=final,
            ask=view,
        )

    def open_approvals(self, transaction: Transaction) -> list[AskRow]:
        """Return the open approvals of this home."""
        return select(
            transaction.connection,
            "kind = 'approval' AND state = 'waiting' AND home = ?",
            (transaction.identity.name,),
        )


def node_of(transaction: Transaction, vote: Vote) -> str:
    """Return the id of the node that signed a vote."""
    (node,) = transaction.row("SELECT node FROM vote WHERE hash = ?", vote.hash)
    return str(node)


def _vote(record: tuple[bytes, str, str, str, bytes, str | None]) -> Vote:
    vote, node, person, decision, seen, choice = record
    return Vote(
        hash=vote,
        node=node.encode(),
        person=person,
        decision=Decision(decision),
        seen=seen,
        choice=choice,
    )
