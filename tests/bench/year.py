"""A fleet's days in the store of one of its machines: real entries, signed, in virtual time.

Each day every machine raises its asks; each is answered on another one, handed over and
resolved. What is stored is what `receive` makes of it, and texts go by age as they do in a
running node, a batch at a time.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from node.founding import Opened
from node.limits import RETENTION_PACK_MS
from node.store import membership_tables, packing, receive, retention
from node.store.connection import STORE_FILE, erase_traces
from node.store.erasing import WORDLESS_BYTES
from node.store.transaction import Transaction
from sync.limits import DAY_MS
from sync.log import facts as say
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry, NodeKey, seal
from sync.log.kinds import EntryType, log_of
from sync.log.names import ask_name
from tests.node.store.stores import Counted, SetTimes, found, let_in
from tests.sync.log.entries import key

BATCH = 20
DETAIL = "It changes what customers see, and cannot be taken back without their notice. " * 8
OUTCOME = "Done: 14 files changed, all checks passed, deployed to staging and looked at. "


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """What a store holds on one evening."""

    day: int
    file: int
    """Bytes of the store's file."""
    free: int
    """Of these, in free pages."""
    texts: int
    """Bytes of texts that hold words."""
    kept: int
    """Bytes of all the rest that is signed: headers, signatures, facts, texts without words."""
    entries: int
    blobs: int
    """Asks whose call is kept."""
    longest_ms: float
    """The longest job of retention so far."""


class Year:
    """One machine's store, and the others that fill it."""

    def __init__(self, home: Path, *, machines: int, asks: int, keep_days: int) -> None:
        self.home = home
        self.asks = asks
        self.keep_days = keep_days
        self.times = SetTimes()
        self.opened: Opened = found(home, self.times)
        self.keys = [key(number) for number in range(2, machines + 2)]
        self.random = Counted()
        self._heads: dict[tuple[bytes, int], Head] = {}
        self._numbers = dict.fromkeys(range(machines), 0)
        self._said: list[Entry] = []
        self._day = 0
        self._longest = 0.0
        with self._job() as transaction:
            let_in(transaction, *self.keys)
            self._people = membership_tables.heads(transaction.connection)

    def close(self) -> None:
        """Close the store."""
        self.opened.connection.close()

    @contextmanager
    def _job(self) -> Iterator[Transaction]:
        connection = self.opened.connection
        connection.execute("BEGIN IMMEDIATE")
        yield Transaction(
            connection,
            identity=self.opened.identity,
            now=self.times.wall_ms(),
            wall=self.times.wall_ms(),
            random=self.random,
        )
        connection.execute("COMMIT")

    def day(self) -> None:
        """One more day: what is said on it, and what is let go in its night."""
        self._day += 1
        self.times.advance(DAY_MS)
        for home in range(len(self.keys)):
            for _ in range(self.asks):
                self._ask(home)
            said, self._said = self._said, []
            with self._job() as transaction:
                received = receive.keep(transaction, said)
            assert received.kept.trouble is None
        self._let_go()

    def _let_go(self) -> None:
        before = self.times.wall_ms() - self.keep_days * DAY_MS
        connection = self.opened.connection
        while due := retention.due(connection, before, 10 * BATCH) if self.keep_days else []:
            for start in range(0, len(due), BATCH):
                begun = time.perf_counter()
                with self._job() as transaction:
                    retention.let_go(transaction.connection, due[start : start + BATCH])
                self._longest = max(self._longest, (time.perf_counter() - begun) * 1000)
        more = bool(self.keep_days)
        while more:
            begun = time.perf_counter()
            with self._job() as transaction:
                more = packing.pack(transaction.connection, before - RETENTION_PACK_MS)
            self._longest = max(self._longest, (time.perf_counter() - begun) * 1000)
        erase_traces(connection)

    def sizes(self) -> Sizes:
        """What is there now."""
        connection = self.opened.connection
        assert erase_traces(connection)
        (pages, free, size) = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        assert (self.home / STORE_FILE).stat().st_size == pages * size
        texts, kept, entries = connection.execute(
            "SELECT total(iif(length(text) > ?1, length(text), 0)), total(length(header)"
            " + length(signature) + length(facts) + iif(length(text) <= ?1, length(text), 0)),"
            " count(*) FROM entry WHERE type >= 16",
            (WORDLESS_BYTES,),
        ).fetchone()
        (blobs,) = connection.execute(
            "SELECT count(*) FROM ask JOIN entry ON hash = entry_hash"
            " WHERE blob IS NOT NULL AND text IS NOT NULL"
        ).fetchone()
        return Sizes(
            day=self._day,
            file=pages * size,
            free=free * size,
            texts=int(texts),
            kept=int(kept),
            entries=entries,
            blobs=blobs,
            longest_ms=self._longest,
        )

    # --- what is said -------------------------------------------------------------------

    def _ask(self, home: int) -> None:
        """An approval or a question from raising to outcome, and a note that somebody reads."""
        own, other = self.keys[home], self.keys[(home + 1) % len(self.keys)]
        number = self._numbers[home] + 1
        self._numbers[home] = number + 1
        approval = number % 4 == 1
        ask = ask_name(own.node_id, number)
        asked = self._raise(own, number, approval=approval)
        self._answer(own, other, ask, asked, approval=approval)
        note = say.NoteFacts(
            number=number + 1,
            kind="note",
            agent="claude",
            session="9b1f2c04-52",
            project="git.example.org/team/app",
            created=self.times.wall_ms(),
        )
        words = say.NoteText(title=f"Assumed UTC in {number}", detail=DETAIL[:300], cwd="/srv/app")
        self._say(own, EntryType.NOTE, note, words)
        mark = say.MarkFacts(
            ask=ask_name(own.node_id, number + 1), person="ann", read=True, at=note.created
        )
        self._say(other, EntryType.MARK, mark)

    def _raise(self, own: NodeKey, number: int, *, approval: bool) -> Entry:
        now = self.times.wall_ms()
        facts = say.AskFacts(
            number=number,
            kind="approval" if approval else "question",
            agent="claude",
            session="9b1f2c04-52",
            project="git.example.org/team/app",
            created=now,
            deadline=now + DAY_MS,
            options=[] if approval else ["1", "2"],
            enforced=approval,
            rule=say.RuleReference(name="deploys", version="0a1b2c3d4e5f") if approval else None,
            call_mac=self.random(32) if approval else None,
            blob=self.random(32) if approval else None,
            call_size=1_200 if approval else 0,
        )
        options = [say.Option(id=one, label=f"Way {one}, as before") for one in facts.options]
        words = say.AskText(
            title=f"May I deploy number {number} to staging now?",
            detail=DETAIL,
            options=options,
            branch="main",
            cwd="/srv/app",
            call=say.CallLine(tool="Bash", summary="make deploy TARGET=staging")
            if approval
            else None,
        )
        return self._say(own, EntryType.ASK, facts, words)

    def _answer(
        self, own: NodeKey, other: NodeKey, ask: str, asked: Entry, *, approval: bool
    ) -> None:
        now = self.times.wall_ms()
        choice = None if approval else "1"
        given = say.VoteFacts(
            ask=ask,
            person="ann",
            decision="allow" if approval else "answer",
            seen=asked.hash,
            choice=choice,
            at=now,
        )
        because = "It was agreed on this morning."
        vote = self._say(other, EntryType.VOTE, given, say.VoteText(because=because))
        ruled = say.RulingFacts(ask=ask, vote=vote.hash, ruling="accepted", counted=1, at=now)
        self._say(own, EntryType.RULING, ruled)
        closed = say.FinalFacts(
            ask=ask,
            seen=asked.hash,
            outcome="allowed" if approval else "answered",
            choice=choice,
            votes=[say.EmbeddedVote(raw=vote.raw, signature=vote.signature, facts=vote.facts)],
            people_heads=self._people,
            use_by=now + DAY_MS if approval else None,
            at=now,
        )
        final = self._say(own, EntryType.FINAL, closed, say.FinalText(because=because))
        handed = say.HandoverFacts(
            ask=ask, final=final.hash, status="handed", token=1, session="9b1f2c04-52", at=now
        )
        self._say(own, EntryType.HANDOVER, handed)
        came = say.ResolvedFacts(ask=ask, token=1, ok=True, at=now)
        self._say(own, EntryType.RESOLVED, came, say.ResolvedText(outcome=OUTCOME))

    def _say(
        self, by: NodeKey, kind: EntryType, facts: say.Part, text: say.Part | None = None
    ) -> Entry:
        place = (by.node_id, int(log_of(kind)))
        head = self._heads.get(place, EMPTY)
        made = seal(
            by,
            fleet=self.opened.identity.fleet,
            seq=head.seq + 1,
            prev=head.hash,
            hlc=self.times.wall_ms() << 16 | head.seq & 0xFFFF,
            entry_type=kind,
            facts=say.pack_facts(facts),
            text=say.pack_text(self.random(16), text or say.NoText()),
        )
        self._heads[place] = Head(seq=made.header.seq, hash=made.hash)
        self._said.append(made)
        return made


def lived(year: Year, days: int, every: int) -> Sequence[Sizes]:
    """Live through so many days; return the sizes after each `every` of them."""
    told: list[Sizes] = []
    for day in range(1, days + 1):
        year.day()
        if day % every == 0:
            told.append(year.sizes())
    return told
