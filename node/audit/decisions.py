"""The line of one ask: what was asked, who decided, what became of it."""

import sqlite3
from collections.abc import Sequence

from node.audit.became import WORDS, Became, became
from node.audit.life import Life, life
from node.audit.names import Names, cut, short_id, utc
from node.audit.proof import Found, Proof, text_of
from node.audit.votes import Votes
from node.desk import persons
from node.desk.rows import AskRow, Words, standing
from node.desk.votes import allows
from node.store import erasing
from sync.decide.ask import Outcome
from sync.decide.handover import Status, outcome_unknown
from sync.decide.verdict import Maker, nobody_in_time, verdict, withdrawn
from sync.log.facts import AskText, FinalText, ResolvedText
from web.audit_views import (
    AuditAsk,
    AuditErased,
    AuditHandover,
    AuditLine,
    AuditResolved,
    AuditRule,
    AuditVote,
)


class Decisions:
    """Makes the lines of asks from one snapshot of the store."""

    def __init__(
        self, connection: sqlite3.Connection, names: Names, proof: Proof, *, own: str, now: int
    ) -> None:
        self._connection = connection
        self._names = names
        self._proof = proof
        self._votes = Votes(connection, names, proof)
        self._own = own
        self._now = now

    def line(self, row: AskRow, found: Found) -> AuditLine:
        """Return the line of an ask; what is wrong with it goes into `found`."""
        lived = life(self._connection, row, self._proof, found)
        asked = text_of(lived.asked, AskText)
        words = Words(title="" if asked is None else asked.title, ask=asked)
        votes, more = self._votes.on(row, words, lived.made, found)
        closer = next((vote for vote in votes if vote.in_final and _closes(vote, row)), None)
        ask = self._ask(row, lived, words, votes, more)
        where = row.closed_on or row.home
        at = row.created if row.closed is None else row.closed
        return AuditLine(
            id=row.id,
            at=at,
            at_utc=utc(at),
            what="ask",
            summary=self.summary(row, ask),
            by=None if row.closed_by is None else self._names.person(row.closed_by),
            by_id=row.closed_by,
            machine=self._names.machine(where),
            machine_id=where,
            session=None if closer is None else closer.session,
            ask=ask,
            check="holds",
            findings=[],
        )

    def _ask(
        self, row: AskRow, lived: Life, words: Words, votes: list[AuditVote], more: int
    ) -> AuditAsk:
        final = text_of(lived.final, FinalText)
        call = None if words.ask is None else words.ask.call
        return AuditAsk(
            short=short_id(row.id),
            kind=row.kind,
            title=cut(words.title),
            call=None if call is None else cut(f"{call.tool}: {call.summary}"),
            agent=row.agent,
            session=row.session,
            project=row.project,
            enforced=bool(row.enforced),
            rule=AuditRule(name=row.rule.name, version=row.rule.version) if row.rule else None,
            needed=row.needed,
            role=row.role,
            raised=row.created,
            deadline=row.deadline,
            outcome="unclear" if row.unclear else row.outcome,
            unclear=bool(row.unclear),
            choice=words.label(row.choice) or row.choice,
            reason=cut((final.reason if final else None) or row.reason),
            waited_ms=None if row.closed is None else max(0, row.closed - row.created),
            became=self.became(row).value,
            votes=votes,
            more_votes=more,
            handover=_handover(row),
            resolved=_resolved(row, lived),
            erased=self._erased(row, words),
        )

    def became(self, row: AskRow) -> Became:
        """Return what became of an ask, as far as this machine knows."""
        # Sessions of other machines are heard of there; what their home signed is known here.
        far = None if row.home == self._own else 0
        held = standing(self._connection, row, far=far)
        return became(held.state, held.outcome, unknown=outcome_unknown(held, self._now))

    def _erased(self, row: AskRow, words: Words) -> AuditErased | None:
        if words.here:
            return None
        said = erasing.redacted(self._connection, row.id)
        if said is None:
            return AuditErased(by=None, at=None)
        return AuditErased(by=self._names.person(said.person), at=said.at)

    def summary(self, row: AskRow, ask: AuditAsk) -> str:
        """Return who decided what, and what became of it, in one sentence."""
        if row.outcome is None:
            counts = allows(self._connection, row, persons.everyone(self._connection))
            so_far = f": {counts} of {row.needed} so far" if row.needed > 1 else ""
            return f"Nobody has decided yet{so_far}."
        if row.outcome == Outcome.EXPIRED.value:
            return f"{nobody_in_time(row.needed)}."
        if row.outcome == Outcome.WITHDRAWN.value:
            # A reason among the facts is the machine's own: the agent gives words.
            agent = row.agent if row.reason is None else None
            return f"{withdrawn(agent, ask.reason).rstrip('.')}."
        head = verdict(
            Outcome(row.outcome),
            self._makers(row, ask.votes),
            unclear=ask.unclear,
            label=ask.choice,
        )
        return f"{head}; {self._end(ask)}."

    def _makers(self, row: AskRow, votes: Sequence[AuditVote]) -> list[Maker]:
        """Everyone whose vote made the final; of what cannot be read, as it is kept."""
        made = [vote for vote in votes if vote.in_final and vote.decision != "take_back"]
        if made:
            return [Maker(name=vote.person, machine=vote.machine) for vote in made]
        machine = self._names.machine(row.closed_on) if row.closed_on else None
        name = self._names.person(row.closed_by) if row.closed_by else "nobody known"
        return [Maker(name=name, machine=machine)]

    def _end(self, ask: AuditAsk) -> str:
        state = Became(ask.became)
        if state is Became.VOID and ask.handover and ask.handover.reason:
            return f"void: {ask.handover.reason}"
        if state is Became.SPENT and ask.resolved:
            return "the agent says it is done" if ask.resolved.ok else "the agent says it failed"
        return WORDS[state]


def _closes(vote: AuditVote, row: AskRow) -> bool:
    return (vote.person_id, vote.machine_id) == (row.closed_by, row.closed_on)


def _handover(row: AskRow) -> AuditHandover | None:
    if row.handover is None or row.handover_at is None:
        return None
    return AuditHandover(
        status=Status(row.handover).value,
        session=row.handed_to,
        token=row.token,
        reason=row.handover_why,
        at=row.handover_at,
    )


def _resolved(row: AskRow, lived: Life) -> AuditResolved | None:
    if row.resolved_at is None:
        return None
    said = text_of(lived.resolved, ResolvedText)
    return AuditResolved(
        ok=bool(row.resolved_ok), text=cut(said.outcome if said else None), at=row.resolved_at
    )
