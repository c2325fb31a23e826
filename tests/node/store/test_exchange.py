"""Stores that get the same logs end up the same, whatever came first, late or twice."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.store import derive, exchange, receive
from node.store.migrations import migrate
from node.store.projection import DERIVED
from node.store.transaction import Identity, Transaction
from sync.log import facts as say
from sync.log.entry import Entry
from sync.log.kinds import EntryType
from sync.log.names import ask_name, node_name
from tests.node.store.histories import (
    ANN,
    ASKED,
    FOUNDING,
    HOME,
    LIFE,
    LOCAL_ORDER,
    OTHER,
    VOTES,
    Said,
    ask,
    changed,
    log,
    mark,
    person,
    vote,
)
from tests.node.store.stores import Counted
from tests.sync.log.entries import FLEET, key

READER, THIRD = key(8), key(3)
"""Whose store it is (it says nothing), and a machine that is let in later."""
LAST = VOTES[3]
"""What counts of the other machine ends here."""


def machine(of: int, name: str) -> Said:
    facts = say.MemberFacts(node_key=key(of).public, certificate=b"c", machine=name, by="ann", at=1)
    return Said(EntryType.MEMBER, facts)


CUT = [say.CutPoint(log=0, seq=LAST.header.seq, hash=LAST.hash)]
REMOVED = Said(EntryType.REMOVED, say.RemovedFacts(node=OTHER.node_id, cut=CUT, by="ann", at=9))
BEYOND = log(
    [
        ask(),
        vote("ann", "deny", ask_name(HOME.node_id, 2)),
        changed(person("mal", "owner"), heads=[FOUNDING[-1].hash]),
    ],
    by=2,
    after=VOTES,
)
"""What the other machine said after the cut; its marks do not count either."""
AFTER = log([machine(8, "reader"), machine(3, "third"), REMOVED], by=1, after=[*FOUNDING, *LIFE])
OF_THIRD = log([ask(), vote("ann", "allow"), mark(True, 11)], by=3)
LOGS: dict[tuple[bytes, int], list[Entry]] = {}
for one in [*FOUNDING, *LIFE, *AFTER, *VOTES, *BEYOND, *OF_THIRD]:
    LOGS.setdefault((one.header.author, one.header.log), []).append(one)


class Store:
    """One store in memory of a node that listens only."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        migrate(connection, now=0)
        self.identity = Identity(key=READER, fleet=FLEET)
        for name, value in (("node", READER.node_id), ("fleet", FLEET)):
            connection.execute("INSERT INTO local VALUES (?, ?)", (name, value))

    def take(self, run: Sequence[Entry]) -> receive.Received:
        transaction = Transaction(
            self.connection, identity=self.identity, now=1, wall=1_000_000, random=Counted()
        )
        return receive.keep(transaction, run)

    def heads(self) -> dict[tuple[bytes, int], int]:
        found = self.connection.execute("SELECT author, log, seq FROM head")
        return {(author, place): seq for author, place, seq in found}

    def catch_up(self) -> None:
        """What anti-entropy does in the end: everything that is still taken."""
        before: object = None
        while before != (before := self.heads()):
            for place, run in LOGS.items():
                self.take(run[self.heads().get(place, 0) :])

    def tables(self) -> dict[str, set[tuple[object, ...]]]:
        """What is derived, but how far logs are stored beyond where they count."""
        return {
            table: self.rows(table, LOCAL_ORDER.get(table)) for table in DERIVED if table != "head"
        }

    def rows(self, table: str, local: str | None) -> set[tuple[object, ...]]:
        found = self.connection.execute(f"SELECT * FROM {table}")  # noqa: S608 -- ours
        names = [column[0] for column in found.description]
        return {
            tuple(value for name, value in zip(names, row, strict=True) if name != local)
            for row in found
        }


@contextmanager
def empty() -> Iterator[Store]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        yield Store(connection)
    finally:
        connection.close()


def told(*parts: Sequence[Entry]) -> tuple[Any, Any]:
    """The tables and the vector of a store that got these batches."""
    with empty() as store:
        for part in parts:
            store.take(part)
        return store.tables(), exchange.vector(store.connection)


def test_a_cut_gives_the_same_before_and_after_what_it_cuts() -> None:
    home = [*FOUNDING, *LIFE, *AFTER]
    other = [*VOTES, *BEYOND]
    first, last = told(home, other), told([*FOUNDING, *LIFE], other, AFTER)
    assert first == last == told([*home, *other]) == told([*FOUNDING], VOTES, BEYOND, LIFE, AFTER)
    tables, vector = first
    assert vector[OTHER.node_id, 0].seq == LAST.header.seq
    assert (OTHER.node_id, 1) not in vector
    assert {row[0] for row in tables["person"]} == {"ann", "bob"}


def test_what_lies_beyond_a_cut_counts_nowhere() -> None:
    other = node_name(OTHER.node_id)
    with empty() as store:
        store.take([*FOUNDING, *VOTES, *BEYOND])
        asks = "SELECT count(*) FROM ask WHERE home = ?"
        votes = "SELECT count(*) FROM vote WHERE node = ?"
        marks = "SELECT count(*) FROM mark WHERE node = ?"
        counted = [
            store.connection.execute(sql, (other,)).fetchone()[0] for sql in (asks, votes, marks)
        ]
        assert counted == [1, 3, 1]
        received = store.take([*LIFE, *AFTER])
        assert received.kept.trouble is None
        counted = [
            store.connection.execute(sql, (other,)).fetchone()[0] for sql in (asks, votes, marks)
        ]
        assert counted == [0, 2, 0]
        # What it voted before it was removed still stands.
        state = store.connection.execute("SELECT state, closed_by FROM ask WHERE id = ?", (ASK1,))
        assert state.fetchone() == ("resolved", "ann")


ASK1 = ask_name(HOME.node_id, 1)


def test_copies_with_what_is_cut_off_between_them_are_stored_once() -> None:
    with empty() as store:
        store.take([*FOUNDING, *LIFE, *AFTER])
        log = [entry for entry in VOTES if entry.header.log == 0]
        beyond = next(entry for entry in BEYOND if entry.header.log == 0)
        received = store.take([*log, beyond, log[-1]])
        assert received.kept.heads[OTHER.node_id, 0].seq == log[-1].header.seq


def test_telling_the_log_again_changes_nothing() -> None:
    with empty() as store:
        for run in LOGS.values():
            store.take(run)
        store.catch_up()
        before = store.tables()
        assert derive.rebuild_in_place(store.connection) == set()
        assert store.tables() == before


@pytest.mark.parametrize("late", [False, True])
def test_the_asks_that_changed_by_a_cut_are_told(late: bool) -> None:
    with empty() as store:
        store.take([*FOUNDING, *VOTES, *(BEYOND if late else [])])
        store.take(LIFE)
        transaction = Transaction(
            store.connection, identity=store.identity, now=1, wall=1_000_000, random=Counted()
        )
        receive.keep(transaction, AFTER)
        asks = {ref for _, topic, ref in transaction.changes if topic == "ask"}
        # The second is no more: a page that shows it has to look again.
        cut = {ask_name(HOME.node_id, 2), ask_name(OTHER.node_id, 1)}
        assert asks == (cut if late else set())


@given(data=st.data())
def test_two_stores_end_up_the_same(data: st.DataObject) -> None:
    with empty() as one, empty() as other:
        for store in (one, other):
            for _ in range(data.draw(st.integers(0, 12))):
                batch: list[Entry] = []
                for place in data.draw(st.lists(st.sampled_from(list(LOGS)), max_size=4)):
                    run = LOGS[place]
                    start = data.draw(st.integers(0, len(run) - 1))
                    batch += run[start : start + data.draw(st.integers(1, len(run)))]
                store.take(batch)
            store.catch_up()
        assert one.tables() == other.tables()
        assert exchange.vector(one.connection) == exchange.vector(other.connection)
        assert one.tables()["unproven"] == set()
        (state,) = one.connection.execute("SELECT state FROM ask WHERE id = ?", (ASK1,)).fetchone()
        assert state == "resolved"
        assert (ANN.hash,) in one.connection.execute("SELECT hash FROM vote").fetchall()
        assert one.heads()[HOME.node_id, 0] == len(LOGS[HOME.node_id, 0])
        assert ASKED in LOGS[HOME.node_id, 0]
