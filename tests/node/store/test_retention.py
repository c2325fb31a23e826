"""Which words are due, as the tables and the entries say."""

import sqlite3

import pytest

from node.store.erasing import BOARD
from node.store.retention import due, let_go
from tests.node.store.histories import (
    ASK,
    LIFE,
    VOTES,
    cells,
    holding,
    log,
    vote,
)


def asks_due(connection: sqlite3.Connection, before: int, limit: int) -> list[str]:
    """What is due but for messages to agents and boards: those go by their stamps alone."""
    return [name for name in due(connection, before, 99) if not of_agents(name)][:limit]


def of_agents(name: str) -> bool:
    """Whether this is a message or a board."""
    return "-m" in name or name.startswith(BOARD)


def test_messages_go_by_their_stamps() -> None:
    with holding([*VOTES, *LIFE]) as connection:
        written = {name for (name,) in connection.execute("SELECT id FROM message")}
        assert len(written) == 3
        assert not written & set(due(connection, 1, 9))
        assert written <= set(due(connection, 10**12, 9))
        let_go(connection, written)
        assert not written & set(due(connection, 10**12, 9))


def test_a_board_goes_whole_once_nothing_on_it_is_young() -> None:
    board = [cells("", "archived", hlc=5 << 16), cells("1" * 32, "note", hlc=9 << 16)]
    with holding(log(board, by=1)) as connection:
        assert due(connection, 9, 9) == []
        assert due(connection, 10, 9) == [BOARD + "0" * 32]
        let_go(connection, due(connection, 10, 9))
        words = "SELECT count(*) FROM entry WHERE type = 69 AND text IS NOT NULL"
        assert connection.execute(words).fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM board_cell").fetchone() == (2,)


def test_only_what_is_over_is_due() -> None:
    """The first ask closed at 4 by a clock that is behind, as its stamp of 7 shows.

    The second is open; a vote on no ask goes by its stamp.
    """
    stray = log([vote("ann", "allow", "nowhere-1")], by=2, after=VOTES)
    with holding([*VOTES, *LIFE, *stray]) as connection:
        assert asks_due(connection, 7, 9) == []
        assert asks_due(connection, 8, 9) == [ASK, "nowhere-1"]
        connection.execute("UPDATE ask SET closed = 9 WHERE id = ?", (ASK,))
        assert asks_due(connection, 9, 9) == ["nowhere-1"]
        connection.execute("UPDATE ask SET closed = 4 WHERE id = ?", (ASK,))
        assert asks_due(connection, 8, 1) == [ASK]
        assert len(due(connection, 8, 1)) == 1
        let_go(connection, asks_due(connection, 8, 9))
        assert asks_due(connection, 8, 9) == []
        left = connection.execute("SELECT ask FROM about").fetchall()
        assert [ask for (ask,) in left if not of_agents(ask)] == [ASK[:-1] + "2"]


def test_of_a_removed_machine_what_waits_is_over_when_it_was_removed() -> None:
    with holding(LIFE[:1]) as connection:
        assert asks_due(connection, 10**12, 9) == []
        connection.execute("UPDATE node SET removed = 50 WHERE id = (SELECT home FROM ask)")
        assert asks_due(connection, 50, 9) == []
        assert asks_due(connection, 51, 9) == [ASK]


@pytest.mark.parametrize("before", [-1, 0, 2**62])
def test_any_time_can_be_asked_for(before: int) -> None:
    with holding([*VOTES, *LIFE]) as connection:
        assert set(asks_due(connection, before, 9)) <= {ASK}
