"""Opening a store, and the genesis of a fleet on a machine's first start."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from node import birth
from node.backup import mark
from node.clock import Anchor, Clock, Times
from node.config import SETTINGS_FILE
from node.desk import holding
from node.desk.sign_in import ENTROPY
from node.identity import KEY_FILE, RECOVERY_BYTES, create_key, recovery_key, settle_key
from node.store.connection import STORE_FILE, erase_traces, failure, open_writer
from node.store.derive import NODE
from node.store.hold import Sign
from node.store.migrations import migrate
from node.store.transaction import Identity, Transaction
from sync.errors import AskmeshError, StoreError
from sync.log.entry import NodeKey
from sync.log.facts import CertificateFacts, GenesisFacts
from sync.log.kinds import EntryType
from sync.net.certificate import certificate_of

BIRTH = "birth"
"""Name of the local value that says where this directory was made."""
FLEET_BYTES = 16
STORE_ID_BYTES = 16


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A store that can be written."""

    connection: sqlite3.Connection
    identity: Identity
    store_id: str
    clock: Clock
    machine: str


def open_store(
    home: Path, *, create: bool, machine: str, times: Times, random: Callable[[int], bytes]
) -> Opened:
    """Open the store of a node, with `create` founding a fleet where there is none.

    A first start that was killed half-way is finished by the next. Raises `StoreError`.
    """
    exists = (home / KEY_FILE).exists()
    _both_or_none(home, key=exists)
    if not exists and not create:
        raise StoreError(f"No node was ever started in {home}.", hint="Run `askmesh up` to begin.")
    if not exists:
        create_key(home)
    connection = open_writer(home)
    try:
        migrate(connection, now=times.wall_ms())
        row = connection.execute("SELECT value FROM local WHERE name = 'clock'").fetchone()
        clock = Clock(times, None if row is None else msgspec.json.decode(row[0], type=Anchor))
        # A secret may have been removed right before a crash.
        erase_traces(connection)
        row = connection.execute("SELECT value FROM local WHERE name = ?", (NODE,)).fetchone()
        # Which of two keys counts after a rejoining that was cut off, the store alone knows.
        key = settle_key(home, None if row is None else row[0])
        # What is derived from the log rests on who we are.
        connection.execute("INSERT OR IGNORE INTO local VALUES (?, ?)", (NODE, key.node_id))
        if connection.execute("SELECT 1 FROM entry LIMIT 1").fetchone() is None:
            _found(connection, key, machine, clock, random)
        values = dict(
            connection.execute("SELECT name, value FROM local WHERE name IN ('fleet', 'store_id')")
        )
        fleet = values["fleet"]
        name = _machine(connection, key, machine)
        _state_certificate(connection, Identity(key=key, fleet=fleet), clock, random)
        _look_at_birth(home, connection, Identity(key=key, fleet=fleet), clock, random)
    except (sqlite3.Error, AskmeshError) as error:
        connection.close()
        raise failure(error) from None
    return Opened(
        connection=connection,
        identity=Identity(key=key, fleet=fleet),
        store_id=values["store_id"].decode(),
        clock=clock,
        machine=name,
    )


def _machine(connection: sqlite3.Connection, key: NodeKey, machine: str) -> str:
    """Return this machine's name. Raises `StoreError` when the store is not this key's."""
    row = connection.execute("SELECT name FROM node WHERE public_key = ?", (key.public,)).fetchone()
    if row is not None:
        return str(row[0])
    # The fleet may have taken back that we were ever let in; our log is still ours.
    if connection.execute("SELECT 1 FROM entry WHERE author = ?", (key.node_id,)).fetchone():
        return machine
    raise StoreError(
        "This store was written under another key than the one beside it.",
        hint="Put the matching node.key back; nothing was changed.",
    )


def _state_certificate(
    connection: sqlite3.Connection,
    identity: Identity,
    clock: Clock,
    random: Callable[[int], bytes],
) -> None:
    """Say what our certificate is, where no statement does: without it nobody can link to us."""
    certificate = certificate_of(identity.key)
    row = connection.execute(
        "SELECT certificate FROM node WHERE id = ? AND removed IS NULL", (identity.name,)
    ).fetchone()
    if row is None or row[0] == certificate:
        return
    with _writing(connection, identity, clock, random) as transaction:
        transaction.append(
            EntryType.CERTIFICATE,
            CertificateFacts(certificate=certificate, at=transaction.now),
        )


def _look_at_birth(
    home: Path,
    connection: sqlite3.Connection,
    identity: Identity,
    clock: Clock,
    random: Callable[[int], bytes],
) -> None:
    """Go on hold where this directory looks like a copy of the one it was made as.

    The hold is written first: it stands also where nothing can be written beside the store.
    The mark beside the store comes before the one in it: a start that is killed in between
    has noted the one before as well.
    """
    row = connection.execute("SELECT value FROM local WHERE name = ?", (BIRTH,)).fetchone()
    kept = None if row is None else msgspec.json.decode(row[0], type=birth.Mark)
    now = birth.here(home)
    found = None if kept is None else birth.sign(kept, now, birth.read_starts(home))
    found = Sign.RESTORED if mark.stands(connection) else found
    # While nobody can answer there is nothing that could be decided twice.
    someone = connection.execute("SELECT 1 FROM person WHERE NOT ended LIMIT 1").fetchone()
    if found is not None and someone is not None:
        with _writing(connection, identity, clock, random) as transaction:
            holding.begin(transaction, found)
    try:
        start = birth.note_start(home, None if kept is None else kept.start, random)
    except OSError:
        # Reading goes on; the mark stays as it was, so that the next start finds the same.
        return
    with _writing(connection, identity, clock, random) as transaction:
        transaction.keep(BIRTH, msgspec.json.encode(birth.Mark(birth=now, start=start)))


@contextlib.contextmanager
def _writing(
    connection: sqlite3.Connection,
    identity: Identity,
    clock: Clock,
    random: Callable[[int], bytes],
) -> Iterator[Transaction]:
    """One transaction: whole, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield Transaction(
            connection,
            identity=identity,
            now=clock.now(),
            wall=clock.times.wall_ms(),
            random=random,
        )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _both_or_none(home: Path, *, key: bool) -> None:
    """Refuse what a half-way first start cannot have left. Raises `StoreError`.

    The key is made first and the settings are written last.
    """
    store = (home / STORE_FILE).exists()
    hint = "Put it back from a backup, or begin anew in another directory; nothing was changed."
    if store and not key:
        raise StoreError(f"The key of this node ({home / KEY_FILE}) is gone.", hint=hint)
    if key and not store and (home / SETTINGS_FILE).exists():
        raise StoreError(f"The store of this node ({home / STORE_FILE}) is gone.", hint=hint)


def _found(
    connection: sqlite3.Connection,
    key: NodeKey,
    machine: str,
    clock: Clock,
    random: Callable[[int], bytes],
) -> None:
    """Write the genesis: one transaction, or nothing."""
    entropy = random(RECOVERY_BYTES)
    fleet = random(FLEET_BYTES)
    with _writing(connection, Identity(key=key, fleet=fleet), clock, random) as transaction:
        transaction.keep("fleet", fleet)
        transaction.keep("store_id", random(STORE_ID_BYTES).hex().encode())
        transaction.keep(ENTROPY, entropy)
        transaction.keep("clock", msgspec.json.encode(clock.anchor()))
        transaction.append(
            EntryType.GENESIS,
            GenesisFacts(
                node_key=key.public,
                recovery_key=recovery_key(entropy).public,
                machine=machine,
                certificate=certificate_of(key),
                at=transaction.now,
            ),
        )
