"""A store with a long past: really signed entries, checked and applied as a node applies them.

What takes long in a node's own jobs is left out: a job, a savepoint and a look at who may for
each entry. Two thousand entries are signed, then inserted and projected in one go.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from node.clock import SystemTimes
from node.founding import open_store
from node.store import membership_tables
from node.store.projection import project_sound
from node.store.transaction import Identity, insert
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry, seal, sha256
from sync.log.facts import (
    AskFacts,
    AskText,
    CallLine,
    EmbeddedVote,
    FinalFacts,
    FinalText,
    HandoverFacts,
    NoteFacts,
    NoteText,
    NoText,
    Part,
    Quorum,
    ResolvedFacts,
    ResolvedText,
    RulingFacts,
    VoteFacts,
    VoteText,
    pack_facts,
    pack_text,
)
from sync.log.kinds import EntryType, log_of
from sync.log.names import ask_name
from tests.sync.log.entries import SALT

BATCH = 2_000
DAY_MS = 86_400_000
OLDEST_MS = 80 * DAY_MS
YOUNGEST_MS = 2 * DAY_MS
LIVES = (
    *["question resolved"] * 8,
    *["approval resolved"] * 4,
    *["question answered"] * 2,
    *["question expired"] * 2,
    *["question withdrawn"] * 2,
    "approval denied",
    "approval handed",
)
"""What became of twenty asks; beside them are as many notes."""
ENDS = {
    "resolved": "allowed",
    "handed": "allowed",
    "denied": "denied",
    "answered": "answered",
    "expired": "expired",
    "withdrawn": "withdrawn",
}
DECISIONS = {"allowed": "allow", "denied": "deny", "answered": "answer"}


class Past:
    """Writes the past of one machine into its own store; the node is not running."""

    def __init__(self, store: sqlite3.Connection, identity: Identity, now: int) -> None:
        self.store = store
        self.identity = identity
        self.now = now
        self.made = 0
        self.number = 0
        rows = store.execute(
            "SELECT log, seq, hash FROM head WHERE author = ?", (identity.key.node_id,)
        )
        self.heads = {log: Head(seq=seq, hash=head) for log, seq, head in rows}
        (self.person,) = store.execute("SELECT id FROM person").fetchone()
        self.people = membership_tables.heads(store)
        self._runs: dict[int, list[Entry]] = {0: [], 1: []}
        self._contents: list[tuple[str, str, bytes]] = []
        self._hlc = 0

    def write(self, entries: int) -> None:
        """Write so many entries, or up to five more."""
        row = self.store.execute("SELECT value FROM local WHERE name = 'number'").fetchone()
        self.number = 0 if row is None else int.from_bytes(row[0], "big")
        while self.made < entries:
            age = OLDEST_MS - (OLDEST_MS - YOUNGEST_MS) * self.made // entries
            self._life(LIVES[self.number // 2 % len(LIVES)], self.now - age)
            self._note(self.now - age)
            if sum(map(len, self._runs.values())) >= BATCH:
                self._flush()
        self._flush()

    def _sign(self, kind: EntryType, at: int, facts: Part, text: Part) -> Entry:
        log = log_of(kind)
        head = self.heads.get(log, EMPTY)
        self._hlc = max(self._hlc + 1, at << 16)
        made = seal(
            self.identity.key,
            fleet=self.identity.fleet,
            seq=head.seq + 1,
            prev=head.hash,
            hlc=self._hlc,
            entry_type=kind,
            facts=pack_facts(facts),
            text=pack_text(SALT, text),
        )
        self.heads[log] = Head(seq=made.header.seq, hash=made.hash)
        self._runs[log].append(made)
        self.made += 1
        return made

    def _next(self) -> str:
        self.number += 1
        return ask_name(self.identity.key.node_id, self.number)

    def _note(self, at: int) -> None:
        self._next()
        note = NoteFacts(
            number=self.number,
            kind="note",
            agent="claude",
            session=f"s-{self.number // 40 % 5_000}",
            project=f"example.org/team/app-{self.number % 20}",
            created=at,
        )
        text = NoteText(title=f"Row {self.number} of many is done", cwd="/work")
        self._sign(EntryType.NOTE, at, note, text)

    def _life(self, life: str, at: int) -> None:
        kind, _, end = life.partition(" ")
        ask = self._next()
        session = f"s-{self.number // 40 % 5_000}"
        call = b'{"tool":"deploy"}' if kind == "approval" else None
        facts = AskFacts(
            number=self.number,
            kind=kind,
            agent="claude",
            session=session,
            project=f"example.org/team/app-{self.number % 20}",
            created=at,
            deadline=at + DAY_MS,
            call_mac=sha256(call) if call else None,
            call_size=len(call or b""),
        )
        line = CallLine(tool="deploy", summary="deploy app to staging") if call else None
        text = AskText(title=f"May row {self.number} of many go on?", cwd="/work", call=line)
        asked = self._sign(EntryType.ASK, at, facts, text)
        self._contents.append((ask, session, asked.hash))
        outcome = ENDS[end] if kind == "approval" else ENDS[end].replace("allowed", "answered")
        final = self._final(ask, asked.hash, outcome, at)
        if end in ("resolved", "handed"):
            self._handed(ask, session, final, at, resolved=end == "resolved")

    def _final(self, ask: str, seen: bytes, outcome: str, at: int) -> bytes:
        votes = []
        if outcome in DECISIONS:
            said = VoteFacts(
                ask=ask, person=self.person, decision=DECISIONS[outcome], seen=seen, at=at + 1
            )
            vote = self._sign(EntryType.VOTE, at + 1, said, VoteText(text="Yes, go on."))
            ruling = RulingFacts(ask=ask, vote=vote.hash, ruling="accepted", counted=1, at=at + 2)
            self._sign(EntryType.RULING, at + 2, ruling, NoText())
            votes = [EmbeddedVote(raw=vote.raw, signature=vote.signature, facts=vote.facts)]
        facts = FinalFacts(
            ask=ask,
            seen=seen,
            outcome=outcome,
            quorum=Quorum(),
            votes=votes,
            people_heads=self.people if votes else [],
            use_by=at + 3_600_000 if outcome == "allowed" else None,
            at=at + 2,
        )
        return self._sign(EntryType.FINAL, at + 2, facts, FinalText(text="Yes, go on.")).hash

    def _handed(self, ask: str, session: str, final: bytes, at: int, *, resolved: bool) -> None:
        handed = HandoverFacts(
            ask=ask,
            final=final,
            status="handed",
            token=1,
            session=session,
            lease_until=at + 600_000,
            at=at + 3,
        )
        self._sign(EntryType.HANDOVER, at + 3, handed, NoText())
        if resolved:
            done = ResolvedFacts(ask=ask, token=1, ok=True, at=at + 4)
            self._sign(EntryType.RESOLVED, at + 4, done, ResolvedText(outcome="done"))

    def _flush(self) -> None:
        store = self.store
        store.execute("BEGIN IMMEDIATE")
        (last,) = store.execute("SELECT coalesce(max(n), 0) FROM entry").fetchone()
        for run in self._runs.values():
            if run:
                insert(store, run, after=last)
                for n, entry in enumerate(run, last + 1):
                    assert project_sound(store, entry, entry.hash, n) is not None
                last += len(run)
                run.clear()
        store.executemany("INSERT INTO ask_content VALUES (?, ?, ?)", self._contents)
        self._contents.clear()
        for name, value in (("number", self.number), ("hlc", self._hlc)):
            store.execute(
                "INSERT OR REPLACE INTO local VALUES (?, ?)", (name, value.to_bytes(8, "big"))
            )
        store.execute("COMMIT")


def live_on(home: Path, entries: int) -> int:
    """Give a machine, where somebody has signed in, a past of so many entries."""
    opened = open_store(home, create=False, machine="box", times=SystemTimes(), random=os.urandom)
    with closing(opened.connection) as store:
        store.execute("PRAGMA cache_size = -400000")
        past = Past(store, opened.identity, opened.clock.now())
        past.write(entries)
        return past.made


def kinds(home: Path) -> Iterator[tuple[str, str, int]]:
    """How many asks of each kind stand in each state."""
    with closing(sqlite3.connect(f"file:{home}/store.db?mode=ro", uri=True)) as store:
        yield from store.execute("SELECT kind, state, count(*) FROM ask GROUP BY 1, 2")
