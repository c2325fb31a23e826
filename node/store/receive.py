"""Entries from other nodes: verified, stored in their chains, applied to the tables.

Nothing here raises for what a peer got wrong. What cannot be verified is not stored; what
was signed but makes no sense is stored and relayed, and not applied (`project`).
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from node.store import board_tables, derive, erasing, forks, introduced, message_tables, testimony
from node.store.projection import FAULTS, project, project_sound
from node.store.transaction import Transaction, insert
from sync.errors import AskmeshError, BadEntry, Forked
from sync.log import hlc
from sync.log.chain import EMPTY, Head, verify_run
from sync.log.entry import Entry, sha256, verify
from sync.log.facts import GenesisFacts, read
from sync.log.fork import Evidence, Frozen, Side, evidence, side
from sync.log.kinds import ACCOUNTS, STATEMENTS, EntryType
from sync.log.names import node_name
from sync.log.vector import Place, place_of
from sync.net.ledger import Kept

SIGNED_EACH = STATEMENTS | {EntryType.FINAL}
"""Types of which every signature is checked, not only the last of a run (DESIGN §4)."""
MERGED = frozenset({EntryType.MARK, EntryType.SUBSCRIPTION, EntryType.BOARD})
"""Types whose stamp decides: held out of merges while it is too far ahead of our clock."""

Apply = Callable[[sqlite3.Connection, Entry, bytes, int], str | None]
"""How one entry is applied (`node.store.projection`)."""


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a batch, and what it asks of the node."""

    kept: Kept
    voted: list[str]
    """Asks of this home on which votes arrived: to be ruled on."""
    members_moved: bool
    """Whether a statement arrived: who belongs to the fleet may have changed."""
    mailed: bool
    """Whether messages arrived: those to agents of this machine are to be received for."""
    erased: bool
    """Whether words were erased: their blobs are to go as well."""


def keep(transaction: Transaction, run: Sequence[Entry]) -> Received:
    """Verify and store a batch; stops at the first fault of each author's log."""
    return _Batch(transaction).take(run)


def convict(transaction: Transaction, proofs: Sequence[Evidence]) -> Received:
    """Keep evidence of forks that another node sent; stops at the first that is not signed."""
    return _Batch(transaction).convict(proofs)


def attest(transaction: Transaction, statements: Sequence[Entry]) -> Received:
    """Keep what others stated beyond forks; stops at the first that is not signed."""
    return _Batch(transaction).attest(statements)


class _Batch:
    """One batch on its way into the store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._fleet = transaction.identity.fleet
        (self._last,) = transaction.row("SELECT coalesce(max(n), 0) FROM entry")
        self._first = self._last + 1
        self._fresh: list[Entry] = []
        self._heads: dict[Place, Head] = {}
        self._frozen: dict[Place, Frozen] = {}
        self._trouble: str | None = None
        self._asks: set[str] = set()
        self._settled: set[str] = set()
        """Asks that changed with who belongs to the fleet: some of them are no more."""
        self._voted: set[str] = set()
        self._unsettled = False
        self._erased = False
        self._attested: set[int] = set()
        """Types of statements that came as testimony."""
        self._lately: Entry | None = None
        """The last of a faulty run that was sound: it is not stored yet."""

    def take(self, run: Sequence[Entry]) -> Received:
        """Store what can be stored, log by log."""
        waiting: dict[Place, list[Entry]] = {}
        for entry in run:
            waiting.setdefault((entry.header.author, entry.header.log), []).append(entry)
        # What one log states may let the author of another one in.
        while ready := [
            (place, key)
            for place, entries in waiting.items()
            if (key := self._key(place[0], entries)) is not None
        ]:
            for place, key in ready:
                self._take_log(place, key, waiting.pop(place))
            self._settle()
        for author, _ in waiting:
            self._note(f"Entries of {node_name(author)[:8]} came, who is no member known here.")
        if self._fresh:
            self._apply(derive.ends(self._connection, self._fleet))
            self._move_clock()
        return self._received()

    def convict(self, proofs: Sequence[Evidence]) -> Received:
        """Keep what proves forks."""
        for proof in proofs:
            key = self._key(proof.author, ())
            if key is None:
                self._note(
                    f"Evidence came of {node_name(proof.author)[:8]}, who is no member here."
                )
                continue
            try:
                self._freeze(proof, key)
            except BadEntry as error:
                # A sound peer sends only what it has checked.
                self._note(error.sentence)
                break
        self._settle()
        return self._received()

    def attest(self, statements: Sequence[Entry]) -> Received:
        """Keep what was stated beyond the ends of logs, of any history."""
        self._attest(statements)
        self._settle()
        return self._received()

    def _received(self) -> Received:
        transaction = self._transaction
        types = self._attested | {entry.header.type for entry in self._fresh}
        topics = {"people", "fleet"} if types & STATEMENTS else set()
        if EntryType.RULES in types:
            topics.add("rules")
        if types & ACCOUNTS:
            # Any card may say something else now: pages read everything anew.
            topics.add("node")
        for topic in sorted(topics):
            transaction.change(topic, transaction.identity.name)
        if EntryType.SUBSCRIPTION in types:
            transaction.change("attention", "")
        self._tell_chatter()
        for ask in self._settled:
            transaction.change("ask", ask)
        transaction.tell(self._asks - self._settled)
        for author in sorted({author for author, _ in self._frozen}):
            forks.tell(transaction, author)
        # What was just erased, also by what this batch brought, is not passed on.
        transaction.stored += erasing.without_erased(self._connection, self._fresh)
        transaction.erases |= self._erased or bool(self._settled)
        # What lies before a fork may have come with the very batch that showed it.
        frozen = {
            place: replace(one, end=forks.end_before(self._connection, self._fleet, place, one.seq))
            for place, one in self._frozen.items()
        }
        settled = bool(topics or frozen or self._attested)
        return Received(
            kept=Kept(
                heads=self._heads,
                trouble=self._trouble,
                frozen=frozen,
                testimony=testimony.said(self._connection, self._fleet) if settled else {},
            ),
            voted=sorted(self._voted),
            members_moved=settled,
            mailed=EntryType.MESSAGE in types or bool(topics),
            erased=transaction.erases,
        )

    def _tell_chatter(self) -> None:
        told = message_tables.told(self._connection, self._fresh)
        self._transaction.change_all("message", told)
        self._transaction.change_all("board", board_tables.told(self._fresh))

    def _note(self, trouble: str) -> None:
        self._trouble = self._trouble or trouble

    def _key(self, author: bytes, run: Sequence[Entry]) -> bytes | None:
        row = self._connection.execute(
            "SELECT public_key FROM node WHERE id = ?", (node_name(author),)
        ).fetchone()
        if row is not None:
            return bytes(row[0])
        if author == self._transaction.identity.key.node_id:
            return self._transaction.identity.key.public
        return introduced.key(self._connection, author) or self._founder(author, run)

    def _founder(self, author: bytes, run: Sequence[Entry]) -> bytes | None:
        """The key in a genesis, while none is here: it names itself."""
        if not run:
            return None
        first = run[0]
        if first.header.seq != 1 or first.header.type != EntryType.GENESIS:
            return None
        known = self._connection.execute(
            "SELECT 1 FROM entry WHERE type = ? AND type < 16 AND fleet = ?",
            (EntryType.GENESIS.value, self._fleet),
        ).fetchone()
        try:
            key = read(GenesisFacts, first.facts).node_key
        except BadEntry:
            return None
        return key if known is None and sha256(key) == author else None

    def _take_log(self, place: Place, key: bytes, run: list[Entry]) -> None:
        """Store the sound part of what came of one log."""
        author, log = place
        who = node_name(author)[:8]
        head = self._head(place)
        end = self._end(place)
        new: list[Entry] = []
        beyond: list[Entry] = []
        for entry in run:
            if end is not None and entry.header.seq > end:
                beyond.append(entry)
                continue
            # Looked at last: what lies between two copies may have been left out.
            again = new and entry.raw == new[-1].raw and entry.signature == new[-1].signature
            if not again and not self._is_held(entry, head, key):
                new.append(entry)
        if not new and not beyond:
            return
        forked = forks.frozen_at(self._connection, self._fleet, author, log)
        if forked is not None and any(entry.header.seq >= forked for entry in new):
            self._note(f"The history of {who} forked; nothing after that is taken.")
            new = [entry for entry in new if entry.header.seq < forked]
            if not new:
                return
        if beyond:
            self._attest(beyond)
            self._note(f"{who} was removed; what it said after that is not taken.")
        good = self._verified(head, new, place, key)
        if not good:
            return
        good = list(insert(self._connection, good, after=self._last))
        self._last += len(good)
        self._fresh += good
        if any(entry.header.type in STATEMENTS for entry in good):
            self._unsettled = True
        self._heads[place] = Head(seq=good[-1].header.seq, hash=good[-1].hash)

    def _attest(self, statements: Sequence[Entry]) -> None:
        def key(author: bytes) -> bytes | None:
            return self._key(author, ())

        try:
            for one in testimony.keep(self._connection, self._fleet, statements, key):
                self._attested.add(one.header.type)
        except BadEntry as error:
            self._note(error.sentence)
        self._unsettled |= bool(self._attested)

    def _head(self, place: Place) -> Head:
        row = self._connection.execute(
            "SELECT seq, hash FROM head WHERE author = ? AND log = ?", place
        ).fetchone()
        return EMPTY if row is None else Head(seq=row[0], hash=row[1])

    def _end(self, place: Place) -> int | None:
        """The last entry of this log that counts; None: there is no such end."""
        author, log = place
        row = self._connection.execute(
            "SELECT removed, (SELECT seq FROM cut WHERE node = id AND log = ?) FROM node"
            " WHERE id = ?",
            (log, node_name(author)),
        ).fetchone()
        if row is None or row[0] is None or author == self._transaction.identity.key.node_id:
            return None
        return int(row[1] or EMPTY.seq)

    def _is_held(self, entry: Entry, head: Head, key: bytes) -> bool:
        """Whether an entry is below the head; another one in its place is kept as evidence."""
        header = entry.header
        if header.seq > head.seq or header.fleet != self._fleet:
            return False
        held = self._at(place_of(entry), header.seq)
        if held is not None and held.hash != entry.hash:
            self._conflict(held, entry, key)
        return True

    def _at(self, place: Place, seq: int) -> Side | None:
        """What is held here with this number."""
        row = self._connection.execute(
            "SELECT header, signature FROM entry"
            " WHERE fleet = ? AND author = ? AND log = ? AND seq = ?",
            (self._fleet, *place, seq),
        ).fetchone()
        return None if row is None else Side(raw=row[0], signature=row[1])

    def _conflict(self, held: Side, entry: Entry, key: bytes) -> None:
        """Keep both for ever: they prove that their author has two histories."""
        header = entry.header
        self._note(
            f"Entry {header.seq} of {node_name(header.author)[:8]} differs from the one already"
            " here."
        )
        # Not signed: a relay can spoil a signature, not make one.
        with contextlib.suppress(BadEntry):
            self._freeze(evidence(held, side(entry)), key)

    def _freeze(self, proof: Evidence, key: bytes) -> None:
        frozen = forks.keep(self._transaction, proof, key)
        if frozen is not None:
            self._frozen[proof.place] = frozen
            self._unsettled = True

    def _verified(self, head: Head, run: list[Entry], place: Place, key: bytes) -> list[Entry]:
        """Return the part of a run that may be stored; notes what is wrong with the rest."""
        try:
            self._verify(head, run, place, key)
        except AskmeshError as error:
            self._note(error.sentence)
            return list(self._sound(head, run, place, key))
        return run

    def _verify(self, head: Head, run: Sequence[Entry], place: Place, key: bytes) -> Head:
        author, log = place
        end = verify_run(head, run, fleet=self._fleet, author=author, log=log, public_key=key)
        for entry in run[:-1]:
            if entry.header.type in SIGNED_EACH:
                verify(entry, key)
        return end

    def _sound(self, head: Head, run: Iterable[Entry], place: Place, key: bytes) -> Iterator[Entry]:
        """Take a faulty run entry by entry, up to the fault."""
        for entry in run:
            try:
                head = self._verify(head, [entry], place, key)
            except Forked:
                before = self._before(entry, head)
                if before is not None:
                    self._conflict(before, entry, key)
                return
            except AskmeshError:
                return
            self._lately = entry
            yield entry

    def _before(self, entry: Entry, head: Head) -> Side | None:
        """The entry that another one does not continue: of this batch, or held."""
        lately = self._lately
        if lately is not None and place_of(lately) == place_of(entry) and lately.hash == head.hash:
            return side(lately)
        return self._at(place_of(entry), head.seq)

    def _settle(self) -> None:
        """Who belongs to the fleet may be another: what counts by that is applied first."""
        if self._unsettled:
            self._unsettled = False
            changed = derive.settle(self._connection, self._fleet, before=self._first)
            self._settled |= changed
            self._voted |= {ask for ask in changed if self._is_ours(ask)}

    def _is_ours(self, ask: str) -> bool:
        return ask.rpartition("-")[0] == self._transaction.identity.name

    def _apply(self, ends: derive.Ends) -> None:
        """Apply what is new at once; where a fault is among it, each by itself."""
        self._connection.execute("SAVEPOINT run")
        try:
            self._apply_with(project_sound, ends)
        except FAULTS:
            self._connection.execute("ROLLBACK TO run")
            self._apply_with(project, ends)
        self._connection.execute("RELEASE run")

    def _apply_with(self, apply: Apply, ends: derive.Ends) -> None:
        wall = self._transaction.wall
        for n, entry in enumerate(self._fresh, self._first):
            header = entry.header
            if header.type in STATEMENTS:
                continue
            if header.type in MERGED and hlc.too_far_ahead(header.hlc, wall):
                self._transaction.run("INSERT INTO held VALUES (?, ?)", n, header.hlc)
            elif ends.count(entry):
                ask = apply(self._connection, entry, entry.hash, n)
                if ask is not None:
                    self._asks.add(ask)
                    self._erased |= header.type == EntryType.REDACTED
                    if header.type == EntryType.VOTE and self._is_ours(ask):
                        self._voted.add(ask)

    def _move_clock(self) -> None:
        """Stamp what we say next above what we have seen."""
        transaction = self._transaction
        last = int.from_bytes(transaction.value("hlc") or b"", "big")
        now = last
        for entry in self._fresh:
            now = hlc.receive(now, entry.header.hlc, transaction.wall)
        if now != last:
            transaction.keep("hlc", now.to_bytes(8, "big"))
