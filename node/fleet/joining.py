"""Changing fleets: joining another one, or beginning a fleet of one's own again.

Each is one transaction. The old log stays as it is and readable; open asks of this machine
are raised again as new entries, under the next numbers, and their old ids lead to them, so
that who waits goes on waiting (DESIGN §3). Whoever was a person here ends.
"""

import sqlite3
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from node.backup.mark import RESTORED
from node.desk import persons, recovering
from node.desk.closing import void
from node.desk.rows import AskRow, select, words
from node.desk.sign_in import ENTROPY, JOINED
from node.fleet import machines, removal
from node.founding import FLEET_BYTES
from node.identity import RECOVERY_BYTES, recovery_key, recovery_words
from node.store import derive, introduced, receive
from node.store.hold import HOLD
from node.store.introduced import Introduced
from node.store.transaction import Transaction
from sync import limits
from sync.decide.handover import Void
from sync.decide.name import made_plain
from sync.decide.people import Role
from sync.errors import Conflict, PairingFailed
from sync.log.entry import Entry, NodeKey
from sync.log.facts import AskFacts, AskText, GenesisFacts, PersonFacts, SpeaksForFacts, read
from sync.log.kinds import EntryType
from sync.log.names import ask_name, node_name
from sync.net.certificate import certificate_of
from web.desk import Viewer
from web.views import Consequences

OURS = "state = 'waiting' AND home = ? AND fleet = ? ORDER BY number"
RETURN = "may_return"
"""Name of the local value with the fleets that were left with a key that is used up."""
UNUSED = "state = 'closed' AND outcome = 'allowed' AND kind = 'approval' AND home = ? AND fleet = ?"


class Entered(msgspec.Struct, frozen=True, kw_only=True):
    """What changed with the fleet."""

    raised: int
    """Open asks that were raised again."""


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """What is taken along from the fleet that is left."""

    fleet: bytes
    machine: str
    open: list[AskRow]
    aliases: dict[str, str]


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
    if not removal.over(connection, here):
        try:
            machines.check_owner_stays(connection, here)
        except Conflict as error:
            return Consequences(allowed=False, sentences=[error.sentence, error.hint or ""])
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
    found = len(open_asks(connection, here))
    if not found:
        return []
    asks, ids = ("ask", "its old id leads") if found == 1 else ("asks", "their old ids lead")
    return [f"{found} open {asks} of this machine will be raised again; {ids} to the new one."]


def open_asks(connection: sqlite3.Connection, here: str) -> list[AskRow]:
    """Return what this machine's agents wait for in its fleet."""
    return select(connection, OURS, (here, derive.fleet_of(connection)))


# --- doing it -------------------------------------------------------------------------------


def enter(
    transaction: Transaction,
    *,
    fleet: bytes,
    entries: Sequence[Entry],
    sponsor: Introduced,
    let_in_by: str | None = None,
) -> Entered:
    """Belong to `fleet` from here on, let in by `sponsor`, whose entries begin with its genesis.

    `let_in_by`: the person who did so, and whose agents ask here until an owner says more.
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
    # Who comes back with a new key has the beginning already.
    begun = transaction.row("SELECT 1 FROM entry WHERE hash = ?", entries[0].hash)
    if kept.trouble is not None or begun is None:
        raise _unsound()
    return _raise_again(transaction, before, let_in_by)


def _unsound() -> PairingFailed:
    return PairingFailed(
        "The other machine sent a fleet that does not hold together, so nothing was changed.",
        hint="Bring both machines to the same version of askmesh, then try again.",
    )


def _check_new(transaction: Transaction, fleet: bytes) -> None:
    """A removal stands for good, also where the other machine has not heard of it yet.

    Raises `Conflict`.
    """
    if used_up(transaction.connection, fleet) or fleet == transaction.identity.fleet:
        raise Conflict(
            "This machine was in that fleet before, and its key is not taken there again.",
            hint="Give it a new key, then try again: askmesh node rejoin",
        )


def used_up(connection: sqlite3.Connection, fleet: bytes) -> bool:
    """Whether this machine was in a fleet with the key it has now."""
    left = connection.execute("SELECT 1 FROM fleet_left WHERE fleet = ?", (fleet,)).fetchone()
    return left is not None and fleet.hex() not in _left_as_another(connection)


def _left_as_another(connection: sqlite3.Connection) -> list[str]:
    """Return the fleets that this machine left with a key it has no more (hex)."""
    row = connection.execute("SELECT value FROM local WHERE name = ?", (RETURN,)).fetchone()
    return [] if row is None else msgspec.json.decode(row[0], type=list[str])


def _count_return(transaction: Transaction, fleet: bytes, key: NodeKey | None) -> None:
    """With a new key every fleet may be joined again; the one that is joined is left no more."""
    connection = transaction.connection
    if key is not None:
        used = [
            node_name(one) for one in (*derive.former(connection), transaction.identity.key.node_id)
        ]
        transaction.keep(derive.FORMER, msgspec.json.encode(used))
        left = [one.hex() for (one,) in transaction.rows("SELECT fleet FROM fleet_left")]
    else:
        left = [one for one in _left_as_another(connection) if one != fleet.hex()]
        transaction.run("DELETE FROM fleet_left WHERE fleet = ?", fleet)
    transaction.keep(RETURN, msgspec.json.encode(left) if left else None)


def found_anew(transaction: Transaction, viewer: Viewer) -> list[str]:
    """Begin a fleet of one's own, with the viewer as its owner; return its recovery words."""
    return found_fleet(transaction, viewer, _part(transaction))


def found_fleet(
    transaction: Transaction, viewer: Viewer | None, before: Before, key: NodeKey | None = None
) -> list[str]:
    """Begin a fleet of one's own, with `key` as somebody else; return its recovery words."""
    entropy = transaction.random(RECOVERY_BYTES)
    # A reply that is lost must not take the words along: the next sign-in tells them.
    transaction.keep(ENTROPY, entropy)
    transaction.erases = True
    _forget_persons(transaction, but=None if viewer is None else viewer.person)
    transaction.keep(JOINED, None)
    introduced.keep(transaction, [])
    _move(transaction, transaction.random(FLEET_BYTES), before, key)
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
    if viewer is not None:
        _own(transaction, viewer)
    _raise_again(transaction, before)
    return recovery_words(entropy)


def _own(transaction: Transaction, viewer: Viewer) -> None:
    """Make the viewer the owner of the new fleet."""
    now, key = transaction.now, transaction.identity.key
    owner = PersonFacts(person=viewer.person, name=viewer.name, role=Role.OWNER.value, at=now)
    transaction.append(EntryType.PERSON, owner)
    transaction.append(
        EntryType.SPEAKS_FOR,
        SpeaksForFacts(node=key.node_id, person=viewer.person, on=True, at=now),
    )


def _part(transaction: Transaction) -> Before:
    """End in the old fleet what cannot be taken along; plan what is."""
    identity = transaction.identity
    # On hold or not: what is decided from here on is decided by somebody else.
    transaction.lift()
    for row in select(transaction.connection, UNUSED, (identity.name, identity.fleet)):
        # Whoever allowed it has no say in what happens here from now on.
        void(transaction, row, Void.MOVED)
    return planned(transaction, identity.key, open_asks(transaction.connection, identity.name))


def planned(transaction: Transaction, key: NodeKey, asks: Sequence[AskRow]) -> Before:
    """Plan under which ids open asks are raised again, by the node with `key`."""
    identity = transaction.identity
    found = [row for row in asks if _salt(transaction, row)]
    number = int.from_bytes(transaction.value("number") or b"", "big")
    machine = transaction.row("SELECT name FROM node WHERE id = ?", identity.name)
    return Before(
        fleet=identity.fleet,
        machine="this machine" if machine is None else made_plain(machine[0]),
        open=found,
        aliases={
            row.id: ask_name(key.node_id, number + place) for place, row in enumerate(found, 1)
        },
    )


def _forget_persons(transaction: Transaction, *, but: str | None) -> None:
    """End the sessions and passphrases of everyone but one."""
    for table in ("person_session", "passphrase"):
        transaction.run(f"DELETE FROM {table} WHERE person IS NOT ?", but)  # noqa: S608 -- ours
    recovering.forget(transaction)


def _move(
    transaction: Transaction, fleet: bytes, before: Before, key: NodeKey | None = None
) -> None:
    """Belong to another fleet, with `key` as somebody else; what is derived is of that one."""
    transaction.run(
        "INSERT OR REPLACE INTO fleet_left VALUES (?, ?)", before.fleet, transaction.now
    )
    for old, new in before.aliases.items():
        transaction.run("INSERT INTO ask_alias VALUES (?, ?)", old, new)
    for name in (removal.REMOVED, HOLD, RESTORED):
        transaction.keep(name, None)
    _count_return(transaction, fleet, key)
    transaction.enter(fleet, key)
    for ask in derive.rebuild_in_place(transaction.connection, fleet):
        transaction.change("ask", ask)
    for topic in ("people", "fleet", "rules"):
        transaction.change(topic, transaction.identity.name)


def _raise_again(transaction: Transaction, before: Before, let_in_by: str | None = None) -> Entered:
    """Write the open asks into the log of the new fleet, under the ids that were planned."""
    for row in before.open:
        new = before.aliases[row.id]
        number = int(new.rpartition("-")[2])
        transaction.append(
            EntryType.ASK,
            _asked_again(transaction, row, number, let_in_by),
            words(transaction.connection, row).ask or AskText(title=row.id),
            salt=_salt(transaction, row),
        )
        transaction.keep("number", number.to_bytes(8, "big"))
        _move_call(transaction, row.id, new)
        transaction.change("ask", row.id)
        transaction.change("ask", new)
    return Entered(raised=len(before.open))


def _asked_again(
    transaction: Transaction, row: AskRow, number: int, let_in_by: str | None
) -> AskFacts:
    """Ask the same in this fleet: whose agent asks is somebody else here, where that is known."""
    (said,) = transaction.row("SELECT facts FROM entry WHERE hash = ?", row.entry_hash)
    facts = read(AskFacts, said)
    quorum = facts.quorum
    if quorum.not_by:
        # The people of the fleet that is left mean nobody here. The statement that this
        # machine was let in comes over a link, later: the welcome has told by whom.
        known = persons.owners(transaction) or list(filter(None, [let_in_by]))
        quorum = replace(quorum, not_by=known or quorum.not_by)
    return replace(facts, number=number, revision=1, replaces=None, quorum=quorum)


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
    transaction.run(
        "INSERT INTO hidden_call (ask, canonical, secret)"
        " SELECT ?, canonical, secret FROM hidden_call WHERE ask = ?",
        new,
        old,
    )
    transaction.run("UPDATE gate_call SET ask = ? WHERE ask = ?", new, old)
    transaction.run("UPDATE ask_content SET ask = ? WHERE ask = ?", new, old)
    transaction.run("UPDATE tool_use SET ask = ? WHERE ask = ?", new, old)
