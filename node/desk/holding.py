"""Going on hold and off it again, and what a person who says go gives up for that."""

import sqlite3

import msgspec

from node.desk import persons, recovering, restored
from node.desk.closing import close, void
from node.desk.rows import select
from node.store import hold
from node.store.hold import HOLD, Hold, Sign
from node.store.transaction import Transaction
from sync.decide.ask import Outcome
from sync.decide.handover import Void
from sync.errors import Conflict, NotAllowed
from web.desk import Viewer
from web.views import Consequences

UNSPENT = "state = 'closed' AND outcome = 'allowed' AND kind = 'approval' AND home = ?"
OPEN = "state = 'waiting' AND kind = 'approval' AND home = ?"
SETTLED_ELSEWHERE = "this machine's data was put back, so another copy may have decided it"
CARDS_TOLD = 500
"""Cards of other machines' asks that are told anew; the page reads the rest when it is opened."""


def begin(transaction: Transaction, sign: Sign) -> None:
    """Go on hold, unless it is on hold already."""
    if hold.kept(transaction.connection) is None:
        found = Hold(sign=sign, at=transaction.now)
        transaction.keep(HOLD, msgspec.json.encode(found))
        _tell(transaction)


def behind(transaction: Transaction) -> None:
    """Somebody had more of our own log: take it, and number what comes above it."""
    begin(transaction, Sign.BEHIND)
    restored.count_on(transaction)


def known(transaction: Transaction) -> None:
    """Our own last entries are known: make up for a restored backup, and go on."""
    if hold.kept(transaction.connection) is not None:
        transaction.lift()
        restored.make_up(transaction)
        end(transaction)


def end(transaction: Transaction) -> None:
    """Go on as ever: what waited is decided now."""
    if hold.kept(transaction.connection) is not None:
        transaction.keep(HOLD, None)
        recovering.withdraw_owed(transaction)
        _tell(transaction)


def consequences(connection: sqlite3.Connection, here: str, viewer: Viewer) -> Consequences:
    """Return what saying go would do here."""
    held = hold.kept(connection)
    if held is None:
        return Consequences(allowed=False, sentences=["This machine is not on hold."])
    try:
        check_may(connection, here, viewer)
    except NotAllowed as error:
        return Consequences(allowed=False, sentences=[error.sentence, error.hint or ""])
    return Consequences(
        allowed=True,
        sentences=[
            f"{hold.sentence(held).partition(':')[0]}.",
            (
                "Say go only if no other copy of this data runs anywhere. If one does, or did"
                " since, the history of this machine splits in two, and it has to join again."
            ),
            *_given_up(connection, here),
        ],
    )


def _given_up(connection: sqlite3.Connection, here: str) -> list[str]:
    count = len(select(connection, OPEN, (here,))) + len(select(connection, UNSPENT, (here,)))
    if not count:
        return []
    which = "1 approval" if count == 1 else f"{count} approvals"
    return [
        (
            f"{which} of this machine, open or allowed and not used yet, ends: another copy may"
            " have used it. The agent asks again. Questions stay open."
        )
    ]


def check_may(connection: sqlite3.Connection, here: str, viewer: Viewer) -> None:
    """Whoever may answer here may say go. Raises `NotAllowed`."""
    person = persons.everyone(connection).get(viewer.person)
    if person is None or not persons.may_answer(person):
        raise NotAllowed("You may see this, but not say go.", hint="An owner can change your role.")
    if not persons.speaks_for(connection, here, viewer.person):
        raise NotAllowed(
            "This machine does not speak for you, so you cannot say go here.",
            hint="Whoever it speaks for can.",
        )


def go(transaction: Transaction, viewer: Viewer) -> None:
    """Go on by the word of a person. Raises `Conflict` when it is not on hold."""
    check_may(transaction.connection, transaction.identity.name, viewer)
    if hold.kept(transaction.connection) is None:
        raise Conflict("This machine is not on hold, so there was nothing to do.")
    release(transaction)


def release(transaction: Transaction) -> None:
    """Give up what another copy may have used, then go on."""
    here = transaction.identity.name
    transaction.lift()
    restored.make_up(transaction)
    for row in select(transaction.connection, UNSPENT, (here,)):
        void(transaction, row, Void.RESTORED)
    for row in select(transaction.connection, OPEN, (here,)):
        close(transaction, row, Outcome.WITHDRAWN, reason=SETTLED_ELSEWHERE)
    end(transaction)


def _tell(transaction: Transaction) -> None:
    """Who waits looks again, and every card says so."""
    transaction.change("fleet", transaction.identity.name)
    told = transaction.rows(
        "SELECT id FROM ask WHERE state IN ('waiting', 'closed')"
        " ORDER BY home != ?, created DESC LIMIT ?",
        transaction.identity.name,
        CARDS_TOLD,
    )
    transaction.change_all("ask", [ask for (ask,) in told])
