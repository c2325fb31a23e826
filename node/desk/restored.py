"""What a restored node makes up for, once it knows its own last entry.

In between somebody may have denied, taken back, or used what the copy still shows as open or
allowed: none of it may be decided or handed over any more. A question loses nothing by
staying open.
"""

import time

import msgspec

from node.backup.mark import RESTORED, Mark
from node.desk.closing import close, expire_if_due, void
from node.desk.rows import select
from node.store.transaction import Transaction
from sync.decide.ask import AskState, Outcome
from sync.decide.handover import WHY_RESTORED, Void
from sync.log.facts import FinalText

OPEN = "kind = 'approval' AND state = 'waiting' AND home = ? AND fleet = ?"
UNUSED = "kind = 'approval' AND state = 'closed' AND outcome = 'allowed' AND home = ? AND fleet = ?"


def make_up_alone(transaction: Transaction) -> int:
    """Make up for it at once where no other machine could know more of our log."""
    other = transaction.row(
        "SELECT 1 FROM node WHERE removed IS NULL AND id != ?", transaction.identity.name
    )
    return 0 if other is not None else make_up(transaction)


def make_up(transaction: Transaction) -> int:
    """Void what was decided or open before the copy was made; return how much that was.

    One transaction, once: with no mark nothing happens. Call it when our own last entry is
    known, before anything is ruled on or handed over.
    """
    value = transaction.value(RESTORED)
    if value is None:
        return 0
    mark = msgspec.json.decode(value, type=Mark)
    here = (transaction.identity.name, transaction.identity.fleet)
    reason = f"this machine was put back to a copy of {day(mark.when)}"
    withdrawn = unused = 0
    for row in select(transaction.connection, OPEN, here):
        if expire_if_due(transaction, row).state != AskState.WAITING.value:
            continue
        text = FinalText(reason=reason)
        close(transaction, row, Outcome.WITHDRAWN, text=text, reason=WHY_RESTORED)
        withdrawn += 1
    for row in select(transaction.connection, UNUSED, here):
        void(transaction, row, Void.RESTORED)
        unused += 1
    _count_on(transaction)
    transaction.keep(RESTORED, None)
    transaction.change("fleet", transaction.identity.name)
    return withdrawn + unused


def _count_on(transaction: Transaction) -> None:
    """Go on above the numbers of all asks of ours that came back from other machines."""
    (last,) = transaction.row(
        "SELECT coalesce(max(number), 0) FROM ask WHERE home = ?", transaction.identity.name
    )
    if last > int.from_bytes(transaction.value("number") or b"", "big"):
        transaction.keep("number", int(last).to_bytes(8, "big"))


def day(at: int) -> str:
    """Return the day and minute, as the clock of this machine shows it."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at / 1000))
