"""The log again, entry by entry: hashes, places, chains, signatures, and what homes said."""

import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple

from node.store import derive, membership_tables
from node.store.rebuild import keys_of
from node.verify.names import Names
from node.verify.report import Checked, Progress, amount
from sync.decide.lawful import Lawful
from sync.decide.membership import Membership
from sync.errors import BadEntry
from sync.log.chain import EMPTY
from sync.log.entry import SIGNATURE_BYTES, Entry, Header, sha256, unpack, verify_header

BATCH: Final = 1_000
"""Entries read and checked at a time: a megabyte or so, and a tenth of a second."""
THREADS: Final = 4
"""Checking a signature leaves the interpreter free, so it runs beside the reading."""
AHEAD: Final = 2 * THREADS
"""Batches that may wait for their signatures: reading is faster than checking."""

DAMAGED: Final = (
    "The store was damaged or edited. Stop the node, keep a copy of the folder, and restore a"
    " backup (`askmesh restore`); entries of other machines come back from them."
)
BROKEN: Final = (
    "It counts nowhere. Run `askmesh verify` on that machine; if nobody can explain it,"
    " take the machine out: `askmesh node remove`."
)

Place = tuple[bytes, bytes, int]
"""(fleet, author, log)."""


class _Row(NamedTuple):
    """An entry as it is stored; the columns may say anything."""

    n: int
    hash: bytes
    fleet: bytes
    author: bytes
    log: int
    seq: int
    type: int
    header: bytes
    signature: bytes
    facts: bytes
    text: bytes | None

    @property
    def place(self) -> Place:
        return (self.fleet, self.author, self.log)


class _Signed(NamedTuple):
    """What a thread checks a signature of."""

    named: str
    raw: bytes
    signature: bytes
    key: bytes


class LogCheck:
    """One pass over all entries, in the order in which they came.

    Tables beside the log are only asked for names and for what no log says.
    """

    def __init__(self, connection: sqlite3.Connection, names: Names) -> None:
        self._connection = connection
        self._names = names
        self._keys: Mapping[bytes, bytes] = keys_of(connection)
        self._ends = _ends(connection)
        self._held = derive.held(connection)
        self._heads: dict[Place, tuple[int, set[bytes]]] = {}
        self._erased = 0
        self._lawful = Lawful(self._as_of)
        self.entries = Checked(kind="entries")
        self.signatures = Checked(kind="signatures")
        self.decisions = Checked(kind="finals")

    def run(self, progress: Progress) -> list[Checked]:
        """Check all entries; return what came of it, by kind."""
        (total,) = self._connection.execute("SELECT count(*) FROM entry").fetchone()
        with ThreadPoolExecutor(THREADS, thread_name_prefix="signatures") as pool:
            waiting: deque[Future[list[str]]] = deque()
            for rows in self._batches():
                signed = [one for row in rows if (one := self._row(row)) is not None]
                waiting.append(pool.submit(_unsigned, signed))
                self.entries.count += len(rows)
                self.signatures.count += len(signed)
                while len(waiting) > AHEAD:
                    self._take(waiting.popleft())
                progress("entries", self.entries.count, total)
            while waiting:
                self._take(waiting.popleft())
        return self._said()

    def _batches(self) -> Iterator[list[_Row]]:
        cursor = self._connection.execute(
            "SELECT n, hash, fleet, author, log, seq, type, header, signature, facts, text"
            " FROM entry ORDER BY n"
        )
        while rows := cursor.fetchmany(BATCH):
            yield [_Row(*row) for row in rows]

    def _take(self, done: Future[list[str]]) -> None:
        for named in done.result():
            self.signatures.fault(
                f"The signature of {named} is not its author's: it, or its header, was changed.",
                DAMAGED,
            )

    def _row(self, row: _Row) -> _Signed | None:
        """Check one entry; return what is left to check of its signature."""
        named = self._names.entry(row.author, row.log, row.seq, row.type)
        try:
            header = unpack(row.header)
        except BadEntry as error:
            what = f"The header of {named} cannot be read: {error.sentence}"
            self.entries.fault(what, DAMAGED)
            self._heads[row.place] = (row.seq, {row.hash})
            return None
        wrong = list(_wrong(row, header))
        for what in wrong:
            self.entries.fault(f"{named[:1].upper()}{named[1:]}: {what}", DAMAGED)
        self._erased += row.text is None
        self._chain(row, header, named)
        if not wrong:
            self._hear(row, header, named)
        key = self._keys.get(header.author)
        if key is None:
            self.signatures.fault(f"No statement names the author of {named}.", DAMAGED)
            return None
        return _Signed(named, row.header, row.signature, key)

    def _chain(self, row: _Row, header: Header, named: str) -> None:
        """Whether an entry continues what came before it in its log."""
        place = (header.fleet, header.author, header.log)
        last, hashes = self._heads.get(place, (EMPTY.seq, {EMPTY.hash}))
        where = self._names.log(header.author, header.log)
        if header.seq > last + 1:
            more = header.seq - last - 2
            to = f" to {header.seq - 1:,} are" if more else " is"
            self.entries.fault(f"Of {where}, {last + 1:,}{to} missing.", DAMAGED)
        elif header.seq <= last:
            what = f"{named[:1].upper()}{named[1:]} stands after entry {last:,} of the same log."
            self.entries.fault(what, DAMAGED)
            return
        elif header.prev not in hashes:
            what = f"{named[:1].upper()}{named[1:]} does not follow the entry before it."
            self.entries.fault(what, DAMAGED)
        # A wrong hash is one finding, not another one with the next entry.
        self._heads[place] = (header.seq, {sha256(row.header + row.signature), row.hash})

    def _hear(self, row: _Row, header: Header, named: str) -> None:
        """Whether a home kept to the rules with this, where it counts."""
        entry = Entry(
            header=header, raw=row.header, signature=row.signature, facts=row.facts, text=row.text
        )
        if row.n in self._held or not self._ends.count(entry):
            return
        what = self._lawful.hear(entry)
        if what is not None:
            self.decisions.fault(f"{named[:1].upper()}{named[1:]}: {what}", BROKEN)

    def _as_of(self, fleet: bytes, heads: Iterable[bytes]) -> Membership | None:
        return membership_tables.settled_as_of(self._connection, fleet, heads)

    def _said(self) -> list[Checked]:
        machines = {author for _, author, _ in self._heads}
        texts = f"; {amount(self._erased, 'text')} erased" if self._erased else ""
        self.entries.what = (
            f"{amount(self.entries.count, 'entry', 'entries')} in"
            f" {amount(len(self._heads), 'log')} of {amount(len(machines), 'machine')}:"
            f" hashes, places and chains{texts}."
        )
        self.signatures.what = f"{amount(self.signatures.count, 'signature')}."
        said, waits = self._lawful, self._lawful.waiting
        self.decisions.count = said.finals
        self.decisions.what = (
            f"{amount(said.finals, 'final')} against their votes and the fleet of their time,"
            f" {amount(said.handovers, 'hand-over')}: none twice, tokens rise."
        )
        if waits:
            self.decisions.note(
                f"{amount(waits, 'final')} cannot be judged yet: statements they name are not"
                " here yet.",
                "Connect to another machine of the fleet; they come by themselves.",
            )
        return [self.entries, self.signatures, self.decisions]


def _ends(connection: sqlite3.Connection) -> derive.Ends:
    """Where what counts of each log ends, from the statements alone: tables may be wrong."""
    own = connection.execute("SELECT value FROM local WHERE name = ?", (derive.NODE,)).fetchone()
    fleets = {derive.fleet_of(connection)}
    fleets |= {bytes(left) for (left,) in connection.execute("SELECT fleet FROM fleet_left")}
    found = derive.Ends()
    for fleet in fleets:
        for node in membership_tables.settled(connection, fleet).nodes.values():
            found[fleet, node.id] = derive.end_of(node)
        if own is not None:
            found[fleet, own[0]] = None
    return found


def _wrong(row: _Row, header: Header) -> Iterator[str]:
    """What does not agree within one entry."""
    said = (header.fleet, header.author, header.log, header.seq, header.type)
    if (row.fleet, row.author, row.log, row.seq, row.type) != said:
        yield "its columns are not what its header says."
    if len(row.signature) != SIGNATURE_BYTES:
        yield "its signature has the wrong length."
    elif sha256(row.header + row.signature) != row.hash:
        yield "it is stored under a hash that is not its own."
    if len(row.facts) != header.facts_len or sha256(row.facts) != header.facts_hash:
        yield "its facts are not those that were signed."
    # One that was erased is missing, and everything else still holds.
    if row.text is not None and (
        len(row.text) != header.text_len or sha256(row.text) != header.text_hash
    ):
        yield "its text is not the one that was signed."


def _unsigned(batch: Sequence[_Signed]) -> list[str]:
    """Return those whose signature does not verify."""
    found: list[str] = []
    for named, raw, signature, key in batch:
        try:
            verify_header(raw, signature, key)
        except BadEntry:
            found.append(named)
    return found
