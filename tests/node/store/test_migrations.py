"""Migrations: all or nothing, in order, and never backwards."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.store import forks, migrations
from node.store.connection import open_reader, open_writer
from node.store.migrations import MIGRATIONS, applied, migrate, schema
from node.store.projection import DERIVED
from node.store.transaction import insert
from sync.errors import StoreError, StoreNewer
from sync.log.chain import Head
from sync.log.kinds import EntryType
from tests.node.store.histories import ASK, FOUNDING, LIFE, VOTES, Said, holding, log
from tests.node.store.stores import found, mark, note, writing
from tests.node.store.test_erasing import ERASED
from tests.sync.decide.accounts import operator, told
from tests.sync.log.entries import FLEET, chain, entry, head_of, key

TABLES = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = open_writer(tmp_path)
    yield opened
    opened.close()


def tables(connection: sqlite3.Connection) -> set[tuple[str, ...]]:
    return {row for row in connection.execute(TABLES) if row[1] != "migration"}


def test_a_fresh_store_is_what_the_file_says(connection: sqlite3.Connection) -> None:
    assert migrate(connection, now=5) == list(MIGRATIONS)
    by_hand = sqlite3.connect(":memory:")
    by_hand.executescript(schema())
    assert tables(connection) == tables(by_hand)
    by_hand.close()
    assert len(tables(connection)) > 20
    assert connection.execute("SELECT name, at FROM migration").fetchall() == [
        (name, 5) for name in MIGRATIONS
    ]


def test_a_second_time_does_nothing(connection: sqlite3.Connection) -> None:
    migrate(connection, now=5)
    before = connection.execute("PRAGMA data_version").fetchone()
    assert migrate(connection, now=6) == []
    assert connection.execute("SELECT DISTINCT at FROM migration").fetchall() == [(5,)]
    assert connection.execute("PRAGMA data_version").fetchone() == before


def test_every_column_is_typed(connection: sqlite3.Connection) -> None:
    migrate(connection, now=5)
    assert all("STRICT" in row[3] for row in tables(connection) if row[0] == "table")


def test_a_newer_store_is_refused_and_stays_as_it_was(tmp_path: Path) -> None:
    found(tmp_path).connection.close()
    store = open_writer(tmp_path)
    store.execute("INSERT INTO migration VALUES ('9999-from-the-future', 1)")
    store.execute("CREATE TABLE from_the_future (x TEXT) STRICT")
    before = list(store.execute(TABLES))
    store.close()
    with pytest.raises(StoreNewer, match="9999-from-the-future"):
        found(tmp_path)
    after = open_reader(tmp_path)
    assert list(after.execute(TABLES)) == before
    after.close()


@pytest.mark.parametrize("at", ["the first", "a later"])
def test_a_migration_that_fails_half_way_leaves_nothing(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    def broken(store: sqlite3.Connection) -> None:
        store.execute("CREATE TABLE half (x TEXT) STRICT")
        store.execute("ALTER TABLE nowhere ADD COLUMN x TEXT")

    if at == "a later":
        migrate(connection, now=5)
    before = list(connection.execute(TABLES))
    monkeypatch.setitem(MIGRATIONS, "0000-broken" if at == "the first" else "9999-broken", broken)
    if at == "the first":
        monkeypatch.setattr(migrations, "MIGRATIONS", {"0000-broken": broken, **MIGRATIONS})
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(connection, now=6)
    assert list(connection.execute(TABLES)) == before
    assert not connection.in_transaction
    assert "9999-broken" not in applied(connection)


def test_the_next_start_goes_on_where_one_failed(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter(["nowhere", "node"])

    def second_try(store: sqlite3.Connection) -> None:
        store.execute("CREATE TABLE later (x TEXT) STRICT")
        store.execute(f"ALTER TABLE {next(steps)} ADD COLUMN later TEXT")

    migrate(connection, now=5)
    monkeypatch.setitem(MIGRATIONS, "9999-later", second_try)
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, now=6)
    assert migrate(connection, now=7) == ["9999-later"]
    assert applied(connection) == [*MIGRATIONS]


def test_a_commit_that_fails_is_the_error_that_is_told(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite may have rolled back by itself: a second ROLLBACK must not hide the cause."""

    def gives_up(store: sqlite3.Connection) -> None:
        store.execute("ROLLBACK")
        raise sqlite3.OperationalError("database or disk is full")

    migrate(connection, now=5)
    monkeypatch.setitem(MIGRATIONS, "9999-full", gives_up)
    with pytest.raises(sqlite3.OperationalError, match="disk is full"):
        migrate(connection, now=6)


async def test_a_store_of_the_first_release_becomes_one_of_a_fleet(tmp_path: Path) -> None:
    """The log is byte for byte the same, and the tables are those of a fresh store."""
    async with writing(tmp_path / "now") as kept:
        await kept.writer.run("note", lambda transaction: note(transaction, 1, "Kept"))
        await kept.writer.run("mark", lambda transaction: mark(transaction, "x-1"))
    fresh = open_reader(tmp_path / "now")
    old = open_writer(tmp_path)
    old.executescript((Path(__file__).parent / "schema_0001.sql").read_text("utf-8"))
    old.execute("CREATE TABLE migration (name TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT")
    old.execute("INSERT INTO migration VALUES ('0001-first', 1)")
    logged = "n, author, log, seq, type, hash, header, signature, facts, text"
    log = f"SELECT {logged} FROM entry ORDER BY n"  # noqa: S608 -- constants
    for row in fresh.execute(log):
        old.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    old.executemany("INSERT INTO local VALUES (?, ?)", list(fresh.execute("SELECT * FROM local")))
    old.execute("INSERT INTO head VALUES (x'00', 0, 1, x'00')")

    assert migrate(old, now=2) == list(MIGRATIONS)[1:]

    assert tables(old) == tables(fresh)
    for table in ("entry", "local", *DERIVED):
        rows = f"SELECT * FROM {table}"  # noqa: S608 -- constants
        assert old.execute(rows).fetchall() == fresh.execute(rows).fetchall(), table
    assert old.execute("SELECT count(*) FROM entry").fetchone()[0] > 2
    assert old.execute("SELECT count(*) FROM node").fetchone() == (1,)
    fresh.close()
    old.close()


def test_what_newer_machines_said_of_accounts_counts_after_the_update(tmp_path: Path) -> None:
    """It was stored as of an unknown type, and all that came after it waited for it."""
    said = log(
        [
            Said(EntryType.OPERATOR, operator("billing")),
            Said(EntryType.STANDING, told("billing", 1, "on_hold", fleet=FLEET.hex())),
        ],
        by=1,
    )
    with holding(said) as fresh:
        old = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
        fresh.backup(old)
        wanted = {table: set(fresh.execute(f"SELECT * FROM {table}")) for table in DERIVED}  # noqa: S608
    assert [row[2] for row in wanted["standing"]] == ["on_hold"]
    old.execute("INSERT INTO local VALUES ('fleet', ?)", (FLEET,))
    old.execute("DROP TABLE operator")
    old.execute("DROP TABLE standing")
    old.execute("DELETE FROM migration WHERE name = '0007-deciding'")
    assert migrate(old, now=9) == ["0007-deciding"]
    assert {table: set(old.execute(f"SELECT * FROM {table}")) for table in DERIVED} == wanted  # noqa: S608
    old.close()


def test_what_is_no_store_is_refused_in_words(tmp_path: Path) -> None:
    found(tmp_path).connection.close()
    (tmp_path / "store.db").write_bytes(b"not a database at all" * 200)
    with pytest.raises(StoreError, match="not a database"):
        found(tmp_path)


def test_forks_that_were_seen_before_get_their_other_side(tmp_path: Path) -> None:
    """A proof needs two headers: what stood here alone is joined with what it differed from."""
    opened = found(tmp_path)
    store = opened.connection
    run, twice, breaks = chain(4), entry(hlc=1), chain(4, by=key(2))
    other = entry(Head(seq=3, hash=bytes(31) + b"x"), by=key(2))
    insert(store, run, after=100)
    insert(store, breaks[:3], after=200)
    store.execute("DROP TABLE fork")
    store.execute(
        "CREATE TABLE fork (fleet BLOB NOT NULL, author BLOB NOT NULL, log INTEGER NOT NULL,"
        " seq INTEGER NOT NULL, header BLOB NOT NULL, signature BLOB NOT NULL,"
        " at INTEGER NOT NULL, PRIMARY KEY (fleet, author, log, seq)) STRICT, WITHOUT ROWID"
    )
    for one in (twice, entry(head_of(run[0]), hlc=1), other):
        header = one.header
        place = (header.fleet, header.author, header.log, header.seq)
        store.execute(
            "INSERT INTO fork VALUES (?, ?, ?, ?, ?, ?, 7)", (*place, one.raw, one.signature)
        )
    store.execute("DELETE FROM migration WHERE name = '0004-evidence'")
    assert migrate(store, now=9) == ["0004-evidence"]
    known = forks.known(store, FLEET)
    assert {place[0]: one.seq for place, one in known.items()} == {
        key().node_id: 1,
        key(2).node_id: 3,
    }
    for author in (key(), key(2)):
        known[author.node_id, 0].evidence.verify(author.public)
    store.close()


def test_a_store_from_before_texts_could_be_erased_erases_what_it_only_kept(
    tmp_path: Path,
) -> None:
    """It had stored what an owner said, of a type that it did not know."""
    told = [*FOUNDING, *VOTES, *LIFE, *ERASED]
    old = open_writer(tmp_path)
    old.executescript((Path(__file__).parent / "schema_0003.sql").read_text("utf-8"))
    old.execute("CREATE TABLE migration (name TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT")
    for name in ("0001-first", "0002-fleet", "0003-unproven"):
        old.execute("INSERT INTO migration VALUES (?, 1)", (name,))
    old.execute("INSERT INTO local VALUES ('fleet', ?)", (told[0].header.fleet,))
    for n, one in enumerate(told, 1):
        header = one.header
        place = (n, header.fleet, header.author, header.log, header.seq, header.type, one.hash)
        row = (*place, one.raw, one.signature, one.facts, one.text)
        old.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    old.execute("INSERT INTO reply VALUES ('first', ?, ?, 7)", (b'{"text":"it"}', ASK))
    old.execute("INSERT INTO reply VALUES ('other', ?, 'x-1', 7)", (b'{"text":"kept"}',))
    old.execute("INSERT INTO call VALUES (?, x'05', 'a diff')", (ASK,))

    assert migrate(old, now=2) == [name for name in MIGRATIONS if name > "0003-unproven"]

    replies = "SELECT request, body FROM reply ORDER BY request"
    assert old.execute(replies).fetchall() == [("first", b""), ("other", b'{"text":"kept"}')]
    assert old.execute("SELECT digest, diff FROM call").fetchall() == [(b"\0", None)]
    with holding(told[len(FOUNDING) :]) as fresh:
        assert tables(old) == tables(fresh)
        for table in ("about", *DERIVED):
            rows = f"SELECT * FROM {table}"  # noqa: S608 -- constants
            assert set(old.execute(rows)) == set(fresh.execute(rows)), table
        texts = "SELECT hash, text FROM entry ORDER BY hash"
        assert old.execute(texts).fetchall() == fresh.execute(texts).fetchall()
    old.close()


def test_a_session_keeps_the_name_it_had_before_names_were_kept(tmp_path: Path) -> None:
    connection = open_writer(tmp_path)
    migrate(connection, now=1)
    connection.execute("DROP TABLE agent_name")
    connection.execute("DROP TABLE hidden_call")
    connection.execute("DELETE FROM migration WHERE name = '0007-deciding'")
    connection.execute(
        "INSERT INTO agent_session (id, agent, project, started, last_heard)"
        " VALUES ('s', 'bot', 'shop', 1, 1)"
    )
    assert migrate(connection, now=2) == ["0007-deciding"]
    assert connection.execute("SELECT * FROM agent_name").fetchall() == [("s", "bot")]
    assert connection.execute("SELECT * FROM hidden_call").fetchall() == []
