"""One store's log as plain facts, read without anything that is derived from it."""

import sqlite3
from typing import Any

import msgspec

from node.store.connection import open_reader
from sync.log.facts import (
    AskFacts,
    FinalFacts,
    HandoverFacts,
    NoteFacts,
    PersonFacts,
    RemovedFacts,
    ResolvedFacts,
    RulingFacts,
    StandingFacts,
    VoteFacts,
    read,
)
from sync.log.kinds import EntryType
from sync.log.names import node_name
from tests.sim.machine import Machine

READ: dict[int, type[Any]] = {
    EntryType.ASK: AskFacts,
    EntryType.VOTE: VoteFacts,
    EntryType.RULING: RulingFacts,
    EntryType.FINAL: FinalFacts,
    EntryType.HANDOVER: HandoverFacts,
    EntryType.RESOLVED: ResolvedFacts,
    EntryType.NOTE: NoteFacts,
    EntryType.REMOVED: RemovedFacts,
    EntryType.PERSON: PersonFacts,
    EntryType.STANDING: StandingFacts,
}


ABOUT_NONE = frozenset({EntryType.REMOVED, EntryType.PERSON, EntryType.STANDING})
"""Types that are about no ask."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One entry."""

    n: int
    author: str
    log: int
    seq: int
    type: int
    hash: bytes
    facts: Any
    title: str = ""

    @property
    def ask(self) -> str:
        """The ask it raises, or is about."""
        number = getattr(self.facts, "number", None)
        return f"{self.author}-{number}" if number is not None else str(self.facts.ask)


class Log:
    """Everything a store holds that counts, and what else stands there as it is."""

    def __init__(self, store: sqlite3.Connection) -> None:
        rows = store.execute(
            "SELECT n, author, log, seq, type, hash, facts, text FROM entry ORDER BY n"
        ).fetchall()
        self.places = {(author, log, seq): said for _, author, log, seq, _, said, _, _ in rows}
        self.lines: list[Line] = []
        for n, author, log, seq, kind, entry_hash, facts, text in rows:
            if kind in READ:
                self.lines.append(
                    Line(
                        n=n,
                        author=node_name(author),
                        log=log,
                        seq=seq,
                        type=kind,
                        hash=entry_hash,
                        facts=read(READ[kind], facts),
                        title=_title(kind, text),
                    )
                )
        self.forked = {node_name(author) for (author,) in store.execute("SELECT author FROM fork")}
        self.removed = _removals(store)
        (own,) = store.execute("SELECT value FROM local WHERE name = 'node'").fetchone()
        self.on_hold = (
            store.execute("SELECT 1 FROM local WHERE name = 'hold'").fetchone() is not None
        )
        self.waiting = {one for (one,) in store.execute("SELECT hash FROM unproven")}
        """Finals, and what follows them, that name statements which are not here yet."""
        self.own_end = node_name(own) in self.removed
        self.removed.pop(node_name(own), None)  # what it said itself always counts there
        self.counting = [line for line in self.lines if self._counts(line)]
        self._of: dict[tuple[int, str | None], list[Line]] = {}
        for line in self.counting:
            self._of.setdefault((line.type, None), []).append(line)
            if line.type not in ABOUT_NONE:
                self._of.setdefault((line.type, line.ask), []).append(line)
        self.statements = [
            line for line in self.counting if line.type in (EntryType.PERSON, EntryType.STANDING)
        ]

    def _counts(self, line: Line) -> bool:
        if line.author not in self.removed:
            return True
        return line.seq <= self.removed[line.author].get(line.log, 0)

    def of(self, kind: EntryType, ask: str | None = None) -> list[Line]:
        """The entries of a type that count, oldest first; with `ask`, those about it."""
        return self._of.get((kind, ask), [])

    def applied(self, ask: str, home: str) -> list[Line]:
        """The finals of an ask by its home that wait for nothing."""
        return [
            one
            for one in self.of(EntryType.FINAL, ask)
            if one.author == home and one.hash not in self.waiting
        ]


def _title(kind: int, text: bytes | None) -> str:
    if kind not in (EntryType.ASK, EntryType.NOTE) or text is None:
        return ""
    return str(msgspec.json.decode(text[16:])["title"])


def _removals(store: sqlite3.Connection) -> dict[str, dict[int, int]]:
    """Who was removed, with what of each log counts: from whichever history it is."""
    stated = store.execute(
        "SELECT facts FROM entry WHERE type = ?1 AND type < 16"
        " UNION SELECT facts FROM testimony WHERE type = ?1",
        (EntryType.REMOVED.value,),
    )
    found = [read(RemovedFacts, facts) for (facts,) in stated]
    return {node_name(one.node): {cut.log: cut.seq for cut in one.cut} for one in found}


def log_of(machine: Machine) -> Log:
    """Read the log of a machine, running or not."""
    store = open_reader(machine.home)
    try:
        return Log(store)
    finally:
        store.close()
