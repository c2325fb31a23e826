"""From entries to tables: two nodes that hold the same logs derive the same tables."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.store.migrations import migrate
from node.store.projection import DERIVED
from node.store.transaction import Transaction, store
from sync.errors import IllegalStep
from sync.log import facts as say
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry
from sync.log.kinds import EntryType, log_of
from sync.log.names import ask_name, node_name
from tests.node.store.stores import looked, note, writing
from tests.sync.log.entries import SALT, entry, head_of, key

HOME, OTHER = key(1), key(2)
ASK = ask_name(HOME.node_id, 1)
LOCAL_ORDER = {"vote": "n", "rules": "n"}
"""Columns that say in which order entries arrived here; no two nodes need agree on them."""


class Said(NamedTuple):
    """What an entry says."""

    kind: EntryType
    facts: say.Part
    text: say.Part = say.NoText()
    hlc: int = 7 << 16


def log(said: Sequence[Said], by: int) -> list[Entry]:
    """The entries of one node, in its two chains."""
    heads: dict[int, Head] = {}
    made = []
    for one in said:
        place = int(log_of(one.kind))
        signed = entry(
            heads.get(place, EMPTY),
            by=key(by),
            kind=one.kind,
            facts=say.pack_facts(one.facts),
            text=say.pack_text(SALT, one.text),
            hlc=one.hlc,
        )
        heads[place] = head_of(signed)
        made.append(signed)
    return made


@contextmanager
def holding(entries: Sequence[Entry]) -> Iterator[sqlite3.Connection]:
    """A store in memory that got these entries in this order."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(connection, now=0)
        for one in entries:
            store(connection, one)
        yield connection
    finally:
        connection.close()


def tables(entries: Sequence[Entry]) -> dict[str, set[tuple[object, ...]]]:
    """The derived tables after these entries, without what is the order's own."""
    with holding(entries) as connection:
        found = {}
        for table in DERIVED:
            rows = connection.execute(f"SELECT * FROM {table}")  # noqa: S608 -- ours
            local = [
                at for at, name in enumerate(rows.description) if name[0] == LOCAL_ORDER.get(table)
            ]
            found[table] = {
                tuple(value for at, value in enumerate(row) if at not in local) for row in rows
            }
    return found


def ask(number: int = 1) -> Said:
    facts = say.AskFacts(
        number=number,
        kind="approval",
        agent="claude",
        session="s",
        project="p",
        created=1,
        deadline=99,
    )
    return Said(EntryType.ASK, facts, say.AskText(title="Deploy"))


def vote(person: str, decision: str, ask_id: str = ASK) -> Said:
    facts = say.VoteFacts(ask=ask_id, person=person, decision=decision, seen=b"seen", at=2)
    return Said(EntryType.VOTE, facts, say.VoteText(because="so"))


def ruling(of: Entry, word: str, ask_id: str = ASK) -> Said:
    facts = say.RulingFacts(ask=ask_id, vote=of.hash, ruling=word, counted=1, at=3)
    return Said(EntryType.RULING, facts)


def final(by: Entry, outcome: str = "allowed") -> Said:
    embedded = say.EmbeddedVote(raw=by.raw, signature=by.signature, facts=by.facts)
    facts = say.FinalFacts(ask=ASK, seen=b"seen", outcome=outcome, votes=[embedded], use_by=9, at=4)
    return Said(EntryType.FINAL, facts, say.FinalText(because="so"))


def handover(status: str, token: int = 1) -> Said:
    facts = say.HandoverFacts(
        ask=ASK, final=b"f", status=status, token=token, session="s", lease_until=10, at=5
    )
    return Said(EntryType.HANDOVER, facts)


def mark(read: bool, hlc: int) -> Said:
    facts = say.MarkFacts(ask="n-1", person="ann", read=read, at=1)
    return Said(EntryType.MARK, facts, hlc=hlc)


RESOLVED = Said(
    EntryType.RESOLVED,
    say.ResolvedFacts(ask=ASK, token=1, ok=True, at=6),
    say.ResolvedText(outcome="shipped"),
)
PERSON = Said(EntryType.PERSON, say.PersonFacts(person="ann", name="Ann", role="owner", at=1))
RULES = Said(
    EntryType.RULES,
    say.RulesFacts(name="r", version="v", source_hash=b"h", by="ann", at=2),
    say.RulesText(source=""),
)
VOTES = log(
    [PERSON, vote("ann", "allow"), vote("bob", "deny"), mark(True, 5), mark(False, 9)], by=2
)
LIFE = log(
    [
        RULES,
        ask(),
        ask(2),
        ruling(VOTES[1], "accepted"),
        final(VOTES[1]),
        ruling(VOTES[2], "superseded"),
        mark(True, 7),
        handover("handed"),
        RESOLVED,
        mark(True, 9),
    ],
    by=1,
)


@given(data=st.data())
def test_the_order_in_which_two_logs_arrive_makes_no_difference(data: st.DataObject) -> None:
    left, right = list(LIFE), list(VOTES)
    mixed = []
    while left and right:
        mixed.append((left if data.draw(st.booleans()) else right).pop(0))
    mixed += left + right
    assert tables(mixed) == tables([*LIFE, *VOTES])


def test_a_ruling_may_arrive_before_its_vote() -> None:
    with holding([*LIFE, *VOTES]) as connection:
        found = connection.execute("SELECT person, ruling, ruled_at FROM vote ORDER BY person")
        assert found.fetchall() == [("ann", "accepted", 3), ("bob", "superseded", 3)]


@pytest.mark.parametrize("first", ["vote", "ruling"])
def test_only_the_home_rules(first: str) -> None:
    """Another node's word on a vote is kept in its log and changes nothing."""
    (home_ask,) = log([ask()], by=1)
    (given_vote,) = log([vote("ann", "allow")], by=2)
    (false_ruling,) = log([ruling(given_vote, "accepted")], by=3)
    pair = [given_vote, false_ruling]
    with holding([home_ask, *(pair if first == "vote" else pair[::-1])]) as connection:
        assert connection.execute("SELECT ruling FROM vote").fetchall() == [(None,)]


def test_a_ruling_under_another_ask_changes_nothing() -> None:
    (given_vote,) = log([vote("ann", "allow")], by=2)
    other = ask_name(HOME.node_id, 2)
    home = log([ask(), ask(2), ruling(given_vote, "accepted", other)], by=1)
    with holding([*home, given_vote]) as connection:
        assert connection.execute("SELECT ruling FROM vote").fetchall() == [(None,)]


@pytest.mark.parametrize("order", [1, -1])
def test_a_ruling_by_a_node_under_its_own_ask_blocks_none(order: int) -> None:
    (given_vote,) = log([vote("ann", "allow")], by=2)
    own = ask_name(key(3).node_id, 1)
    false_ruling = log([ask(), ruling(given_vote, "late", own)], by=3)
    home = log([ask(), ruling(given_vote, "accepted")], by=1)
    parts = [false_ruling, home][::order]
    with holding([*parts[0], *parts[1], given_vote]) as connection:
        assert connection.execute("SELECT ruling FROM vote").fetchall() == [("accepted",)]


def test_a_vote_is_ruled_on_once() -> None:
    (given_vote,) = log([vote("ann", "allow")], by=2)
    home = log([ask(), ruling(given_vote, "counted"), ruling(given_vote, "late")], by=1)
    for order in ([given_vote, *home], [*home, given_vote]):
        with holding(order) as connection:
            assert connection.execute("SELECT ruling FROM vote").fetchall() == [("counted",)]


@pytest.mark.parametrize("kind", ["final", "handover", "resolved"])
def test_only_the_home_closes_hands_over_and_resolves(kind: str) -> None:
    home = log([ask(), final(VOTES[1]), handover("handed")], by=1)
    steps = {"final": (home[:1], final(VOTES[1])), "handover": (home[:2], handover("handed"))}
    steps["resolved"] = (home, RESOLVED)
    before, said = steps[kind]
    without_heads = [name for name in DERIVED if name != "head"]
    alone, with_other = tables(before), tables([*before, *log([said], by=2)])
    assert {name: with_other[name] for name in without_heads} == {
        name: alone[name] for name in without_heads
    }


@pytest.mark.parametrize(
    "said",
    [
        [final(VOTES[1]), final(VOTES[2], "denied")],
        [handover("handed")],
        [RESOLVED],
        [final(VOTES[1]), handover("handed"), handover("handed", 2)],
        [final(VOTES[1]), handover("void"), handover("handed")],
        [final(VOTES[1]), handover("handed"), RESOLVED, RESOLVED],
    ],
    ids=["two finals", "no final", "not handed", "handed twice", "void, then handed", "two ends"],
)
def test_the_table_of_steps_guards_the_store_too(said: list[Said]) -> None:
    """Another node's step that the table does not have is kept, and changes nothing."""
    without_heads = [name for name in DERIVED if name != "head"]
    before, after = tables(log([ask(), *said[:-1]], by=1)), tables(log([ask(), *said], by=1))
    assert {name: after[name] for name in without_heads} == {
        name: before[name] for name in without_heads
    }
    assert after["head"] != before["head"]


async def test_a_job_of_this_node_with_such_a_step_fails(tmp_path: Path) -> None:
    async with writing(tmp_path / "home") as kept:
        node = kept.opened.identity.key.node_id

        def job(transaction: Transaction) -> None:
            note(transaction, 9)
            facts = changed(final(VOTES[1]), ask=ask_name(node, 9)).facts
            transaction.append(EntryType.FINAL, facts)

        with pytest.raises(IllegalStep):
            await kept.writer.run("job", job)
    assert looked(tmp_path / "home", "SELECT 1 FROM ask") == []


@pytest.mark.parametrize("order", [1, -1])
def test_ties_of_marks_are_settled_by_the_bytes_of_the_node_id(order: int) -> None:
    """Not by the text of the id: base32 writes the values 26 to 31 as digits, which sort first."""
    pairs = [(left, right) for left in range(1, 40) for right in range(1, 40)]
    one, two = next(
        (left, right)
        for left, right in pairs
        if key(left).node_id < key(right).node_id
        and node_name(key(left).node_id) > node_name(key(right).node_id)
    )
    entries = [*log([mark(True, 5)], by=one), *log([mark(False, 5)], by=two)]
    with holding(entries[::order]) as connection:
        winner = node_name(key(two).node_id)
        assert connection.execute("SELECT read, node FROM mark").fetchall() == [(0, winner)]


def changed(said: Said, **more: object) -> Said:
    return said._replace(facts=msgspec.structs.replace(said.facts, **more))


NOTE = Said(
    EntryType.NOTE,
    say.NoteFacts(number=9, kind="note", agent="c", session="s", project="p", created=1),
    say.NoteText(title="Note"),
)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ([], changed(ask(), kind="of a newer askmesh")),
        ([], changed(ask(), kind="note")),
        ([], changed(NOTE, kind="approval")),
        ([ask()], vote("ann", "of a newer askmesh")),
        ([ask()], changed(final(VOTES[1]), outcome="of a newer askmesh")),
        ([ask(), final(VOTES[1])], changed(handover("handed"), status="of a newer askmesh")),
    ],
)
def test_a_word_nobody_knows_is_kept_and_not_applied(before: list[Said], said: Said) -> None:
    """What a card or a ruling could make nothing of must not reach the tables."""
    without_heads = [name for name in DERIVED if name != "head"]
    alone, with_it = tables(log(before, by=1)), tables(log([*before, said], by=1))
    assert {name: with_it[name] for name in without_heads} == {
        name: alone[name] for name in without_heads
    }


def test_a_note_has_no_life() -> None:
    said = changed(final(VOTES[1]), ask=ask_name(HOME.node_id, 9))
    with holding(log([NOTE, said], by=1)) as connection:
        assert connection.execute("SELECT state, outcome FROM ask").fetchall() == [("posted", None)]


def test_a_type_nobody_knows_is_kept_and_not_applied() -> None:
    unknown = entry(by=OTHER, kind=33, facts=b"\xff\x00")
    with holding([unknown]) as connection:
        assert connection.execute("SELECT type, facts FROM entry").fetchall() == [(33, b"\xff\x00")]
        assert connection.execute("SELECT seq, hash FROM head").fetchall() == [(1, unknown.hash)]
