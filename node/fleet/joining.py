"""Changing fleets: joining another one, or beginning a fleet of one's own again.

Each is one transaction. The old log stays as it is and readable; open asks of this machine
are raised again as new entries, under the next numbers, and their old ids lead to them, so
that who waits goes on waiting (DESIGN §3). Whoever was a person here ends.
"""

import sqlite3
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from node.desk.closing import void
from node.desk.rows import AskRow, select, words
from node.desk.sign_in import ENTROPY, JOINED
from node.fleet import machines, removal
from node.founding import FLEET_BYTES
from node.identity import RECOVERY_BYTES, recovery_key, recovery_words
from node.store import derive, introduced, receive
from node.store.introduced import Introduced
from node.store.transaction import Transaction
from sync import limits
from sync.decide.handover import Void
from sync.decide.people import Role
from sync.errors import Conflict, PairingFailed
from sync.log.entry import Entry
from sync.log.facts import AskFacts, AskText, GenesisFacts, PersonFacts, SpeaksForFacts, read
from sync.log.kinds import EntryType
from sync.log.names import ask_name
from sync.net.certificate import certificate_of
from web.desk import Viewer
from web.views import Consequences

OURS = "state = 'waiting' AND home = ? AND fleet = ? ORDER BY number"
UNUSED = "state = 'closed' AND outcome = 'allowed' AND kind = 'approval' AND home = ? AND fleet = ?"


class Entered(msgspec.Struct, frozen=True, kw_only=True):
    """What changed with the fleet."""

    raised: int
    """Open asks that were raised again."""


# --- what it will do ------------------------------------------------------------------------


def check_alone(connection: sqlite3.Connection, here: str) -> None:
    """A fleet with other machines does not dissolve into another one. Raises `Conflict`."""
    others = machines.others(connection, here)
    if others and removal.removed_here(connection) is None:
        names = ", ".join(name for _, name in others)
        raise Conflict(
            f"This machine is in a fleet with {names} already.",
            hint="Leave that fleet first: askmesh node leave",
        )


def join_consequences(connection: sqlite3.Connection, here: str) -> Consequences:
    """Return what joining another fleet would do to this machine."""
    try:
        check_alone(connection, here)
    except Conflict as error:
        return Consequences(allowed=False, sentences=[error.sentence, error.hint or ""])
    persons = [name for (name,) in connection.execute("SELECT name FROM person WHERE NOT ended")]
    sentences = [
        (
            "This machine becomes part of the other fleet, whose machines see every ask here from"
            " then on, and whose rules hold here."
        ),
        *_raised_sentences(connection, here),
        "What was asked and answered here so far stays readable on this machine only.",
    ]
    if persons:
        sentences.append(
            f"{' and '.join(persons)} of this machine ends: every page and terminal here is"
            " signed out. Signing in here works again once an owner of the other fleet has said"
            " whose machine this is."
        )
    return Consequences(allowed=True, sentences=sentences)


def leave_consequences(connection: sqlite3.Connection, here: str) -> Consequences:
    """Return what leaving the fleet would do."""
    if not machines.others(connection, here) and not removal.over(connection, here):
        return Consequences(
            allowed=False,
            sentences=["This machine is in no fleet with others, so there is nothing to leave."],
        )
    return Consequences(
        allowed=True,
        sentences=[
            (
                "This machine becomes a fleet of its own, and you its owner; the others show it"
                " as removed and take nothing more from it."
            ),
            *_raised_sentences(connection, here),
            "What it learned of the fleet stays readable here and is not updated any more.",
            (
                "It gets new recovery words, shown once. It cannot join this fleet again with"
                " the same key."
            ),
        ],
    )


def _raised_sentences(connection: sqlite3.Connection, here: str) -> list[str]:
    found = len(_open(connection, here))
    if not found:
        return []
    asks, ids = ("ask", "its old id leads") if found == 1 else ("asks", "their old ids lead")
    return [f"{found} open {asks} of this machine will be raised again; {ids} to the new one."]


def _open(connection: sqlite3.Connection, here: str) -> list[AskRow]:
    return select(connection, OURS, (here, derive.fleet_of(connection)))


# --- doing it -------------------------------------------------------------------------------


def enter(
    transaction: Transaction, *, fleet: bytes, entries: Sequence[Entry], sponsor: Introduced
) -> Entered:
    """Belong to `fleet` from here on, let in by `sponsor`, whose entries begin with its genesis.

    Raises `Conflict` while there are other members here and for a fleet this machine was in,
    `PairingFailed` when the entries do not begin that fleet.
    """
    check_alone(transaction.connection, transaction.identity.name)
    _check_new(transaction, fleet)
    if not entries or entries[0].header.type != EntryType.GENESIS:
        # Whose genesis comes first here is the founder, for good.
        raise _unsound()
    before = _part(transaction)
    transaction.keep(ENTROPY, None)
    transaction.keep(JOINED, b"1")
    _forget_persons(transaction, but=None)
    transaction.erases = True
    _move(transaction, fleet, before)
    introduced.keep(transaction, [sponsor])
    kept = receive.keep(transaction, entries).kept
    if kept.trouble is not None or not kept.heads:
        raise _unsound()
    return _raise_again(transaction, before)


def _unsound() -> PairingFailed:
    return PairingFailed(
        "The other machine sent a fleet that does not hold together, so nothing was changed.",
        hint="Bring both machines to the same version of askmesh, then try again.",
    )


def _check_new(transaction: Transaction, fleet: bytes) -> None:
    """A removal stands for good, also where the other machine has not heard of it yet.

    Raises `Conflict`.
    """
    left = transaction.row("SELECT 1 FROM fleet_left WHERE fleet = ?", fleet)
    if left is not None or fleet == transaction.identity.fleet:
        raise Conflict(
            "This machine was in that fleet before, and its key is not taken there again.",
            hint="Start askmesh in a new directory (ASKMESH_HOME), which makes a new key, and"
            " pair that.",
        )


def found_anew(transaction: Transaction, viewer: Viewer) -> list[str]:
    """Begin a fleet of one's own, with the viewer as its owner; return its recovery words."""
    before = _part(transaction)
    entropy = transaction.random(RECOVERY_BYTES)
    # A reply that is lost must not take the words along: the next sign-in tells them.
    transaction.keep(ENTROPY, entropy)
    transaction.erases = True
    _forget_persons(transaction, but=viewer.person)
    transaction.keep(JOINED, None)
    introduced.keep(transaction, [])
    _move(transaction, transaction.random(FLEET_BYTES), before)
    key = transaction.identity.key
    transaction.append(
        EntryType.GENESIS,
        GenesisFacts(
            node_key=key.public,
            recovery_key=recovery_key(entropy).public,
            machine=before.machine,
            certificate=certificate_of(key),
            at=transaction.now,
        ),
    )
    now = transaction.now
    owner = PersonFacts(person=viewer.person, name=viewer.name, role=Role.OWNER.value, at=now)
    transaction.append(EntryType.PERSON, owner)
    transaction.append(
        EntryType.SPEAKS_FOR,
        SpeaksForFacts(node=key.node_id, person=viewer.person, on=True, at=now),
    )
    _raise_again(transaction, before)
    return recovery_words(entropy)


class _Before(msgspec.Struct, frozen=True, kw_only=True):
    """What is taken along from the fleet that is left."""

    fleet: bytes
    machine: str
    open: list[AskRow]
    aliases: dict[str, str]


def _part(transaction: Transaction) -> _Before:
    """End in the old fleet what cannot be taken along; plan what is."""
    connection, identity = transaction.connection, transaction.identity
    for row in select(connection, UNUSED, (identity.name, identity.fleet)):
        # Whoever allowed it has no say in what happens here from now on.
        void(transaction, row, Void.MOVED)
    found = [row for row in _open(connection, identity.name) if _salt(transaction, row)]
    number = int.from_bytes(transaction.value("number") or b"", "big")
    machine = transaction.row("SELECT name FROM node WHERE id = ?", identity.name)
    return _Before(
        fleet=identity.fleet,
        machine="this machine" if machine is None else machine[0],
        open=found,
        aliases={
            row.id: ask_name(identity.key.node_id, number + place)
            for place, row in enumerate(found, 1)
        },
    )


def _forget_persons(transaction: Transaction, *, but: str | None) -> None:
    """End the sessions and passphrases of everyone but one."""
    for table in ("person_session", "passphrase"):
        transaction.run(f"DELETE FROM {table} WHERE person IS NOT ?", but)  # noqa: S608 -- ours
    transaction.keep("recovered", None)


def _move(transaction: Transaction, fleet: bytes, before: _Before) -> None:
    """Belong to another fleet; what is derived is derived for that one."""
    transaction.run(
        "INSERT OR REPLACE INTO fleet_left VALUES (?, ?)", before.fleet, transaction.now
    )
    for old, new in before.aliases.items():
        transaction.run("INSERT INTO ask_alias VALUES (?, ?)", old, new)
    transaction.keep(removal.REMOVED, None)
    transaction.enter(fleet)
    for ask in derive.rebuild_in_place(transaction.connection, fleet):
        transaction.change("ask", ask)
    for topic in ("people", "fleet", "rules"):
        transaction.change(topic, transaction.identity.name)


def _raise_again(transaction: Transaction, before: _Before) -> Entered:
    """Write the open asks into the log of the new fleet, under the ids that were planned."""
    for row in before.open:
        new = before.aliases[row.id]
        number = int(new.rpartition("-")[2])
        transaction.append(
            EntryType.ASK,
            replace(_facts(transaction, row), number=number, revision=1, replaces=None),
            words(transaction.connection, row).ask or AskText(title=row.id),
            salt=_salt(transaction, row),
        )
        transaction.keep("number", number.to_bytes(8, "big"))
        _move_call(transaction, row.id, new)
        transaction.change("ask", row.id)
        transaction.change("ask", new)
    return Entered(raised=len(before.open))


def _facts(transaction: Transaction, row: AskRow) -> AskFacts:
    (facts,) = transaction.row("SELECT facts FROM entry WHERE hash = ?", row.entry_hash)
    return read(AskFacts, facts)


def _salt(transaction: Transaction, row: AskRow) -> bytes | None:
    """The salt of its words, under which the digest of its call stands; None: erased."""
    (text,) = transaction.row("SELECT text FROM entry WHERE hash = ?", row.entry_hash)
    return None if text is None else bytes(text[: limits.SALT_BYTES])


def _move_call(transaction: Transaction, old: str, new: str) -> None:
    """What the gate and repeated asks know goes on under the new id."""
    transaction.run(
        "INSERT INTO call (ask, digest, diff) SELECT ?, digest, diff FROM call WHERE ask = ?",
        new,
        old,
    )
    transaction.run("UPDATE gate_call SET ask = ? WHERE ask = ?", new, old)
    transaction.run("UPDATE ask_content SET ask = ? WHERE ask = ?", new, old)
    transaction.run("UPDATE tool_use SET ask = ? WHERE ask = ?", new, old)
