"""Messages that came to agents of this machine: the senders are told, and who waits is woken."""

from node.desk.sending import TOPIC, inbox_ref
from node.store.transaction import Transaction
from sync.decide.message import Delivery
from sync.limits import RECEIPT_MESSAGES
from sync.log.facts import ReceiptFacts
from sync.log.kinds import EntryType

LOOKED = "carried"
"""Name of the local value: the number of the last message that was looked at."""
LOOKED_BACK = 10_000
"""Entries before that one: what waits for a statement does not wait for long."""

_CAME = (
    "SELECT message.id, message.n, message.project, message_to.agent FROM message"
    " JOIN message_to ON message_to.message = message.id WHERE message.n > ? AND node = ?"
    " AND home != ? AND fleet = ? AND NOT EXISTS (SELECT 1 FROM receipt WHERE receipt.message ="
    " message.id AND receipt.node = message_to.node AND status = ?) ORDER BY message.n"
)


def receive(transaction: Transaction, *, anew: bool = False) -> int:
    """Say of each message that came since the last time that it is here; return how many.

    `anew`: look at earlier ones too, which may have been waiting for statements.
    """
    looked = int.from_bytes(transaction.value(LOOKED) or b"", "big")
    if anew:
        looked = max(looked - LOOKED_BACK, 0)
    here = transaction.identity.name
    came = transaction.rows(
        _CAME, looked, here, here, transaction.identity.fleet, Delivery.CARRIED.value
    )
    (last,) = transaction.row("SELECT coalesce(max(n), 0) FROM message")
    if last != looked:
        transaction.keep(LOOKED, last.to_bytes(8, "big"))
    messages = list(dict.fromkeys(message for message, *_ in came))
    for start in range(0, len(messages), RECEIPT_MESSAGES):
        transaction.append(
            EntryType.RECEIPT,
            ReceiptFacts(
                status=Delivery.CARRIED.value,
                messages=messages[start : start + RECEIPT_MESSAGES],
                at=transaction.now,
            ),
        )
    transaction.change_all(
        TOPIC, sorted({inbox_ref(project, agent) for _, _, project, agent in came})
    )
    return len(messages)
