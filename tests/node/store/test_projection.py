"""From entries to tables: two nodes that hold the same logs derive the same tables."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.store.projection import DERIVED
from node.store.transaction import Transaction
from sync.errors import IllegalStep
from sync.log import facts as say
from sync.log.kinds import EntryType
from sync.log.names import ask_name, node_name
from tests.node.store.histories import (
    ANN,
    BOB,
    HOME,
    LIFE,
    OTHER,
    RESOLVED,
    VOTES,
    Said,
    ask,
    changed,
    final,
    handover,
    holding,
    log,
    mark,
    ruling,
    tables,
    vote,
)
from tests.node.store.stores import looked, note, writing
from tests.sync.log.entries import entry, key


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
    home = log([ask(), final(ANN), handover("handed")], by=1)
    steps = {"final": (home[:1], final(ANN)), "handover": (home[:2], handover("handed"))}
    steps["resolved"] = (home, RESOLVED)
    before, said = steps[kind]
    if kind == "handover":
        said = changed(said, final=home[1].hash)
    without_heads = [name for name in DERIVED if name != "head"]
    before = [*VOTES, *before]
    by_other = log([said], by=2, after=VOTES)
    # The home may: only who says it makes the difference.
    by_home = log([said], by=1, after=before)
    alone, with_other = tables(before), tables([*before, *by_other])
    assert tables([*before, *by_home])["ask"] != alone["ask"]
    assert {name: with_other[name] for name in without_heads} == {
        name: alone[name] for name in without_heads
    }


@pytest.mark.parametrize(
    "said",
    [
        [final(ANN), final(BOB, "denied")],
        [handover("handed")],
        [RESOLVED],
        [final(ANN), handover("handed"), handover("handed", 2)],
        [final(ANN), handover("void"), handover("handed")],
        [final(ANN), handover("handed"), RESOLVED, RESOLVED],
    ],
    ids=["two finals", "no final", "not handed", "handed twice", "void, then handed", "two ends"],
)
def test_the_table_of_steps_guards_the_store_too(said: list[Said]) -> None:
    """Another node's step that the table does not have is kept, and changes nothing."""
    without_heads = [name for name in DERIVED if name != "head"]
    before = tables([*VOTES, *log([ask(), *said[:-1]], by=1)])
    after = tables([*VOTES, *log([ask(), *said], by=1)])
    assert before["unproven"] == set()
    assert {name: after[name] for name in without_heads} == {
        name: before[name] for name in without_heads
    }
    assert after["head"] != before["head"]


async def test_a_job_of_this_node_with_such_a_step_fails(tmp_path: Path) -> None:
    async with writing(tmp_path / "home") as kept:
        node = kept.opened.identity.key.node_id

        def job(transaction: Transaction) -> None:
            note(transaction, 9)
            facts = changed(final(ANN), ask=ask_name(node, 9)).facts
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
        ([ask()], changed(final(ANN), outcome="of a newer askmesh")),
        ([ask(), final(ANN)], changed(handover("handed"), status="of a newer askmesh")),
    ],
)
def test_a_word_nobody_knows_is_kept_and_not_applied(before: list[Said], said: Said) -> None:
    """What a card or a ruling could make nothing of must not reach the tables."""
    without_heads = [name for name in DERIVED if name != "head"]
    alone = tables([*VOTES, *log(before, by=1)])
    with_it = tables([*VOTES, *log([*before, said], by=1)])
    assert {name: with_it[name] for name in without_heads} == {
        name: alone[name] for name in without_heads
    }


@pytest.mark.parametrize("order", [1, -1])
def test_of_a_note_and_an_ask_of_one_number_the_ask_stands(order: int) -> None:
    """Two copies of a directory that took turns: neither log forks, and all show the same."""
    read = changed(NOTE, number=1)
    both = log([ask(), read], by=1)
    with holding([*both[::order], *log([vote("ann", "allow")], by=2)]) as connection:
        assert connection.execute("SELECT kind, state FROM ask").fetchall() == [
            ("approval", "waiting")
        ]


def test_a_note_has_no_life() -> None:
    said = changed(final(ANN), ask=ask_name(HOME.node_id, 9))
    with holding(log([NOTE, said], by=1)) as connection:
        assert connection.execute("SELECT state, outcome FROM ask").fetchall() == [("posted", None)]


def test_a_type_nobody_knows_is_kept_and_not_applied() -> None:
    unknown = entry(by=OTHER, kind=33, facts=b"\xff\x00")
    with holding([unknown]) as connection:
        stored = connection.execute("SELECT hash FROM entry WHERE type = 33 AND facts = x'ff00'")
        assert stored.fetchall() == [(unknown.hash,)]
        head = connection.execute("SELECT seq, hash FROM head WHERE author = ?", (OTHER.node_id,))
        assert head.fetchall() == [(1, unknown.hash)]
