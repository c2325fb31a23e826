"""Whatever is altered by hand in the store, a line that rests on it says so."""

# ruff: noqa: S608 -- names of our own tables and columns

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from node.cli.main import askmesh
from node.verify.whole import current
from sync.log.kinds import EntryType
from tests.node.audit.reading import page_of
from tests.node.desk.fleets import fleet_of
from tests.node.store.spoiling import changed, edit, spoiling
from tests.node.store.stores import SetTimes
from web.audit_views import AuditLine, AuditPage

LIFE = (
    EntryType.ASK, EntryType.VOTE, EntryType.FINAL, EntryType.HANDOVER, EntryType.RESOLVED,
)  # fmt: skip


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of Ann's box, on which one approval went all the way; nobody writes it."""

    async def live(folder: Path) -> Path:
        async with fleet_of(folder, "box") as fleet:
            box = fleet["box"]
            ask = await box.ask("approval")
            await box.vote(fleet.ann, ask, "allow", because="go on")
            await box.fetch(ask)
            await box.agents.resolve(
                box.asker(), ask, outcome="deployed", ok=True, token=None, request="r"
            )
            return box.home

    return asyncio.run(live(tmp_path_factory.mktemp("fleet")))


@pytest.fixture(scope="module")
def store(lived: Path) -> Iterator[sqlite3.Connection]:
    """What may write anything into it; that it is safe on the disk is nobody's worry."""
    with spoiling(lived) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        yield connection


def audited(home: Path) -> AuditPage:
    with current(home) as connection:
        return page_of(connection, now=SetTimes().wall)


def told_of(home: Path) -> AuditLine:
    """The line of the one ask."""
    (found,) = [one for one in audited(home).lines if one.what == "ask"]
    return found


def test_it_holds_before(lived: Path) -> None:
    page = audited(lived)
    assert len(page.lines) > 3
    assert {one.check for one in page.lines} == {"holds"}


@pytest.mark.parametrize("kind", LIFE, ids=lambda kind: kind.name)
@pytest.mark.parametrize("column", ["header", "signature", "facts", "text", "hash"])
def test_an_entry_that_was_altered(
    lived: Path, store: sqlite3.Connection, kind: EntryType, column: str
) -> None:
    (n, value) = store.execute(
        f"SELECT n, {column} FROM entry WHERE type = ?", (kind.value,)
    ).fetchone()
    sql = f"UPDATE entry SET {column} = ? WHERE n = ?"
    store.execute(sql, (changed(value), n))
    try:
        told = told_of(lived)
    finally:
        store.execute(sql, (value, n))
    assert told.check == "fails"
    assert told.findings
    # What was not signed is told as nobody's words.
    if kind is EntryType.VOTE:
        assert told.ask is None or all(vote.because is None for vote in told.ask.votes)


COLUMNS = [
    *(("ask", name) for name in (
        "kind", "state", "entry_hash", "agent", "session", "project", "created", "deadline",
        "enforced", "needed", "role", "not_by", "contract", "call_mac", "blob", "call_size",
        "options", "outcome", "unclear", "choice", "reason", "final_hash", "closed", "use_by",
        "closed_by", "closed_on", "token", "handed_to", "handover", "handover_at",
        "handover_why", "lease_until", "resolved_ok", "resolved_at", "resolved_hash", "fleet",
        "rule_name", "number", "home", "revision",
    )),
    *(("vote", name) for name in (
        "hash", "ask", "node", "person", "decision", "choice", "unclear", "seen", "at",
        "ruling",
    )),
    ("handed", "hash"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_table_that_says_something_else(
    lived: Path, store: sqlite3.Connection, table: str, column: str
) -> None:
    put_back = edit(store, table, column)
    try:
        told = told_of(lived)
    finally:
        put_back()
    assert told.check == "fails", (table, column)
    assert told.findings


def test_a_statement_that_was_altered_is_under_all_that_rests_on_it(
    lived: Path,
    store: sqlite3.Connection,
) -> None:
    (n, facts) = store.execute(
        "SELECT n, facts FROM entry WHERE type = ?", (EntryType.PERSON.value,)
    ).fetchone()
    sql = "UPDATE entry SET facts = ? WHERE n = ?"
    store.execute(sql, (facts.replace(b'"Ann"', b'"Eve"'), n))
    try:
        page = audited(lived)
        shown = CliRunner().invoke(askmesh, ["--home", str(lived), "audit"])
    finally:
        store.execute(sql, (facts, n))
    assert page.findings == ["it rests on statements about the fleet that do not hold"]
    checks = {one.what: one.check for one in page.lines}
    assert (checks["ask"], checks["person"]) == ("fails", "fails")
    assert shown.exit_code == 1
    assert "NOT AS SIGNED" in shown.stdout
    assert "askmesh verify" in shown.stderr


def test_a_vote_that_vanished(lived: Path, store: sqlite3.Connection) -> None:
    rows = store.execute("SELECT * FROM vote").fetchall()
    store.execute("DELETE FROM vote")
    try:
        told = told_of(lived)
    finally:
        store.executemany(f"INSERT INTO vote VALUES ({', '.join('?' * len(rows[0]))})", rows)
    assert told.findings == ["a vote that its final rests on is not kept here"]


def test_an_ask_that_cannot_be_read_at_all_is_a_line_too(
    lived: Path, store: sqlite3.Connection
) -> None:
    store.execute("UPDATE ask SET options = '{'")
    try:
        told = told_of(lived)
    finally:
        store.execute("UPDATE ask SET options = '[]'")
    assert (told.check, told.summary) == ("fails", "This cannot be read.")


def test_the_command_says_that_all_of_it_holds(lived: Path) -> None:
    shown = CliRunner().invoke(askmesh, ["--home", str(lived), "audit"])
    assert (shown.exit_code, shown.stderr) == (0, "")
