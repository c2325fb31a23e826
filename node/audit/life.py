"""What was said of one ask from its raising to its end, each of it checked."""

import sqlite3
from typing import Final

import msgspec

from node.audit.became import state_of
from node.audit.proof import SOUND_FLEET, Found, Proof, compare, facts_of
from node.desk.rows import AskRow
from sync.decide.ask import Kind
from sync.decide.recheck import Closing, Counted, voted_rightly, votes_of
from sync.errors import BadEntry
from sync.log.entry import Entry, sha256
from sync.log.facts import AskFacts, FinalFacts, HandoverFacts, Part, PartType, ResolvedFacts
from sync.log.names import node_name

NOT_HERE: Final = "its final names statements that are not here yet"


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of an ask's life that can be believed, and what its final rests on."""

    asked: Entry | None
    final: Entry | None
    resolved: Entry | None
    votes: list[Counted]
    """Of the final, the deciding one last."""

    @property
    def made(self) -> list[bytes]:
        """The hashes of those votes."""
        return [sha256(vote.embedded.raw + vote.embedded.signature) for vote in self.votes]


class _More(msgspec.Struct, frozen=True):
    """What the row of an ask says besides."""

    fleet: bytes
    resolved_hash: bytes | None
    handed: bytes | None
    left: bool
    """Whether this machine has left the fleet in which it was raised."""
    unproven: bool


def life(connection: sqlite3.Connection, row: AskRow, proof: Proof, found: Found) -> Life:
    """Check an ask, its final, its hand-over and its outcome against the log."""
    record = connection.execute(
        "SELECT fleet, resolved_hash, (SELECT hash FROM handed WHERE ask = id),"
        " EXISTS (SELECT 1 FROM fleet_left WHERE fleet_left.fleet = ask.fleet),"
        " EXISTS (SELECT 1 FROM unproven WHERE unproven.ask = ask.id)"
        " FROM ask WHERE id = ?",
        (row.id,),
    ).fetchone()
    return _Checking(row, _More(*record), proof, found).life()


class _Checking:
    """The checking of one ask."""

    def __init__(self, row: AskRow, more: _More, proof: Proof, found: Found) -> None:
        self._row = row
        self._more = more
        self._proof = proof
        self._found = found

    def life(self) -> Life:
        """Check all of it."""
        row = self._row
        asked, facts = self._asked()
        final, votes = self._final(facts)
        if row.handover is not None:
            self._handover()
        done = row.resolved_at is not None
        resolved = self._resolved() if done else None
        if row.state != state_of(row.outcome, row.handover, resolved=done).value:
            self._found.fails.append(f"it is kept as {row.state}, which nobody said")
        return Life(asked=asked, final=final, resolved=resolved, votes=votes)

    def _read(
        self, entry_hash: bytes | None, kind: type[PartType], named: str
    ) -> tuple[Entry | None, PartType | None]:
        entry = self._proof.entry(entry_hash, named, self._found)
        return entry, facts_of(entry, kind, named, self._found)

    def _compare(self, named: str, entry: Entry, facts: Part, kept: dict[str, object]) -> None:
        signed = {**msgspec.structs.asdict(facts), "home": node_name(entry.header.author)}
        compare(named, {**kept, "home": self._row.home}, signed, self._found)

    def _asked(self) -> tuple[Entry | None, AskFacts | None]:
        row, named = self._row, "the ask"
        entry, facts = self._read(row.entry_hash, AskFacts, named)
        if entry is None or facts is None:
            return entry, facts
        kept: dict[str, object] = {
            "kind": row.kind,
            "number": row.number,
            "agent": row.agent,
            "session": row.session,
            "project": row.project,
            "created": row.created,
            "deadline": row.deadline,
            "enforced": row.enforced,
            "options": row.option_ids,
            "revision": row.revision,
            "quorum": row.quorum,
            "contract": row.contract,
            "call_mac": row.call_mac,
            "blob": row.blob,
            "call_size": row.call_size,
        }
        self._compare(named, entry, facts, kept)
        rule = (facts.rule.name, facts.rule.version) if facts.rule else (None, None)
        if (row.rule_name, row.rule_version) != rule:
            self._found.fails.append("the ask is kept under another rule than it was signed under")
        if entry.header.fleet != self._more.fleet:
            self._found.fails.append("the ask is of another fleet than it is kept under")
        return entry, facts

    def _final(self, asked: AskFacts | None) -> tuple[Entry | None, list[Counted]]:
        row, named, found = self._row, "the final", self._found
        if self._more.unproven and row.outcome is None:
            found.waits.append(NOT_HERE)
        if row.outcome is None:
            return None, []
        if row.final_hash is None:
            if not (self._more.left and row.outcome == "withdrawn"):
                found.fails.append("no entry says how it closed")
            return None, []
        entry, facts = self._read(row.final_hash, FinalFacts, named)
        if entry is None or facts is None:
            return None, []
        kept: dict[str, object] = {
            "ask": row.id,
            "seen": row.entry_hash,
            "outcome": row.outcome,
            "unclear": row.unclear,
            "choice": row.choice,
            "reason": row.reason,
            "at": row.closed,
            "use_by": row.use_by,
        }
        self._compare(named, entry, facts, kept)
        votes = [] if asked is None else self._votes(asked, facts)
        if votes or not facts.votes:
            by = (votes[-1].facts.person, node_name(votes[-1].node)) if votes else (None, None)
            if (row.closed_by, row.closed_on) != by:
                found.fails.append("it is kept as decided by someone else than its votes say")
        return entry, votes

    def _votes(self, asked: AskFacts, final: FinalFacts) -> list[Counted]:
        """The votes a final rests on: that they make it, and that those people might cast them."""
        row, fleet, found = self._row, self._more.fleet, self._found
        try:
            kind, quorum = Kind(row.kind), asked.quorum
            closing = Closing(kind=kind, seen=row.entry_hash, fleet=fleet, quorum=quorum)
            votes = votes_of(final, closing)
            known = self._proof.as_of(fleet, final.people_heads) if votes else None
            if known is not None:
                voted_rightly(votes, known, quorum.role)
            elif votes:
                found.waits.append(NOT_HERE)
        except BadEntry as error:
            found.fails.append(error.sentence[:1].lower() + error.sentence[1:].rstrip("."))
            return []
        if votes and not self._proof.fleet(fleet):
            found.fails.append(SOUND_FLEET)
        return votes

    def _handover(self) -> None:
        row, named = self._row, "the hand-over"
        if self._more.handed is None:
            if not (self._more.left and row.handover == "void"):
                self._found.fails.append("no entry says what became of its final")
            return
        entry, facts = self._read(self._more.handed, HandoverFacts, named)
        if entry is not None and facts is not None:
            kept: dict[str, object] = {
                "ask": row.id,
                "final": row.final_hash,
                "status": row.handover,
                "token": row.token,
                "session": row.handed_to,
                "reason": row.handover_why,
                "lease_until": row.lease_until,
                "at": row.handover_at,
            }
            self._compare(named, entry, facts, kept)

    def _resolved(self) -> Entry | None:
        row, named = self._row, "the agent's word on what came of it"
        entry, facts = self._read(self._more.resolved_hash, ResolvedFacts, named)
        if entry is None or facts is None:
            return None
        kept: dict[str, object] = {
            "ask": row.id,
            "token": row.token,
            "ok": row.resolved_ok,
            "at": row.resolved_at,
        }
        self._compare(named, entry, facts, kept)
        return entry
