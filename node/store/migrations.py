"""Named migrations, in order, each in its own transaction and recorded with it."""

import re
import sqlite3
from collections.abc import Callable
from importlib import resources

from node.store import testimony
from node.store.derive import rebuild_in_place
from sync.errors import StoreNewer
from sync.log.kinds import EntryType

Migration = Callable[[sqlite3.Connection], None]


def _statements(script: str) -> list[str]:
    """Split a script at the semicolons that end statements."""
    found: list[str] = []
    held = ""
    for line in script.splitlines(keepends=True):
        held += line
        if sqlite3.complete_statement(held):
            found.append(held)
            held = ""
    return found


def schema() -> str:
    """Return the schema as readable SQL."""
    return resources.files("node.store").joinpath("schema.sql").read_text("utf-8")


def first(connection: sqlite3.Connection) -> None:
    """Lay today's schema on an empty store; later steps find it done."""
    for statement in _statements(schema()):
        connection.execute(statement)


def fleet(connection: sqlite3.Connection) -> None:
    """Bring a store of one machine to the schema of a fleet; the log stays as it is.

    What is derived is dropped and told again from the log. A store that was laid by this
    program has the schema already.
    """
    if any(column[1] == "fleet" for column in connection.execute("PRAGMA table_info(entry)")):
        return
    connection.execute("ALTER TABLE entry RENAME TO entry_first")
    for table in _DERIVED_FIRST:
        connection.execute(f"DROP TABLE {table}")
    _lay_missing(connection)
    connection.execute(
        "INSERT INTO entry SELECT n, substr(header, 2, 16), author, log, seq, type, hash,"
        " header, signature, facts, text FROM entry_first ORDER BY n"
    )
    connection.execute("DROP TABLE entry_first")
    rebuild_in_place(connection)


def unproven(connection: sqlite3.Connection) -> None:
    """Check the votes in every final again, by whom they are and who signed them.

    That is done by what follows: the log is told again only once.
    """
    _lay_missing(connection)


def evidence(connection: sqlite3.Connection) -> None:
    """Keep both sides of each fork: the proof is to reach nodes that hold neither."""
    if any(column[1] == "at_header" for column in connection.execute("PRAGMA table_info(fork)")):
        return
    connection.execute("ALTER TABLE fork RENAME TO fork_before")
    _lay_missing(connection)
    for back in (0, 1):
        # What stood here as the next entry of another history shows the fork one earlier.
        connection.execute(
            "INSERT OR IGNORE INTO fork SELECT was.fleet, was.author, was.log, entry.seq,"
            " entry.header, entry.signature, was.header, was.signature, was.at"
            " FROM fork_before AS was JOIN entry ON entry.fleet = was.fleet"
            " AND entry.author = was.author AND entry.log = was.log AND entry.seq = was.seq - ?1"
            " WHERE ?1 = 0 OR NOT EXISTS (SELECT 1 FROM entry AS same WHERE same.fleet = was.fleet"
            " AND same.author = was.author AND same.log = was.log AND same.seq = was.seq)",
            (back,),
        )
    connection.execute(
        "DELETE FROM fork WHERE EXISTS (SELECT 1 FROM fork AS earlier WHERE"
        " earlier.fleet = fork.fleet AND earlier.author = fork.author"
        " AND earlier.log = fork.log AND earlier.seq < fork.seq)"
    )
    connection.execute("DROP TABLE fork_before")


def erasing_words(connection: sqlite3.Connection) -> None:
    """Lay words so that they can be erased for good, and erase what owners had erased."""
    columns = {row[1] for row in connection.execute("PRAGMA table_info(ask)")}
    if "resolved_hash" not in columns:
        # Derived, and told again from the log below.
        for table in ("ask", "vote"):
            connection.execute(f"DROP TABLE {table}")
    connection.execute("DROP TABLE IF EXISTS ask_text")
    for table, kept in (("reply", "request, body, ask, at"), ("call", "ask, digest, diff")):
        if all(row[1] != "n" for row in connection.execute(f"PRAGMA table_info({table})")):
            connection.execute(f"ALTER TABLE {table} RENAME TO {table}_first")
            for index in (f"{table}_at", f"{table}_ask"):
                connection.execute(f"DROP INDEX IF EXISTS {index}")
            _lay_missing(connection)
            connection.execute(
                f"INSERT INTO {table} ({kept}) SELECT {kept} FROM {table}_first"  # noqa: S608
            )
            connection.execute(f"DROP TABLE {table}_first")
    _lay_missing(connection)
    if connection.execute("SELECT 1 FROM entry LIMIT 1").fetchone() is not None:
        rebuild_in_place(connection)


def long_past(connection: sqlite3.Connection) -> None:
    """Lay the indexes that keep a store quick whose past is long."""
    for index in ("entry_type", "ask_created", "ask_open"):
        connection.execute(f"DROP INDEX IF EXISTS {index}")
    _lay_missing(connection)


def deciding(connection: sqlite3.Connection) -> None:
    """Lay what says who may decide, who is called, and what stays at home; tell the log again.

    Machines of a newer askmesh may have said some of it already. Whoever spoke for someone
    until now does so still (docs/protocol.md, "Whose node").
    """
    if not any(row[1] == "not_by" for row in connection.execute("PRAGMA table_info(ask)")):
        for table in ("ask", "vote"):
            connection.execute(f"DROP TABLE {table}")
    _lay_missing(connection)
    connection.execute("INSERT OR IGNORE INTO agent_name SELECT id, agent FROM agent_session")
    if connection.execute("SELECT 1 FROM entry LIMIT 1").fetchone() is not None:
        rebuild_in_place(connection)
    # Whether they ever signed in here was not kept: so nobody is taken for new.
    connection.execute("INSERT OR IGNORE INTO local SELECT 'came ' || id, x'31' FROM person")


def beyond_forks(connection: sqlite3.Connection) -> None:
    """Keep what was stated beyond forks where it can be told to all."""
    _lay_missing(connection)
    for (of,) in connection.execute("SELECT DISTINCT fleet FROM fork").fetchall():
        testimony.collect(connection, of)


def messages(connection: sqlite3.Connection) -> None:
    """Lay what messages need; tell the log again where machines of a newer askmesh said some."""
    _lay_for(connection, EntryType.MESSAGE, EntryType.RECEIPT)


def boards(connection: sqlite3.Connection) -> None:
    """Lay what boards need; tell the log again where machines of a newer askmesh said some."""
    _lay_for(connection, EntryType.BOARD)


def _lay_for(connection: sqlite3.Connection, *kinds: EntryType) -> None:
    _lay_missing(connection)
    said = "SELECT 1 FROM entry WHERE type = ? LIMIT 1"
    if any(connection.execute(said, (kind.value,)).fetchone() for kind in kinds):
        rebuild_in_place(connection)


def _lay_missing(connection: sqlite3.Connection) -> None:
    """Lay what of today's schema is not there."""
    have = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    missing = [
        statement
        for statement in _statements(schema())
        if (named := _NAMED.search(statement)) is not None and named[1] not in have
    ]
    for statement in missing:
        connection.execute(statement)


_DERIVED_FIRST = (
    "head",
    "node",
    "person",
    "speaks_for",
    "rules",
    "ask",
    "ask_text",
    "vote",
    "ruling",
    "mark",
)
"""What the first release derived from the log."""
_NAMED = re.compile(r"CREATE (?:TABLE|INDEX) (\w+)")

MIGRATIONS: dict[str, Migration] = {
    "0001-first": first,
    "0002-fleet": fleet,
    "0003-unproven": unproven,
    "0004-evidence": evidence,
    "0005-erasing": erasing_words,
    "0006-long-past": long_past,
    "0007-deciding": deciding,
    "0008-testimony": beyond_forks,
    "0009-messages": messages,
    "0010-boards": boards,
}


def applied(connection: sqlite3.Connection) -> list[str]:
    """Return the names of the migrations this store has had."""
    table = "SELECT 1 FROM sqlite_master WHERE name = 'migration'"
    if connection.execute(table).fetchone() is None:
        return []
    return [name for (name,) in connection.execute("SELECT name FROM migration ORDER BY name")]


def migrate(connection: sqlite3.Connection, *, now: int) -> list[str]:
    """Bring a store up to date; return what was applied.

    Raises `StoreNewer` when it holds a migration this program does not know.
    """
    have = applied(connection)
    unknown = sorted(set(have) - set(MIGRATIONS))
    if unknown:
        raise StoreNewer(
            f"This store has had {unknown[0]!r}, which this askmesh does not know.",
            hint="Install the newer askmesh that wrote it; nothing was changed.",
        )
    done: list[str] = []
    for name, step in MIGRATIONS.items():
        if name in have:
            continue
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migration"
                " (name TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT"
            )
            step(connection)
            connection.execute("INSERT INTO migration VALUES (?, ?)", (name, now))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                # A full disk may have ended it already; the cause is what is told.
                connection.execute("ROLLBACK")
            raise
        done.append(name)
    return done
