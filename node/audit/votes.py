"""The votes of one ask, as they were signed, and what its home said to them."""

import sqlite3
from collections.abc import Collection
from typing import Final

import msgspec

from node.audit.names import Names, cut
from node.audit.proof import Found, Proof, compare, facts_of, text_of
from node.desk import persons
from node.desk.rows import AskRow, Words
from node.desk.votes import uncounted
from sync.decide.vote import Ruling
from sync.log.facts import VoteFacts, VoteText
from sync.log.names import node_name
from web.audit_views import AuditVote
from web.limits import AUDIT_VOTES

VOTES: Final = (
    "SELECT hash, node, person, decision, choice, unclear, seen, at, ruling FROM vote"
    " WHERE ask = ? ORDER BY n LIMIT ?"
)


class _Row(msgspec.Struct, frozen=True):
    """A vote as the table has it."""

    hash: bytes
    node: str
    person: str
    decision: str
    choice: str | None
    unclear: int
    seen: bytes
    at: int
    ruling: str | None


class Votes:
    """Reads the votes on asks from one snapshot of the store."""

    def __init__(self, connection: sqlite3.Connection, names: Names, proof: Proof) -> None:
        self._connection = connection
        self._names = names
        self._proof = proof

    def on(
        self, row: AskRow, words: Words, made: Collection[bytes], found: Found
    ) -> tuple[list[AuditVote], int]:
        """Return the votes on an ask in their order, and how many more there are.

        `made`: the hashes of those that its final rests on; one that is not kept is a finding.
        """
        query = self._connection.execute
        kept = [_Row(*record) for record in query(VOTES, (row.id, AUDIT_VOTES)).fetchall()]
        (count,) = query("SELECT count(*) FROM vote WHERE ask = ?", (row.id,)).fetchone()
        for vote in set(made) - {vote.hash for vote in kept}:
            known = query("SELECT ask FROM vote WHERE hash = ?", (vote,)).fetchone()
            if known != (row.id,):
                found.fails.append("a vote that its final rests on is not kept here")
        beside = uncounted(self._connection, row, persons.everyone(self._connection))
        shown = [
            self._vote(row, one, words, made, found, adds_nothing=one.hash in beside)
            for one in kept
        ]
        return shown, max(0, count - len(kept))

    def _vote(
        self,
        row: AskRow,
        vote: _Row,
        words: Words,
        made: Collection[bytes],
        found: Found,
        *,
        adds_nothing: bool,
    ) -> AuditVote:
        named = f"the vote of {self._names.person(vote.person)}"
        entry = self._proof.entry(vote.hash, named, found)
        facts = facts_of(entry, VoteFacts, named, found)
        if entry is not None and facts is not None:
            signed = {**msgspec.structs.asdict(facts), "node": node_name(entry.header.author)}
            compare(named, _kept(row, vote), signed, found)
        if made and not _ruled_so(vote, in_final=vote.hash in made):
            found.fails.append(f"what is kept as the ruling on {named} is not what its final says")
        said = text_of(entry, VoteText) or VoteText()
        return AuditVote(
            person=self._names.person(vote.person),
            person_id=vote.person,
            machine=self._names.machine(vote.node),
            machine_id=vote.node,
            session=None if facts is None else facts.session,
            decision=vote.decision,
            unclear=bool(vote.unclear),
            choice=words.label(vote.choice) or vote.choice,
            text=cut(said.text),
            because=cut(said.because),
            at=vote.at,
            ruling=vote.ruling,
            in_final=vote.hash in made,
            uncounted=adds_nothing,
        )


def _ruled_so(vote: _Row, *, in_final: bool) -> bool:
    """Whether a ruling fits the final: what made it was counted, and nothing else was accepted."""
    if in_final:
        return vote.ruling in (Ruling.ACCEPTED.value, Ruling.COUNTED.value)
    return vote.ruling != Ruling.ACCEPTED.value


def _kept(row: AskRow, vote: _Row) -> dict[str, object]:
    return {
        "ask": row.id,
        "node": vote.node,
        "person": vote.person,
        "decision": vote.decision,
        "choice": vote.choice,
        "unclear": vote.unclear,
        "seen": vote.seen,
        "at": vote.at,
    }
