"""Lines of which nothing is known yet, that are disputed, or that no entry ended."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from node.store import derive
from sync.log.entry import Entry
from sync.log.kinds import Log
from tests.node.audit.reading import page_of
from tests.node.store.histories import (
    ASK,
    ASKED,
    FOUNDING,
    HOME,
    LIFE,
    OTHER,
    VOTES,
    ask,
    holding,
    log,
)
from web.audit_views import AuditLine

FLEET = FOUNDING[0].header.fleet


@contextmanager
def known(entries: Sequence[Entry]) -> Iterator[sqlite3.Connection]:
    """A store of a machine of that fleet, which got these entries."""
    with holding(entries) as connection:
        connection.execute("INSERT INTO local VALUES ('fleet', ?)", (FLEET,))
        yield connection


def told(connection: sqlite3.Connection) -> AuditLine:
    lines = page_of(connection, now=10, only="decisions").lines
    (found,) = [one for one in lines if one.id == ASK]
    return found


def test_a_life_from_another_machine_holds() -> None:
    with known([*VOTES, *LIFE]) as connection:
        assert (told(connection).check, told(connection).findings) == ("holds", [])


def test_a_final_that_names_what_is_not_here_waits() -> None:
    with known([*LIFE, *VOTES[:1]]) as connection:
        line = told(connection)
    assert line.check == "waits"
    assert line.findings == ["its final names statements that are not here yet"]
    assert line.ask is not None
    assert line.ask.became == "waiting"


def test_what_was_said_after_a_split_is_disputed() -> None:
    with known([*VOTES, *LIFE]) as connection:
        after = ASKED.header.seq + 1
        connection.execute(
            "INSERT INTO fork VALUES (?, ?, ?, ?, x'', x'', x'', x'', 0)",
            (FLEET, HOME.node_id, Log.DECISIONS.value, after),
        )
        line = told(connection)
        assert line.check == "disputed"
        assert "the final was signed after the history of its machine split" in line.findings
        assert not any("the ask was" in finding for finding in line.findings)
        # That something is not as it was signed says more.
        connection.execute("UPDATE ask SET closed = 77")
        assert told(connection).check == "fails"


def test_what_ended_because_this_machine_left_its_fleet_needs_no_entry() -> None:
    with known([*VOTES, *log([ask()], by=1)]) as connection:
        connection.execute("INSERT INTO fleet_left VALUES (?, 8)", (FLEET,))
        derive.close_left(connection)
        line = told(connection)
        assert (line.check, line.by) == ("holds", None)
        assert line.summary.startswith("Withdrawn: this machine left the fleet")
        connection.execute("DELETE FROM fleet_left")
        assert told(connection).findings == ["no entry says how it closed"]


def test_a_machine_that_is_no_member_proves_nothing() -> None:
    with known([*VOTES, *LIFE]) as connection:
        connection.execute("DELETE FROM node WHERE public_key = ?", (OTHER.public,))
        line = told(connection)
    assert line.check == "fails"
    assert any("its machine is no member" in finding for finding in line.findings)
