"""A new identity for a machine whose old one is used up: its history forked, or it was removed.

The new key lies beside the old one before anything changes; the one transaction here says
which of the two counts, so that whoever starts next finds either the old machine or the new
one, whole (`node.identity.settle_key`). The old log stays as it is and readable.
"""

import sqlite3

from node.desk import far
from node.fleet import joining, machines, removal
from node.store import derive
from node.store.transaction import Transaction
from sync.decide.ask import Kind
from sync.errors import Conflict, NotAllowed
from sync.log.entry import NodeKey
from web.desk import Viewer
from web.views import Consequences


def why(connection: sqlite3.Connection, here: str) -> str | None:
    """Return why this machine needs a new identity, as a sentence; None: it does not."""
    if here in far.forked(connection):
        return (
            "The history of this machine split in two, so the others take nothing more from it"
            " under its old key."
        )
    if removal.over(connection, here):
        return "This machine was removed from its fleet, for good as far as its old key goes."
    left = [fleet for (fleet,) in connection.execute("SELECT fleet FROM fleet_left")]
    if any(joining.used_up(connection, fleet) for fleet in left):
        if machines.others(connection, here):
            return None
        return "This machine left a fleet, which does not take its old key again."
    return None


def check(connection: sqlite3.Connection, here: str, viewer: Viewer | None) -> None:
    """Raises `Conflict` where there is nothing to do, `NotAllowed` for who may not.

    The fleet's roles have nobody to protect here any more. An owner who can sign in here
    goes before the others; where nobody can, there is nobody to ask.
    """
    if why(connection, here) is None:
        raise Conflict(
            "This machine's history is whole, so it needs no new identity.",
            hint="To take it out of its fleet, run: askmesh node leave",
        )
    if viewer is not None:
        removal.check_may_begin_anew(connection, viewer.person)
    elif not abandoned(connection, here):
        raise NotAllowed("Sign in first: this machine has somebody who can.")


def abandoned(connection: sqlite3.Connection, here: str) -> bool:
    """Whether nobody is signed in on this machine, and nobody can."""
    someone = connection.execute(
        "SELECT 1 FROM person_session UNION SELECT 1 FROM passphrase LIMIT 1"
    ).fetchone()
    if someone is not None or why(connection, here) is None:
        return False
    # A place elsewhere can approve a sign-in here, as long as the fleet takes this machine's word.
    speaks = connection.execute(
        "SELECT 1 FROM speaks_for JOIN person ON person.id = person"
        " WHERE node = ? AND live AND NOT ended",
        (here,),
    ).fetchone()
    return speaks is None or removal.over(connection, here)


def consequences(connection: sqlite3.Connection, here: str, viewer: Viewer | None) -> Consequences:
    """Return what rejoining would do, or why it is not possible."""
    try:
        check(connection, here, viewer)
    except (Conflict, NotAllowed) as error:
        return Consequences(allowed=False, sentences=[error.sentence, error.hint or ""])
    questions, approvals = _asks(connection, here)
    sentences = [
        why(connection, here) or "",
        (
            "It gets a new key and becomes a fleet of its own; after that it can join the old fleet"
            " again, or another one: askmesh node join"
        ),
    ]
    if questions:
        sentences.append(
            f"{questions} open question{'' if questions == 1 else 's'} of its agents will be raised"
            " again; the old ids lead to the new ones, and who waits goes on waiting."
        )
    if approvals:
        sentences.append(
            f"{approvals} approval{'' if approvals == 1 else 's'}, open or allowed and not used,"
            " will end: another copy of this machine may have used them. The agent asks again."
        )
    sentences += [
        "What was asked and answered here so far stays readable on this machine.",
        "The other machines go on showing the old one until it is removed there.",
    ]
    return Consequences(allowed=True, sentences=sentences)


def _asks(connection: sqlite3.Connection, here: str) -> tuple[int, int]:
    fleet = derive.fleet_of(connection)
    found = joining.open_asks(connection, here)
    questions = sum(row.kind == Kind.QUESTION.value for row in found)
    (unused,) = connection.execute(
        f"SELECT count(*) FROM ask WHERE {joining.UNUSED}",  # noqa: S608 -- a constant
        (here, fleet),
    ).fetchone()
    return questions, len(found) - questions + unused


def rejoin(transaction: Transaction, key: NodeKey, viewer: Viewer | None) -> list[str]:
    """Become the machine with `key`, in a fleet of its own; return its recovery words.

    The viewer becomes its owner; with none, the next first sign-in or pairing says whose it
    is. Approvals stay behind: another copy of this machine may have used them.
    """
    connection, here = transaction.connection, transaction.identity.name
    check(connection, here, viewer)
    transaction.lift()
    found = joining.open_asks(connection, here)
    questions = [row for row in found if row.kind == Kind.QUESTION.value]
    before = joining.planned(transaction, key, questions)
    return joining.found_fleet(transaction, viewer, before, key)
