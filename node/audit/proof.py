"""Whether what is told is what was signed: each entry behind a line, and a final's votes."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from node.store import derive, membership_tables
from node.store.rebuild import keys_of
from sync.decide.membership import Membership
from sync.errors import BadEntry
from sync.log.entry import Entry, sha256, unpack, verify_header
from sync.log.facts import PartType, read, read_text

SOUND_FLEET: Final = "it rests on statements about the fleet that do not hold"
STATEMENTS_TO: Final = 16
"""Types below say who belongs to the fleet, and are settled as one set."""
STORED: Final = (
    "SELECT header, signature, facts, text FROM entry WHERE hash = ?",
    "SELECT header, signature, facts, text FROM testimony WHERE hash = ?",
)
"""Where an entry lies; beyond the end of its author's log, statements lie apart."""
STATED: Final = (
    "SELECT hash, header, signature, facts, text FROM entry WHERE fleet = ? AND type < 16",
    "SELECT hash, header, signature, facts, text FROM testimony WHERE fleet = ?",
)


class Found(msgspec.Struct, kw_only=True):
    """What came of checking what one line rests on."""

    fails: list[str] = []
    """It is not as it was signed, or does not follow from what was."""
    disputed: list[str] = []
    """It was signed after its machine's history split: something else may be, elsewhere."""
    waits: list[str] = []
    """It cannot be told yet."""


class Proof:
    """Checks entries one by one, against the keys that statements name."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._keys: Mapping[bytes, bytes] = keys_of(connection)
        self._ends = derive.ends_of_all(connection, derive.fleet_of(connection))
        self._counting: dict[bytes, frozenset[bytes]] = {}
        self._fleets: dict[bytes, bool] = {}
        self._forks: dict[tuple[bytes, bytes, int], int] = {
            (fleet, author, log): seq
            for fleet, author, log, seq in connection.execute(
                "SELECT fleet, author, log, seq FROM fork"
            )
        }

    def entry(self, entry_hash: bytes | None, named: str, found: Found) -> Entry | None:
        """Return an entry by its hash; what is wrong with it goes into `found`.

        `named` says what it is in a sentence. None: it is not to be believed.
        """
        for sql in STORED:
            record = self._connection.execute(sql, (entry_hash,)).fetchone()
            if record is not None:
                return self._checked(record, entry_hash, named, found)
        found.fails.append(f"{named} is not in the log")
        return None

    def _checked(
        self, record: Sequence[bytes], entry_hash: bytes | None, named: str, found: Found
    ) -> Entry | None:
        header, signature, facts, text = record
        try:
            head = unpack(header)
        except BadEntry:
            found.fails.append(f"the header of {named} cannot be read")
            return None
        entry = Entry(header=head, raw=header, signature=signature, facts=facts, text=text)
        wrong = list(self._wrong(entry, entry_hash, named))
        found.fails += wrong
        fork = self._forks.get((head.fleet, head.author, head.log))
        if fork is not None and head.seq >= fork:
            found.disputed.append(f"{named} was signed after the history of its machine split")
        return None if wrong else entry

    def _wrong(self, entry: Entry, entry_hash: bytes | None, named: str) -> Iterator[str]:
        head = entry.header
        if sha256(entry.raw + entry.signature) != entry_hash:
            yield f"{named} is stored under a hash that is not its own"
        if len(entry.facts) != head.facts_len or sha256(entry.facts) != head.facts_hash:
            yield f"the facts of {named} are not those that were signed"
        # One that was erased is missing, and everything else still holds.
        if entry.text is not None and sha256(entry.text) != head.text_hash:
            yield f"the text of {named} is not the one that was signed"
        key = self._keys.get(head.author)
        if key is None:
            yield f"no statement names the author of {named}"
            return
        try:
            verify_header(entry.raw, entry.signature, key)
        except BadEntry:
            yield f"the signature of {named} is not its author's"
        if head.type >= STATEMENTS_TO and not self._ends.count(entry):
            yield f"{named} does not count: its machine is no member, or was cut off before"

    def fleet(self, fleet: bytes) -> bool:
        """Whether every statement about a fleet is as it was signed."""
        known = self._fleets.get(fleet)
        if known is None:
            found = Found()
            for sql in STATED:
                for entry_hash, *record in self._connection.execute(sql, (fleet,)).fetchall():
                    self._checked(record, entry_hash, "a statement", found)
            known = self._fleets[fleet] = not found.fails
        return known

    def counts(self, entry: Entry) -> bool:
        """Whether a statement counts in its fleet, all that is known today taken together."""
        fleet = entry.header.fleet
        if fleet not in self._counting:
            self._counting[fleet] = membership_tables.counting(self._connection, fleet)
        return entry.hash in self._counting[fleet]

    def as_of(self, fleet: bytes, heads: Iterable[bytes]) -> Membership | None:
        """Return the fleet as of these statements; None while one of them is not here."""
        return membership_tables.settled_as_of(self._connection, fleet, heads)


def facts_of(
    entry: Entry | None, kind: type[PartType], named: str, found: Found
) -> PartType | None:
    """Return what an entry says; None where it is not to be believed."""
    if entry is None:
        return None
    try:
        return read(kind, entry.facts)
    except BadEntry:
        found.fails.append(f"{named} does not read as what it is kept as")
        return None


def text_of(entry: Entry | None, kind: type[PartType]) -> PartType | None:
    """Return the words of an entry; None where they were erased, or are not such words."""
    try:
        return None if entry is None else read_text(kind, entry.text)
    except BadEntry:
        return None


def compare(
    named: str, kept: Mapping[str, object], signed: Mapping[str, object], found: Found
) -> None:
    """Note what a table says otherwise than the log."""
    wrong = [name for name, value in kept.items() if value != signed[name]]
    if wrong:
        found.fails.append(f"{named} is kept otherwise than it was signed ({', '.join(wrong)})")
