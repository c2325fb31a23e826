"""The order of lines, their pages, and that a long past is not read through for them."""

import sqlite3
from collections.abc import Iterator

import pytest

from node.audit.wanted import CLOSED, LAST, WAITING, Key, Wanted, keys, place, place_of, query
from node.store.migrations import migrate
from sync.errors import Invalid

HOME = "k" * 52
ASKS = 10_000
MUCH = 100
"""Thousand steps of SQLite's machine: a fraction of what reading every ask takes."""


@pytest.fixture(scope="module")
def past() -> Iterator[sqlite3.Connection]:
    """A store with ten thousand closed asks, and one of a hundred open ones."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection, now=0)
    connection.executemany(
        "INSERT INTO ask (id, home, number, fleet, kind, state, entry_hash, agent, session,"
        " project, created, enforced, needed, call_size, options, revision, outcome, closed)"
        " VALUES (?, ?, ?, x'00', 'question', ?, x'00', ?, 's', 'p', ?, 0, 1, 0, '[]', 1, ?, ?)",
        [
            (
                f"{HOME}-{number}",
                HOME,
                number,
                "waiting" if number % 100 == 0 else "closed",
                f"agent-{number % 7}",
                number,
                None if number % 100 == 0 else "answered",
                # Many close in the same moment.
                None if number % 100 == 0 else ASKS + number // 3,
            )
            for number in range(1, ASKS + 1)
        ],
    )
    connection.execute("ANALYZE")
    yield connection
    connection.close()


def steps(connection: sqlite3.Connection, what: Wanted, limit: int = 50) -> int:
    """How many thousand steps of SQLite's machine a first page takes."""
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    connection.set_progress_handler(step, 1_000)
    try:
        assert len(keys(connection, what, None, limit)) == limit
    finally:
        connection.set_progress_handler(None, 0)
    return count


def test_the_first_page_of_a_long_past_costs_little(past: sqlite3.Connection) -> None:
    whole = steps(past, Wanted(), limit=ASKS)
    assert whole > MUCH
    assert steps(past, Wanted()) < MUCH / 10
    assert steps(past, Wanted(agent="agent-3")) < MUCH / 10
    assert steps(past, Wanted(outcome="answered", until=ASKS + ASKS // 6)) < MUCH / 10


@pytest.mark.parametrize("which", [CLOSED, WAITING])
def test_the_index_of_the_moment_is_walked(
    past: sqlite3.Connection, which: tuple[str, str]
) -> None:
    sql, values = query(Wanted(agent="a*", persons=frozenset("a"), machine="m"), *which)
    plan = past.execute(
        f"EXPLAIN QUERY PLAN {sql}", {**values, "at": LAST, "ref": "x", "limit": 50}
    ).fetchall()
    said = " ".join(str(step[3]) for step in plan)
    index = {CLOSED: "ask_closed", WAITING: "ask_waiting"}[which]
    assert f"SEARCH ask USING INDEX {index}" in said
    assert "SCAN ask" not in said
    assert "vote USING INDEX vote_ask" in said
    if which is CLOSED:
        assert "TEMP B-TREE FOR ORDER BY" not in said


def test_pages_cover_all_of_it_once_in_order(past: sqlite3.Connection) -> None:
    whole = keys(past, Wanted(), None, 2 * ASKS)
    assert len(whole) == ASKS
    assert whole == sorted(whole, reverse=True)
    found: list[Key] = []
    before = None
    while page := keys(past, Wanted(), before, 777):
        found += page
        before = place(place_of(page[-1]))
    assert found == whole


def test_since_is_part_of_it_and_until_is_not(past: sqlite3.Connection) -> None:
    at = {key.at for key in keys(past, Wanted(since=ASKS + 5, until=ASKS + 8), None, ASKS)}
    assert at == {ASKS + 5, ASKS + 6, ASKS + 7}


@pytest.mark.parametrize(
    "text", ["", "1", "x.k-1", "1.", "1.K", "1.k\n", "9" * 19 + ".k", "1.k'; --", "--1.k"]
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        place(text)


@pytest.mark.parametrize("key", [Key(-5, "k-1", ask=True), Key(LAST, "0f" * 32, ask=False)])
def test_a_place_reads_as_it_was_given(key: Key) -> None:
    assert place(place_of(key)) == (key.at, key.ref)


def test_a_version_is_found_by_each_file_that_counted(past: sqlite3.Connection) -> None:
    past.execute("SAVEPOINT before")
    past.execute(
        "UPDATE ask SET rule_name = 'pushes', rule_version = 'e071+.askmesh.toml:601c'"
        " WHERE number = 7"
    )
    for said in ("e071", ".askmesh.toml:601c", "e071+.askmesh.toml:601c", "pushes"):
        (found,) = keys(past, Wanted(rule=said), None, 9)
        assert found.ref == f"{HOME}-7"
    assert keys(past, Wanted(rule="e07"), None, 9) == []
    past.execute("ROLLBACK TO before")
