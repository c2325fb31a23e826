"""From entries to tables: what each entry that counts changes.

Every function here depends on the entry and the tables alone, so that applying the whole
log again gives the same tables (`node.store.derive`). Between logs of different authors
the order makes no difference.
"""

import sqlite3
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from node.store import (
    attention_tables,
    board_tables,
    erasing,
    marks,
    membership_tables,
    message_tables,
    numbers,
)  # fmt: skip
from sync.decide.ask import DECIDED, AskState, Kind, Outcome, Step, advance
from sync.decide.handover import Status
from sync.decide.people import Act, may
from sync.decide.recheck import Closing, Counted, voted_rightly, votes_of
from sync.decide.vote import Decision
from sync.errors import BadEntry, IllegalStep
from sync.log import facts as say
from sync.log.entry import HASH_BYTES, Entry
from sync.log.kinds import EntryType
from sync.log.names import node_name

APPLIED = (
    "ask", "vote", "ruling", "mark", "needless", "unproven", "redaction", "redacted",
    *attention_tables.TABLES, *message_tables.TABLES, *board_tables.TABLES,
)  # fmt: skip
"""The tables that `project` writes."""
DERIVED = ("head", *membership_tables.TABLES, *APPLIED)
"""The tables that are rebuilt from the log."""
NOTHING = ""
"""The name of no ask: what rests on it keeps no later entry waiting."""
POSTED = "posted"
"""The state of notes and results in `ask`."""

_json = msgspec.json.Encoder().encode
_names = msgspec.json.Decoder(list[str]).decode

# A word outside of these is a newer node's: kept in the log, and not applied, like an
# unknown type. Nothing that reads the tables then meets a word it has no answer for.
_ANSWERED = frozenset(kind.value for kind in DECIDED)
_READ = frozenset(kind.value for kind in Kind if kind not in DECIDED)
_DECISIONS = frozenset(decision.value for decision in Decision)
_OUTCOMES = frozenset(outcome.value for outcome in Outcome)
_STEPS = {Status.HANDED.value: Step.HAND, Status.VOID.value: Step.VOID}


class Arrived(msgspec.Struct, frozen=True, kw_only=True):
    """An entry with its hash and its place in the order of arrival."""

    entry: Entry
    hash: bytes
    n: int

    @property
    def author(self) -> str:
        """The author's id as text."""
        return node_name(self.entry.header.author)


class _UnprovenError(Exception):
    """A final names statements that are not here, or something rests on such a final."""

    def __init__(self, ask: str) -> None:
        super().__init__(ask)
        self.ask = ask


FAULTS = (
    BadEntry, IllegalStep, ValueError, OverflowError, sqlite3.IntegrityError, _UnprovenError,
)  # fmt: skip
"""What an entry raises that changes nothing: nobody could say it, or it waits for others."""
Apply = Callable[[sqlite3.Connection, Arrived], str | None]
"""Returns the ask that the entry is about, None where it changed nothing."""


def project(
    connection: sqlite3.Connection, entry: Entry, entry_hash: bytes, n: int, *, own: bool = False
) -> str | None:
    """Apply one stored entry that counts; statements and unknown types change nothing here.

    Returns the ask that it is about, None where it changed nothing. What its author had no
    right to say, or could not mean, changes nothing either: it stays in the log, and every
    node leaves it out alike. A job of this node that makes such an entry (`own`) fails
    instead. Raises `IllegalStep`, `BadEntry` then.
    """
    apply = _APPLY.get(entry.header.type)
    if apply is None:
        return None
    connection.execute("SAVEPOINT entry")
    try:
        ask = apply(connection, Arrived(entry=entry, hash=entry_hash, n=n))
    except _UnprovenError as waits:
        if own:
            raise BadEntry("A final of ours names statements that are not here.") from None
        connection.execute("ROLLBACK TO entry")
        connection.execute("INSERT INTO unproven VALUES (?, ?)", (entry_hash, waits.ask))
        ask = None
    except FAULTS:
        if own:
            raise
        connection.execute("ROLLBACK TO entry")
        ask = None
    connection.execute("RELEASE entry")
    return ask


def project_sound(
    connection: sqlite3.Connection, entry: Entry, entry_hash: bytes, n: int
) -> str | None:
    """As `project`, without its savepoint. Raises one of `FAULTS`: take back the whole run."""
    apply = _APPLY.get(entry.header.type)
    return apply and apply(connection, Arrived(entry=entry, hash=entry_hash, n=n))


def _ask(connection: sqlite3.Connection, arrived: Arrived) -> str | None:
    facts = say.read(say.AskFacts, arrived.entry.facts)
    if facts.kind not in _ANSWERED:
        return None
    if facts.blob is not None and len(facts.blob) != HASH_BYTES:
        raise BadEntry("An ask names a blob by what is no hash.")
    ask = numbers.taken(connection, arrived.entry, facts.number)
    connection.execute(
        "INSERT INTO ask (id, home, number, fleet, kind, state, entry_hash, agent, session,"
        " project, created, deadline, enforced, rule_name, rule_version, needed, role, not_by,"
        " contract, call_mac, blob, call_size, options, revision)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            ask,
            arrived.author,
            facts.number,
            arrived.entry.header.fleet,
            facts.kind,
            AskState.WAITING.value,
            arrived.hash,
            facts.agent,
            facts.session,
            facts.project,
            facts.created,
            facts.deadline,
            facts.enforced,
            *((facts.rule.name, facts.rule.version) if facts.rule else (None, None)),
            facts.quorum.needed,
            facts.quorum.role,
            _json(facts.quorum.not_by).decode(),
            facts.contract,
            facts.call_mac,
            facts.blob,
            facts.call_size,
            _json(facts.options).decode(),
            facts.revision,
        ),
    )
    attention_tables.escalation(connection, ask, facts)
    return ask


def _note(connection: sqlite3.Connection, arrived: Arrived) -> str | None:
    facts = say.read(say.NoteFacts, arrived.entry.facts)
    if facts.kind not in _READ:
        return None
    ask = numbers.named(arrived.entry, facts.number)
    connection.execute(
        "INSERT INTO ask (id, home, number, fleet, kind, state, entry_hash, agent, session,"
        " project, created, contract, enforced, needed, call_size, options, revision)"
        " VALUES (?, ?, ?, ?, ?, 'posted', ?, ?, ?, ?, ?, ?, 0, 0, 0, '[]', 1)",
        (
            ask,
            arrived.author,
            facts.number,
            arrived.entry.header.fleet,
            facts.kind,
            arrived.hash,
            facts.agent,
            facts.session,
            facts.project,
            facts.created,
            facts.contract,
        ),
    )
    return ask


def _vote(connection: sqlite3.Connection, arrived: Arrived) -> str | None:
    facts = say.read(say.VoteFacts, arrived.entry.facts)
    if facts.decision not in _DECISIONS:
        return None
    connection.execute(
        "INSERT INTO vote (hash, n, ask, node, person, decision, choice, unclear, seen, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            arrived.hash,
            arrived.n,
            facts.ask,
            arrived.author,
            facts.person,
            facts.decision,
            facts.choice,
            facts.unclear,
            facts.seen,
            facts.at,
        ),
    )
    _ruled(connection, arrived.hash)
    return facts.ask


def _ruling(connection: sqlite3.Connection, arrived: Arrived) -> str | None:
    facts = say.read(say.RulingFacts, arrived.entry.facts)
    if facts.ask.rpartition("-")[0] != arrived.author:
        return None
    connection.execute(
        "INSERT INTO ruling VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (facts.vote, facts.ask, facts.ruling, facts.counted, facts.at),
    )
    _ruled(connection, facts.vote)
    return facts.ask


def _ruled(connection: sqlite3.Connection, vote: bytes) -> None:
    """Bring a vote and its ruling together, whichever arrived first."""
    connection.execute(
        "UPDATE vote SET ruling = ruling.ruling, counted = ruling.counted,"
        " ruled_at = ruling.ruled_at FROM ruling"
        " WHERE vote.hash = ? AND ruling.vote = vote.hash AND ruling.ask = vote.ask",
        (vote,),
    )


class _Life(NamedTuple):
    """Where an ask of the author's stands."""

    kind: Kind
    state: AskState
    seen: bytes
    final: bytes | None
    token: int
    needed: int
    role: str | None
    not_by: str

    def after(self, step: Step) -> str:
        return advance(self.kind, self.state, step).value


def _life(connection: sqlite3.Connection, arrived: Arrived, ask: str) -> _Life | None:
    """Return how an ask stands, None for one this author is not the home of."""
    row = connection.execute(
        "SELECT (SELECT 1 FROM unproven JOIN entry USING (hash) WHERE ask = ?1 AND n < ?2),"
        " home, kind, state, entry_hash, final_hash, token, needed, role, not_by"
        " FROM ask WHERE id = ?1",
        (ask, arrived.n),
    ).fetchone()
    if row is None or row[1] != arrived.author:
        return None
    # Of one author's entries, the earlier has the lower number wherever it came to.
    waits, _, kind, state, *rest = row
    if waits is not None:
        raise _UnprovenError(ask)
    # What is only read stands at no state of its own; its table of steps is empty.
    return _Life(Kind(kind), AskState.WAITING if state == POSTED else AskState(state), *rest)


def _votes(
    connection: sqlite3.Connection, arrived: Arrived, facts: say.FinalFacts, life: _Life
) -> list[Counted]:
    """Return the votes that made a final. Raises `BadEntry` where it does not follow from them."""
    fleet = arrived.entry.header.fleet
    quorum = say.Quorum(needed=life.needed, role=life.role, not_by=_names(life.not_by))
    votes = votes_of(facts, Closing(kind=life.kind, seen=life.seen, fleet=fleet, quorum=quorum))
    if votes:
        known = membership_tables.settled_as_of(connection, fleet, facts.people_heads)
        if known is None:
            raise _UnprovenError(facts.ask)
        voted_rightly(votes, known, life.role)
    return votes


def _final(connection: sqlite3.Connection, arrived: Arrived) -> str | None:
    facts = say.read(say.FinalFacts, arrived.entry.facts)
    if facts.outcome not in _OUTCOMES:
        return None
    life = _life(connection, arrived, facts.ask)
    if life is None:
        return None
    state = life.after(Step.CLOSE)
    votes = _votes(connection, arrived, facts, life)
    person = votes[-1].facts.person if votes else None
    signed_on = node_name(votes[-1].node) if votes else None
    connection.execute(
        "UPDATE ask SET state = ?, outcome = ?, unclear = ?, choice = ?, reason = ?,"
        " final_hash = ?, closed = ?, use_by = ?, closed_by = ?, closed_on = ? WHERE id = ?",
        (
            state,
            facts.outcome,
            facts.unclear,
            facts.choice,
            facts.reason,
            arrived.hash,
            facts.at,
            facts.use_by,
            person,
            signed_on,
            facts.ask,
        ),
    )
    return facts.ask


def _handover(connection: sqlite3.Connection, arrived: Arrived) -> str | None:
    facts = say.read(say.HandoverFacts, arrived.entry.facts)
    step = _STEPS.get(facts.status)
    if step is None:
        return None
    life = _life(connection, arrived, facts.ask)
    if life is None:
        return None
    state = life.after(step)
    least = life.token + 1 if step is Step.HAND else life.token
    if facts.final != life.final or facts.token < least:
        raise BadEntry("A hand-over is of another final, or its token does not rise.")
    connection.execute(
        "UPDATE ask SET state = ?, token = ?, handed_to = ?, handover = ?, handover_at = ?,"
        " handover_why = ?, lease_until = ? WHERE id = ?",
        (
            state,
            facts.token,
            facts.session,
            facts.status,
            facts.at,
            facts.reason,
            facts.lease_until,
            facts.ask,
        ),
    )
    connection.execute("INSERT OR REPLACE INTO handed VALUES (?, ?)", (facts.ask, arrived.hash))
    return facts.ask


def _resolved(connection: sqlite3.Connection, arrived: Arrived) -> str | None:
    facts = say.read(say.ResolvedFacts, arrived.entry.facts)
    life = _life(connection, arrived, facts.ask)
    if life is None:
        return None
    state = life.after(Step.RESOLVE)
    if facts.token != life.token:
        raise BadEntry("An outcome is of another hand-over than the one that stands.")
    connection.execute(
        "UPDATE ask SET state = ?, resolved_ok = ?, resolved_at = ?, resolved_hash = ?"
        " WHERE id = ?",
        (state, facts.ok, facts.at, arrived.hash, facts.ask),
    )
    return facts.ask


def _redacted(connection: sqlite3.Connection, arrived: Arrived) -> str | None:
    """Erase for good what an owner says, as of what was known where it was said."""
    facts = say.read(say.RedactedFacts, arrived.entry.facts)
    header = arrived.entry.header
    known = membership_tables.settled_as_of(connection, header.fleet, facts.heads)
    if known is None:
        raise _UnprovenError(NOTHING)
    by = known.person(facts.by)
    if not known.speaks(header.author, facts.by) or not may(by, Act.ERASE):
        raise BadEntry("A text was to be erased by someone who may not say so.")
    erasing.redact(connection, facts, arrived.hash, arrived.author)
    return facts.ask


def _message(connection: sqlite3.Connection, arrived: Arrived) -> str | None:
    if not message_tables.message(connection, arrived.entry, arrived.hash, arrived.n):
        raise _UnprovenError(NOTHING)
    return None


_APPLY: dict[int, Apply] = {
    EntryType.ASK: _ask,
    EntryType.NOTE: _note,
    EntryType.VOTE: _vote,
    EntryType.RULING: _ruling,
    EntryType.FINAL: _final,
    EntryType.HANDOVER: _handover,
    EntryType.RESOLVED: _resolved,
    EntryType.REDACTED: _redacted,
    EntryType.MARK: lambda at, said: marks.mark(at, said.entry),
    EntryType.SUBSCRIPTION: lambda at, said: attention_tables.subscription(at, said.entry),
    EntryType.MESSAGE: _message,
    EntryType.RECEIPT: lambda at, said: message_tables.receipt(at, said.entry),
    EntryType.BOARD: lambda at, said: board_tables.cells(at, said.entry, said.hash),
}
