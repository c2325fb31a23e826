"""`askmesh verify`: every check, one kind after the other, over one snapshot of the store."""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from node.store.connection import STORE_FILE, failure, open_reader
from node.store.migrations import MIGRATIONS, applied
from node.store.projection import DERIVED
from node.store.rebuild import differences
from node.verify import calls, file, forks, own
from node.verify.log import LogCheck
from node.verify.names import Names
from node.verify.report import Checked, Progress, amount
from sync.errors import StoreError, StoreFull, StoreNewer

REBUILD: Final = (
    "The table was damaged or edited; the log is what counts. Stop the node, keep a copy of the"
    " folder, and restore a backup (`askmesh restore`)."
)
UNREADABLE: Final = (
    "Stop the node, keep a copy of the folder, check the disk, and restore a backup"
    " (`askmesh restore`)."
)


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What came of checking everything."""

    kinds: list[Checked]
    seconds: float

    @property
    def faults(self) -> int:
        """How many faults were found."""
        return sum(kind.faults for kind in self.kinds)

    @property
    def entries_per_second(self) -> int:
        """How fast entries were checked, all kinds together."""
        entries = sum(kind.count for kind in self.kinds if kind.kind == "entries")
        return round(entries / max(self.seconds, 1e-3))


def verify(
    home: Path,
    progress: Progress = lambda _kind, _done, _total: None,
    done: Callable[[Checked], None] = lambda _checked: None,
) -> Verified:
    """Check everything in a data directory, which may be in use; changes nothing.

    `done` hears of each kind when it was checked. Raises `StoreError` where there is no store.
    """
    started = time.monotonic()
    kinds: list[Checked] = []
    with snapshot(home) as connection:
        for checked in _kinds(home, connection, progress):
            kinds.append(checked)
            done(checked)
    return Verified(kinds=kinds, seconds=time.monotonic() - started)


@contextlib.contextmanager
def snapshot(home: Path) -> Iterator[sqlite3.Connection]:
    """A connection that sees the store as it is now, in use or not. Raises `StoreError`."""
    if not (home / STORE_FILE).is_file():
        raise StoreError(f"There is no store in {home}.", hint="Name the folder by `--home`.")
    try:
        with contextlib.closing(_opened(home)) as connection:
            unknown = sorted(set(applied(connection)) - set(MIGRATIONS))
            if unknown:
                raise StoreNewer(
                    f"This store has had {unknown[0]!r}, which this askmesh does not know.",
                    hint="Check it with the newer askmesh that wrote it.",
                )
            yield connection
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{home / STORE_FILE} cannot be read: {error}.", hint=UNREADABLE) from None


@contextlib.contextmanager
def current(home: Path) -> Iterator[sqlite3.Connection]:
    """As `snapshot`, of a store that has all tables of today. Raises `StoreError`."""
    with snapshot(home) as connection:
        if set(MIGRATIONS) - set(applied(connection)):
            raise StoreError(
                "This store is of an older askmesh.",
                hint="Start the node once (`askmesh up`): it brings the store up to date.",
            )
        yield connection


def _opened(home: Path) -> sqlite3.Connection:
    connection = open_reader(home)
    try:
        connection.execute("BEGIN")
        applied(connection)
    except sqlite3.OperationalError:
        connection.close()
        if (home / f"{STORE_FILE}-wal").exists():
            raise
        # A read-only disk has no room for SQLite's own files. With no write-ahead log there
        # is nothing but the file, and no node is writing it.
        connection = open_reader(home, way="immutable=1")
        connection.execute("BEGIN")
    return connection


def _kinds(home: Path, connection: sqlite3.Connection, progress: Progress) -> Iterator[Checked]:
    progress("file", 0, 1)
    yield from _safely("file", lambda: [file.check(connection)])
    names = Names(connection)
    yield from _safely("entries", lambda: LogCheck(connection, names).run(progress))
    yield from _safely("forks", lambda: [forks.check(connection, names)])
    yield from _safely("tables", lambda: [_tables(connection, progress)])
    yield from _safely("calls", lambda: [calls.check(home, connection, progress)])
    yield from _safely("own", lambda: [own.check(home, connection)])


def _safely(kind: str, check: Callable[[], list[Checked]]) -> list[Checked]:
    """What a check found; where it met what it could not read at all, that."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - damaged data may raise anything: it is a finding
        broken = Checked(kind=kind, what="Could not be checked to the end.")
        if isinstance(error, sqlite3.Error) and isinstance(failure(error), StoreFull):
            broken.fault(
                "There is no room for temporary files.", "Free some space, then try again."
            )
        else:
            broken.fault(f"Reading failed: {type(error).__name__}: {error}.", UNREADABLE)
        return [broken]


def _tables(connection: sqlite3.Connection, progress: Progress) -> Checked:
    """Compare what is derived with what the log says."""
    (total,) = connection.execute("SELECT count(*) FROM entry").fetchone()
    found = Checked(kind="tables", count=len(DERIVED))
    for line in differences(
        connection, checked=False, told=lambda count: progress("tables", count, total)
    ):
        found.fault(f"{line}.", REBUILD)
    found.what = f"{amount(len(DERIVED), 'derived table')} against the log."
    return found
