"""Real stores with two histories of one machine, joined by real sessions over byte pipes."""

import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack

from node.store import exchange, forks, membership_tables, receive, testimony
from node.store.rebuild import differences
from node.store.transaction import store
from sync.log.entry import Entry, NodeKey
from sync.log.fork import Evidence
from sync.log.vector import Vector
from sync.net.ledger import Kept
from sync.wire import actions as act
from sync.wire.claims import Claims
from sync.wire.held import Held
from tests.node.store.test_membership_tables import LAP, a_store, applied, tables
from tests.node.store.test_testimony import Twins, hear, job
from tests.sync.log.entries import FLEET, key
from tests.sync.wire.stores import End, Net


class RealStore:
    """As `tests.sync.wire.stores.Store`, over the tables of a node."""

    full = False

    def __init__(self, by: NodeKey, connection: sqlite3.Connection) -> None:
        self.id = by.node_id
        self.connection = connection
        self.held = Held()
        self.claims = Claims()
        self.lacking: set[bytes] = set()
        self.blobs: dict[bytes, bytes] = {}
        self.ends: list[End] = []

    def load(self) -> None:
        self.held.froze(forks.known(self.connection, FLEET))
        self.held.replace(self.vector())
        self.held.testified(self.testimony())

    def vector(self) -> Vector:
        return exchange.vector(self.connection)

    def testimony(self) -> dict[bytes, frozenset[tuple[bool, int, bytes]]]:
        return testimony.said(self.connection, FLEET)

    def keep(self, run: Sequence[Entry], source: bytes) -> Kept:
        del source
        return receive.keep(job(self.connection), run).kept

    def convict(self, proofs: Sequence[Evidence]) -> Kept:
        return receive.convict(job(self.connection), proofs).kept

    def attest(self, statements: Sequence[Entry]) -> Kept:
        return receive.attest(job(self.connection), statements).kept

    def read(self, read: act.Read) -> list[Entry]:
        return exchange.entries(
            self.connection, FLEET, read.wanted, entries=read.entries, size=read.size
        )

    def testify(self, hashes: Sequence[bytes], size: int) -> list[Entry]:
        return testimony.read(self.connection, FLEET, hashes, size=size)


def test_machines_that_met_different_copies_come_to_the_same_fleet() -> None:
    """The removal that the copy stated reaches who never met it, over a machine between."""
    twins = Twins()
    with ExitStack() as stack:
        made = [RealStore(key(40 + at), stack.enter_context(a_store())) for at in range(3)]
        one, middle, other = made
        hear(one.connection, twins.said, twins.first)
        hear(middle.connection, twins.said)
        hear(other.connection, twins.said, twins.second)
        for each in made:
            each.load()
        assert tables(one.connection) != tables(other.connection)
        net = Net()
        net.link(one, middle)  # type: ignore[arg-type]
        net.link(middle, other)  # type: ignore[arg-type]
        net.settle(150)
        assert one.testimony() == middle.testimony() == other.testimony()
        assert len(one.testimony()[LAP.node_id]) == 4
        assert len({each.held.digest for each in made}) == 1
        assert tables(one.connection) == tables(middle.connection) == tables(other.connection)
        removed = middle.connection.execute("SELECT name FROM node WHERE removed").fetchall()
        assert removed == [("mole",)]
        # What names both histories counts everywhere, and so it is with what comes after.
        after = applied(twins.home, "after", [twins.first[-1], twins.second[-1]])
        store(one.connection, after)
        one.load()
        net.settle(60)
        for each in made:
            assert after.hash in membership_tables.heads(each.connection)
            assert differences(each.connection) == []
