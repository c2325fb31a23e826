"""The tables of the fleet: what two real nodes' statements come to in one store."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path

import msgspec
import pytest

from node.store import membership_tables
from node.store.membership_tables import apply, counts, heads, settled, settled_as_of
from node.store.migrations import migrate
from node.store.transaction import store
from sync.log import facts as say
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry, NodeKey
from sync.log.kinds import EntryType
from sync.log.names import node_name
from tests.node.store.stores import found, looked
from tests.sync.log.entries import FLEET, SALT, entry, head_of, key

HOME, LAP = key(1), key(2)


class Signer:
    """One node's decisions log."""

    def __init__(self, by: NodeKey, fleet: bytes = FLEET) -> None:
        self.by = by
        self.fleet = fleet
        self.head: Head = EMPTY

    def sign(
        self, facts: say.Part, *, after: list[Entry], kind: EntryType, text: say.Part | None = None
    ) -> Entry:
        """The next entry, which names the last of `after`."""
        if isinstance(facts, say.Statement):
            facts = msgspec.structs.replace(facts, heads=[one.hash for one in after[-1:]])
        made = entry(
            self.head,
            by=self.by,
            kind=kind,
            facts=say.pack_facts(facts),
            text=say.pack_text(SALT, text or say.NoText()),
            fleet=self.fleet,
        )
        self.head = head_of(made)
        return made


def beginning(fleet: bytes = FLEET, person: str = "ann") -> tuple[Signer, list[Entry]]:
    """A founded fleet with its owner."""
    home, said = Signer(HOME, fleet), list[Entry]()
    for kind, facts in (
        (
            EntryType.GENESIS,
            say.GenesisFacts(node_key=HOME.public, recovery_key=b"r" * 32, machine="home", at=1),
        ),
        (EntryType.PERSON, say.PersonFacts(person=person, name="Ann", role="owner", at=2)),
        (
            EntryType.SPEAKS_FOR,
            say.SpeaksForFacts(node=HOME.node_id, person=person, on=True, at=3),
        ),
    ):
        said.append(home.sign(facts, after=said, kind=kind))
    return home, said


def two_nodes() -> tuple[Signer, Signer, list[Entry]]:
    """A fleet of two, both of the owner's."""
    home, said = beginning()
    joins = say.MemberFacts(
        node_key=LAP.public, certificate=b"lap's", machine="lap", by="ann", at=4
    )
    said.append(home.sign(joins, after=said, kind=EntryType.MEMBER))
    hers = say.SpeaksForFacts(node=LAP.node_id, person="ann", on=True, by="ann", at=5)
    # Ann has a machine: her word from it is what counts.
    said.append(home.sign(hers, after=said, kind=EntryType.SPEAKS_FOR))
    return home, Signer(LAP), said


def applied(signer: Signer, version: str, after: list[Entry], source: str = "") -> Entry:
    facts = say.RulesFacts(name="rules", version=version, source_hash=b"h" * 32, by="ann", at=6)
    return signer.sign(facts, after=after, kind=EntryType.RULES, text=say.RulesText(source=source))


def removal(signer: Signer, after: list[Entry], seq: int) -> Entry:
    facts = say.RemovedFacts(
        node=LAP.node_id,
        cut=[say.CutPoint(log=0, seq=seq, hash=b"c" * 32)],
        by="ann",
        at=9,
    )
    return signer.sign(facts, after=after, kind=EntryType.REMOVED)


@contextmanager
def a_store() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(connection, now=0)
        yield connection
    finally:
        connection.close()


def tables(connection: sqlite3.Connection) -> dict[str, set[tuple[object, ...]]]:
    return {
        name: set(connection.execute(f"SELECT * FROM {name}"))  # noqa: S608 -- names of ours
        for name in membership_tables.TABLES
    }


def test_both_nodes_logs_make_the_tables_whichever_comes_first() -> None:
    home, lap, said = two_nodes()
    theirs = [applied(lap, "lap's", said, source="[[rule]]")]
    ours = [applied(home, "home's", said)]
    with a_store() as one, a_store() as other:
        for made in (*said, *theirs, *ours):
            store(one, made)
        for made in (*said, *ours, *theirs):
            store(other, made)
        assert tables(one) == tables(other)
        assert heads(one) == sorted([ours[0].hash, theirs[0].hash])
        rules = one.execute("SELECT version, in_force, source FROM rules ORDER BY version")
        assert rules.fetchall() == [("home's", 1, ""), ("lap's", 1, "[[rule]]")]
        nodes = one.execute("SELECT name, certificate, removed FROM node ORDER BY name")
        assert nodes.fetchall() == [("home", None, None), ("lap", b"lap's", None)]


def test_statements_that_come_before_what_they_name_count_once_it_is_there() -> None:
    home, lap, said = two_nodes()
    middle = applied(home, "one", said)
    late = applied(lap, "two", [middle])
    with a_store() as connection:
        for made in (*said, late):
            store(connection, made)
        assert connection.execute("SELECT count(*) FROM rules").fetchone() == (0,)
        assert settled(connection, FLEET).pending == {late.hash}
        store(connection, middle)
        assert connection.execute("SELECT count(*) FROM rules").fetchone() == (2,)
        assert heads(connection) == [late.hash]


def test_applying_again_changes_nothing_and_voids_nothing() -> None:
    home, lap, said = two_nodes()
    with a_store() as connection:
        for made in (*said, applied(lap, "v", said), removal(home, said, 1)):
            store(connection, made)
        before, changes = tables(connection), connection.total_changes
        assert apply(connection, FLEET) == set()
        assert tables(connection) == before
        assert connection.total_changes == changes


def test_a_removal_tells_of_whom_something_stored_counts_no_more() -> None:
    _, lap, said = two_nodes()
    vote = say.VoteFacts(ask="a-1", person="ann", decision="deny", seen=b"s", at=1)
    votes = [lap.sign(vote, after=[], kind=EntryType.VOTE) for _ in range(3)]
    for cut, told in ((3, set[bytes]()), (2, {LAP.node_id})):
        with a_store() as connection:
            for made in (*said, *votes):
                store(connection, made)
            home = Signer(HOME)
            home.head = head_of(said[-1])
            removed = removal(home, said, cut)
            _insert(connection, removed)
            assert apply(connection, FLEET) == told
            assert [counts(connection, LAP.node_id, 0, seq) for seq in (1, 2, 3, 4)] == [
                True, True, cut == 3, False
            ]  # fmt: skip
            assert counts(connection, HOME.node_id, 1, 99)
            assert not counts(connection, b"x" * 32, 0, 1)
            row = connection.execute(
                "SELECT removed, removed_by, removed_on FROM node WHERE name='lap'"
            )
            assert row.fetchone() == (9, "ann", node_name(HOME.node_id))
            cuts = connection.execute("SELECT node, log, seq, hash FROM cut").fetchall()
            assert cuts == [(node_name(LAP.node_id), 0, cut, b"c" * 32)]
            live = connection.execute(
                "SELECT live FROM speaks_for WHERE node = ?", (node_name(LAP.node_id),)
            )
            assert all(row == (0,) for row in live)


def _insert(connection: sqlite3.Connection, made: Entry) -> None:
    header = made.header
    connection.execute(
        "INSERT INTO entry (fleet, author, log, seq, type, hash, header, signature, facts, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(header.fleet, header.author, header.log, header.seq, header.type),
            *(made.hash, made.raw, made.signature, made.facts, made.text),
        ),
    )


@pytest.mark.parametrize("bad", [b"", b"\xff\x00", b"[]", b'{"at":1e400}', b'{"node":"x"}'])
@pytest.mark.parametrize("kind", range(1, 16))
def test_hostile_statements_are_stored_and_harm_nothing(kind: int, bad: bytes) -> None:
    _, lap, said = two_nodes()
    with a_store() as connection:
        for made in said:
            store(connection, made)
        before = tables(connection)
        store(connection, entry(lap.head, by=LAP, kind=kind, facts=bad, text=SALT + b"\xff"))
        assert tables(connection) == before
        assert connection.execute("SELECT count(*) FROM entry").fetchone() == (len(said) + 1,)


def test_the_other_side_of_a_fork_is_not_waited_for() -> None:
    home, lap, said = two_nodes()
    other_side = Signer(HOME)
    other_side.head = home.head
    never = applied(other_side, "never here", said)
    here = applied(home, "here", said)
    late = applied(lap, "after the fork", [never])
    with a_store() as connection:
        for made in (*said, here, late):
            store(connection, made)
        assert settled(connection, FLEET).pending == {late.hash}
        connection.execute(
            "INSERT INTO fork VALUES (?, ?, 0, ?, ?, ?, ?, ?, 1)",
            (
                FLEET,
                HOME.node_id,
                never.header.seq,
                here.raw,
                here.signature,
                never.raw,
                never.signature,
            ),
        )
        apply(connection, FLEET)
        assert settled(connection, FLEET).pending == frozenset()
        versions = connection.execute("SELECT version FROM rules ORDER BY version")
        assert versions.fetchall() == [("after the fork",), ("here",)]


def test_persons_of_a_fleet_that_was_left_are_ended_and_keep_their_names() -> None:
    left, ours = b"l" * 16, FLEET
    _, old = beginning(left, person="old-ann")
    _, new = beginning(ours, person="ann")
    with a_store() as connection:
        for made in old:
            store(connection, made)
        connection.execute("DELETE FROM head")
        for made in new:
            store(connection, made)
        persons = connection.execute("SELECT id, name, role, ended FROM person ORDER BY id")
        assert persons.fetchall() == [
            ("ann", "Ann", "owner", 0),
            ("old-ann", "Ann", "owner", 1),
        ]
        speaking = connection.execute("SELECT person FROM speaks_for").fetchall()
        assert speaking == [("ann",)]
        assert heads(connection) == [new[-1].hash]


def test_every_order_of_two_statements_and_their_removal_gives_the_same() -> None:
    home, lap, said = two_nodes()
    rest = [applied(lap, "one", said)]
    rest.append(applied(lap, "two", rest))
    rest.append(removal(home, said, 1))
    found = []
    for order in permutations(rest):
        with a_store() as connection:
            for made in (*said, *order):
                store(connection, made)
            found.append(tables(connection))
    assert all(one == found[0] for one in found)
    assert len(found) == 6


def test_our_own_statements_name_what_was_known(tmp_path: Path) -> None:
    opened = found(tmp_path)
    (genesis,) = heads(opened.connection)
    then = settled_as_of(opened.connection, opened.identity.fleet, [genesis])
    assert then == settled(opened.connection, opened.identity.fleet)
    assert settled_as_of(opened.connection, opened.identity.fleet, [b"x"]) is None
    opened.connection.close()
    assert looked(tmp_path, "SELECT hash FROM statement_head") == [(genesis,)]
