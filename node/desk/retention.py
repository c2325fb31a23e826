"""Words that are old enough are let go, a few at a time between all other work."""

import asyncio
from functools import partial

from node import limits
from node.desk.context import Context
from node.desk.erasing import wipe_blobs
from node.store import packing, retention
from node.store.transaction import Transaction
from sync.limits import DAY_MS
from sync.log.names import is_message

LOOKED = "retention"
"""Name of the local value: when was looked last, and from when on words may be let go."""


class Retention:
    """What the sweeper does for it at each look."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._due = 0
        """When to look again."""

    async def step(self, now: int) -> int | None:
        """Let a few go, if it is time; return when to come back, None: nothing is ever let go."""
        context = self._context
        days = context.keep_texts_days
        if days == 0:
            return None
        # Across boots the judging clock never goes back; a wall clock that was set right does.
        now_here = min(now, context.clock.times.wall_ms())
        if now_here < self._due <= now_here + limits.RETENTION_EVERY_MS:
            return now + self._due - now_here
        self._due = now_here + limits.RETENTION_EVERY_MS
        if await context.writer.run("look", partial(_trusted, now=now_here)):
            before = now_here - days * DAY_MS
            most = limits.RETENTION_BATCHES * limits.RETENTION_BATCH
            asks = await context.reader.run(partial(retention.due, before=before, limit=most))
            for start in range(0, len(asks), limits.RETENTION_BATCH):
                chosen = asks[start : start + limits.RETENTION_BATCH]
                last = start + len(chosen) == len(asks)
                await context.writer.run("retain", partial(_let_go, asks=chosen, last=last))
                await asyncio.sleep(0)
            if asks:
                await wipe_blobs(context)
            if len(asks) == most or await self._packed(before - limits.RETENTION_PACK_MS):
                self._due = now_here + limits.RETENTION_PAUSE_MS
        return now + self._due - now_here

    async def _packed(self, before: int) -> bool:
        """Use the place of what went long ago; return whether there may be more of it."""
        for _ in range(limits.RETENTION_BATCHES):
            job = partial(_pack, before=before)
            if not await self._context.writer.run("pack", job):
                return False
            await asyncio.sleep(0)
        return True


def _pack(transaction: Transaction, *, before: int) -> bool:
    return packing.pack(transaction.connection, before)


def _trusted(transaction: Transaction, *, now: int) -> bool:
    """Note the look; False while time has jumped too far ahead to erase anything by it.

    A clock that is wrong by months, and set right within a day, costs nobody a word.
    """
    looked, after = (int(part) for part in (transaction.value(LOOKED) or b"0 0").split())
    if not 0 <= now - looked <= limits.RETENTION_JUMP_MS:
        after = now + DAY_MS
    transaction.keep(LOOKED, f"{now} {after}".encode())
    return now >= after


def _let_go(transaction: Transaction, *, asks: list[str], last: bool) -> None:
    """Let these go; the last of a look takes the pages behind them along."""
    retention.let_go(transaction.connection, asks)
    for ask in asks:
        transaction.change("message" if is_message(ask) else "ask", ask)
    transaction.erases |= last
