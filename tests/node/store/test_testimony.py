"""What was stated beyond a fork: kept alike by all who hear of it, whichever history they hold."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import msgspec
import pytest

from node.fleet import removal as removals
from node.store import membership_tables, receive, testimony
from node.store.migrations import migrate
from node.store.rebuild import differences, keys_of
from node.store.receive import Received
from node.store.transaction import Identity, Transaction, store
from node.verify import forks as checks
from node.verify.names import Names
from sync.log import facts as say
from sync.log.entry import Entry
from sync.log.fork import evidence, side
from sync.log.kinds import EntryType
from tests.node.store.test_membership_tables import (
    HOME,
    LAP,
    Signer,
    a_store,
    applied,
    tables,
    two_nodes,
)
from tests.sync.log.entries import FLEET, head_of, key

MOLE = key(3)


def mole_in(home: Signer, after: list[Entry]) -> Entry:
    facts = say.MemberFacts(node_key=MOLE.public, certificate=b"m", machine="mole", by="ann", at=6)
    return home.sign(facts, after=after, kind=EntryType.MEMBER)


def mole_out(signer: Signer, after: list[Entry], at: int = 9) -> Entry:
    facts = say.RemovedFacts(node=MOLE.node_id, cut=[], by="ann", at=at)
    return signer.sign(facts, after=after, kind=EntryType.REMOVED)


class Twins:
    """What home said, and two histories of lap's log."""

    def __init__(self) -> None:
        self.home, self.one, self.said = two_nodes()
        self.said.append(mole_in(self.home, self.said))
        self.two = Signer(LAP)
        self.first = [applied(self.one, "one", self.said, source="[[one]]")]
        self.first.append(applied(self.one, "more", self.first, source="[[more]]"))
        self.second = [applied(self.two, "two", self.said, source="[[two]]")]
        self.second.append(mole_out(self.two, self.second))
        self.proof = evidence(side(self.first[0]), side(self.second[0]))


@pytest.fixture
def twins() -> Twins:
    return Twins()


@pytest.fixture
def stores() -> Iterator[list[sqlite3.Connection]]:
    with ExitStack() as stack:
        yield [stack.enter_context(a_store()) for _ in range(3)]


def job(connection: sqlite3.Connection) -> Transaction:
    return Transaction(
        connection,
        identity=Identity(key=key(9), fleet=FLEET),
        now=50,
        wall=50,
        random=bytes,
    )


def hear(connection: sqlite3.Connection, *histories: Sequence[Entry]) -> None:
    connection.execute("INSERT OR REPLACE INTO local VALUES ('fleet', ?)", (FLEET,))
    for history in histories:
        for made in history:
            store(connection, made)


def forked(connection: sqlite3.Connection, twins: Twins) -> Received:
    return receive.convict(job(connection), [twins.proof])


def told(connection: sqlite3.Connection) -> list[Entry]:
    hashes = [entry_hash for said in kept(connection).values() for _, _, entry_hash in said]
    return testimony.read(connection, FLEET, hashes, size=1 << 20)


def kept(connection: sqlite3.Connection) -> dict[bytes, frozenset[tuple[bool, int, bytes]]]:
    return testimony.said(connection, FLEET)


def attest(connection: sqlite3.Connection, statements: Sequence[Entry]) -> Received:
    return receive.attest(job(connection), statements)


def test_stores_of_different_histories_come_to_the_same(
    twins: Twins, stores: list[sqlite3.Connection]
) -> None:
    one, two, neither = stores
    hear(one, twins.said, twins.first)
    hear(two, twins.said, twins.second)
    hear(neither, twins.said)
    for each in stores:
        forked(each, twins)
    assert tables(one) != tables(two)
    for giver, taker in ((one, two), (two, one), (two, neither)):
        received = attest(taker, told(giver))
        assert received.kept.trouble is None
        assert received.kept.testimony == kept(taker)
    assert attest(two, told(one)).kept.testimony == {}, "nothing of it is new"
    assert kept(one) == kept(two) == kept(neither)
    assert len(kept(one)[LAP.node_id]) == 4
    assert tables(one) == tables(two) == tables(neither)
    versions = one.execute("SELECT source FROM rules WHERE in_force ORDER BY source").fetchall()
    assert versions == [("[[more]]",), ("[[one]]",), ("[[two]]",)]
    assert one.execute("SELECT name FROM node WHERE removed").fetchall() == [("mole",)]
    for each in stores:
        assert differences(each) == []
        assert [made.hash for made in removals.proof(each, FLEET, MOLE.node_id)] == [
            twins.second[1].hash
        ]


@pytest.mark.parametrize("at", [0, 1], ids=["where it forked", "after that"])
def test_a_final_of_a_side_that_is_not_stored_here_waits_and_is_checked_then(
    twins: Twins, stores: list[sqlite3.Connection], at: int
) -> None:
    one, two, _ = stores
    hear(one, twins.said, twins.first)
    hear(two, twins.said, twins.second)
    heads = [twins.second[at].hash]
    for each in (one, two):
        forked(each, twins)
    assert membership_tables.settled_as_of(one, FLEET, heads) is None
    attest(one, told(two))
    then = membership_tables.settled_as_of(one, FLEET, heads)
    assert then == membership_tables.settled_as_of(two, FLEET, heads)
    assert then is not None
    assert then.speaks(LAP.node_id, "ann")
    assert (then.nodes[MOLE.node_id].removed is not None) == bool(at)


def test_whom_the_other_history_let_in_can_be_heard(
    twins: Twins, stores: list[sqlite3.Connection]
) -> None:
    new = key(4)
    one, two, _ = stores
    facts = say.MemberFacts(node_key=new.public, certificate=b"n", machine="new", by="ann", at=7)
    let_in = twins.two.sign(facts, after=twins.second, kind=EntryType.MEMBER)
    hear(one, twins.said, twins.first)
    hear(two, twins.said, twins.second, [let_in])
    for each in (one, two):
        forked(each, twins)
    attest(one, told(two))
    assert keys_of(one)[new.node_id] == new.public
    word = Signer(new)
    said = receive.keep(job(one), [applied(word, "new's", [let_in])])
    assert said.kept.trouble is None


def test_what_is_no_testimony_is_passed_over(
    twins: Twins, stores: list[sqlite3.Connection]
) -> None:
    here, *_ = stores
    hear(here, twins.said, twins.first)
    before = tables(here)
    # Nothing forked yet.
    attest(here, twins.second)
    assert kept(here) == {}
    forked(here, twins)
    stranger = applied(Signer(key(5)), "stranger's", twins.said)
    elsewhere = applied(Signer(LAP, b"e" * 16), "elsewhere", [])
    before_fork, genesis = twins.said[1], twins.said[0]
    received = attest(here, [stranger, elsewhere, before_fork, genesis])
    assert received.kept.trouble is None
    assert kept(here) == {LAP.node_id: frozenset(kept(here)[LAP.node_id])}
    assert len(kept(here)[LAP.node_id]) == len(twins.first)
    assert tables(here) == before


def test_at_the_first_that_is_not_signed_it_stops(
    twins: Twins, stores: list[sqlite3.Connection]
) -> None:
    here, *_ = stores
    hear(here, twins.said, twins.first)
    forked(here, twins)
    bad = msgspec.structs.replace(twins.second[0], signature=bytes(64))
    received = attest(here, [bad, twins.second[1]])
    assert received.kept.trouble is not None
    assert len(kept(here)[LAP.node_id]) == len(twins.first)


def test_of_a_flood_all_keep_the_same_and_removals_stay(
    twins: Twins, stores: list[sqlite3.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has the key can state without end, to each node something else."""
    for module in ("node.store.testimony", "sync.decide.statements"):
        monkeypatch.setattr(f"{module}.BEYOND_FORK", 4)
    one, two, _ = stores
    flood = [applied(twins.one, f"v{number}", twins.first) for number in range(6)]
    other = [applied(twins.two, f"w{number}", twins.second) for number in range(6)]
    hear(one, twins.said, twins.first, flood)
    hear(two, twins.said, twins.second, other)
    for each in (one, two):
        forked(each, twins)
        assert len(kept(each)[LAP.node_id]) == 4
    for giver, taker in ((one, two), (two, one), (one, two)):
        attest(taker, told(giver))
    assert kept(one) == kept(two)
    assert len(kept(one)[LAP.node_id]) == 4
    assert tables(one) == tables(two)
    assert one.execute("SELECT name FROM node WHERE removed").fetchall() == [("mole",)]
    # Home has heard one that nobody keeps: it is not waited for.
    last = applied(twins.home, "after", flood)
    for each in (one, two):
        hear(each, [last])
        assert differences(each) == []
    assert last.hash in membership_tables.heads(one)
    assert tables(one) == tables(two)


def test_what_does_not_read_crowds_out_nothing_in_one_store_alone(
    twins: Twins, stores: list[sqlite3.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nonsense of a known type ranks as what it says it is: everywhere alike."""
    for module in ("node.store.testimony", "sync.decide.statements"):
        monkeypatch.setattr(f"{module}.BEYOND_FORK", 2)
    one, two, _ = stores
    facts = say.NoText()
    nonsense = [twins.two.sign(facts, after=twins.second, kind=EntryType.REMOVED) for _ in range(2)]
    hear(one, twins.said, twins.first)
    hear(two, twins.said, twins.second, nonsense)
    for each in (one, two):
        forked(each, twins)
    attest(one, told(two))
    attest(two, told(one))
    assert kept(one) == kept(two)
    last = applied(twins.home, "after", twins.first)
    for each in (one, two):
        hear(each, [last])
    assert tables(one) == tables(two)
    assert last.hash in membership_tables.heads(one)


def test_a_store_of_before_keeps_what_it_has(twins: Twins) -> None:
    with a_store() as here:
        hear(here, twins.said, twins.second)
        forked(here, twins)
        before, had = tables(here), kept(here)
        here.execute("DROP TABLE testimony")
        here.execute("DELETE FROM migration WHERE name = '0008-testimony'")
        assert migrate(here, now=1) == ["0008-testimony"]
        assert kept(here) == had
        membership_tables.apply(here, FLEET)
        assert tables(here) == before
        assert had[LAP.node_id]
        assert HOME.node_id not in had


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ("signature = randomblob(64)", "does not verify"),
        ("facts = cast(facts || x'20' AS BLOB)", "not those that were signed"),
        ("seq = seq + 1", "another place"),
        ("type = 3 + (type == 3)", "another place"),
        ("hash = randomblob(32)", "another place"),
        ("header = x'00'", "header has 1 bytes"),
        ("fleet = randomblob(16)", "another place"),
    ],
)
def test_spoiled_testimony_is_found(
    twins: Twins, stores: list[sqlite3.Connection], spoil: str, words: str
) -> None:
    here, *_ = stores
    hear(here, twins.said, twins.first)
    forked(here, twins)
    attest(here, twins.second)
    sound = checks.check(here, Names(here))
    assert sound.faults == 0
    here.execute(f"UPDATE testimony SET {spoil} WHERE hash = ?", (twins.second[1].hash,))  # noqa: S608 -- above
    found = checks.check(here, Names(here))
    assert [words in one.what for one in found.findings if one.level == "fault"] == [True]


def gone(signer: Signer, node: bytes, after: list[Entry], seq: int) -> Entry:
    cut = [say.CutPoint(log=0, seq=seq, hash=b"c" * 32)]
    facts = say.RemovedFacts(node=node, cut=cut, by="ann", at=9)
    return signer.sign(facts, after=after, kind=EntryType.REMOVED)


def take(connection: sqlite3.Connection, *run: Entry) -> None:
    for one in run:
        receive.keep(job(connection), [one])


def test_two_machines_that_remove_each_other_are_removed_whichever_was_heard_first(
    twins: Twins, stores: list[sqlite3.Connection]
) -> None:
    one, two, _ = stores
    first, home_at = twins.first[0], twins.home.head.seq
    out_lap = gone(twins.home, LAP.node_id, [first], first.header.seq)
    lap = Signer(LAP)
    lap.head = head_of(first)
    out_home = gone(lap, HOME.node_id, [first], home_at)
    for each in (one, two):
        hear(each, twins.said, [first])
    take(one, out_lap, out_home)
    take(two, out_home, out_lap)
    assert tables(one) == tables(two)
    removed = one.execute("SELECT name FROM node WHERE removed ORDER BY name").fetchall()
    assert removed == [("home",), ("lap",)]
    assert kept(one) == kept(two)
    for each in (one, two):
        assert differences(each) == []


def test_what_names_a_word_beyond_a_cut_counts_whichever_was_heard_first(
    twins: Twins, stores: list[sqlite3.Connection]
) -> None:
    """Who stated it had not heard of the removal."""
    one, two, three = stores
    first, late = twins.first
    out = gone(twins.home, LAP.node_id, [first], first.header.seq)
    facts = say.CertificateFacts(certificate=b"another", at=9)
    word = Signer(MOLE).sign(facts, after=[late], kind=EntryType.CERTIFICATE)
    for each in stores:
        hear(each, twins.said, [first])
    take(one, out, late, word)
    take(two, late, word, out)
    # To this one the late word comes from others alone.
    take(three, out, word)
    assert word.hash not in membership_tables.heads(three)
    attest(three, told(two))
    assert kept(one) == kept(two) == kept(three)
    assert tables(one) == tables(two) == tables(three)
    for each in stores:
        assert word.hash in membership_tables.heads(each)
        assert "more" not in {one for (one,) in each.execute("SELECT version FROM rules")}
        assert differences(each) == []


def test_a_removed_machine_fills_no_disk(
    twins: Twins, stores: list[sqlite3.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("node.store.testimony", "sync.decide.statements"):
        monkeypatch.setattr(f"{module}.BEYOND_FORK", 4)
    one, two, _ = stores
    first = twins.first[0]
    out = gone(twins.home, LAP.node_id, [first], first.header.seq)
    flood = [applied(twins.one, f"v{number}", twins.first) for number in range(8)]
    for each in (one, two):
        hear(each, twins.said, [first])
    take(one, out, twins.first[1], *flood)
    # This one heard all of it before.
    take(two, twins.first[1], *flood, out)
    assert kept(one) == kept(two)
    assert len(kept(one)[LAP.node_id]) == 4
    assert tables(one) == tables(two)
    after = applied(twins.home, "after", [flood[-1]])
    for each in (one, two):
        hear(each, [after])
        assert differences(each) == []
    assert after.hash in membership_tables.heads(one)
    assert tables(one) == tables(two)
