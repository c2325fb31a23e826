"""The file of the store itself: that SQLite finds it whole, and laid as this askmesh lays it."""

import sqlite3
from typing import Final

from node.store.migrations import MIGRATIONS, applied, migrate
from node.verify.report import SHOWN, Checked, amount

DAMAGED: Final = (
    "The disk or a program damaged the file. Stop the node, keep a copy of the folder, check the"
    " disk, and restore a backup (`askmesh restore`)."
)
EDITED: Final = (
    "Another program changed the store. Stop the node, keep a copy of the folder, and restore a"
    " backup (`askmesh restore`)."
)
_SHAPE: Final = 'SELECT name, type, "notnull", pk FROM pragma_table_info(?)'


def check(connection: sqlite3.Connection) -> Checked:
    """Run SQLite's own check, and compare tables and indexes with the schema."""
    found = Checked(kind="file")
    for (line,) in connection.execute(f"PRAGMA integrity_check({SHOWN + 1})"):
        if line != "ok":
            found.fault(f"SQLite finds: {line}.", DAMAGED)
    if set(MIGRATIONS) - set(applied(connection)):
        found.note("The store is of an older askmesh.", "The next start brings it up to date.")
    else:
        _schema(connection, found)
    (found.count,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    found.what = f"{amount(found.count, 'table and index', 'tables and indexes')}."
    return found


def _schema(connection: sqlite3.Connection, found: Checked) -> None:
    """Whether the tables have the columns, and the indexes are those, of this askmesh."""
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(fresh, now=0)
        want, have = _objects(fresh), _objects(connection)
        for name in sorted(want.keys() - have.keys()):
            found.fault(f"{name} is missing.", EDITED)
        for name in sorted(have.keys() - want.keys()):
            found.fault(f"{name} is not of askmesh.", EDITED)
        for name in sorted(want.keys() & have.keys()):
            if want[name] != have[name]:
                found.fault(f"{name} is not laid as askmesh lays it.", EDITED)
    finally:
        fresh.close()


def _objects(connection: sqlite3.Connection) -> dict[str, object]:
    """Every table with its columns, and what else there is."""
    return {
        f"{kind} {name}": sorted(connection.execute(_SHAPE, (name,))) if kind == "table" else table
        for kind, name, table in connection.execute(
            "SELECT type, name, tbl_name FROM sqlite_master"
        )
        # Which statistics SQLite keeps for itself is its own affair.
        if not name.startswith("sqlite_stat")
    }
