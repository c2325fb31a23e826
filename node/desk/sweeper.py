"""What happens because time passes: deadlines, leases, old replies.

Nothing depends on it for safety: every decision checks the deadline itself. It is what
makes the screen change and waiters hear at the deadline instead of at the next question.
"""

import asyncio
import contextlib
import logging
import sqlite3
from functools import partial

from node.desk import carrying, erasing, seats
from node.desk.answers import Answers
from node.desk.attention_sweep import AttentionSweep
from node.desk.closing import expire_if_due, void
from node.desk.context import Context
from node.desk.far import last_heard
from node.desk.reached import close_reached, reached
from node.desk.reading import trim_events
from node.desk.replies import forget_old
from node.desk.retention import Retention
from node.desk.rows import select, standing
from node.desk.sign_in import LIFE_MS
from node.store import releasing
from node.store.transaction import Transaction
from sync.decide.handover import Void, use_by_passed
from sync.errors import AskmeshError
from sync.limits import DAY_MS, STORE_RETRY_S

LONGEST_S = 30.0
"""Between two looks at most: leases are renewed without a signal, clocks are stepped."""
SHORTEST_S = 0.25
"""After any change a new deadline may be nearer; a burst of changes is one look."""
MOMENT_S = 0.01
TIDY_EVERY_MS = 10 * 60_000
UNRULED_MS = 1_000
"""A vote is ruled on right after it was recorded; one that waits this long was left."""
SESSION_KEPT_MS = 30 * DAY_MS
"""A session that nobody heard of for a month has nothing left to show."""

_UNUSED = "state = 'closed' AND outcome = 'allowed'"

_log = logging.getLogger("askmesh.sweeper")


class Sweeper:
    """One task that sleeps until the next moment something is due."""

    def __init__(self, context: Context, answers: Answers) -> None:
        self._context = context
        self._answers = answers
        self._told: set[str] = set()
        self._tidied = 0
        self._unruled_since: int | None = None
        self._retention = Retention(context)
        self._attention = AttentionSweep(context)

    async def run(self) -> None:
        """Sweep until cancelled; a store that fails is tried again at the next look."""
        with self._context.signals.any() as signal:
            while True:
                signal.clear()
                pause = STORE_RETRY_S
                try:
                    pause = await self.sweep()
                except AskmeshError as error:
                    _log.warning("sweeping failed: %s", error.sentence)
                if self._context.writer.trouble is not None:
                    pause = min(pause, STORE_RETRY_S)
                # An ask cannot have a deadline nearer than a second, so this misses none.
                await asyncio.sleep(min(pause, SHORTEST_S))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(signal.wait(), min(pause, LONGEST_S))

    async def sweep(self) -> float:
        """Carry out what is due; return the seconds until the next thing is."""
        context = self._context
        if context.writer.trouble is not None:
            # Only a commit shows that there is room again.
            await context.writer.run("try", lambda _: None)
        now = context.clock.now()
        work, moments = await context.reader.run(partial(self._due, now=now))
        if work:
            await context.writer.run("expire", self._expire)
        await self._close_reached(now)
        unruled = await self._rule_left(now)
        if unruled is not None:
            moments.append(unruled)
        held = await self._release_held()
        if held is not None:
            moments.append(now + held)
        await self._tell_passed(now)
        await erasing.wipe_blobs(context)
        retained = await self._retention.step(now)
        if retained is not None:
            moments.append(retained)
        turns = await self._attention.step(now)
        if turns is not None:
            moments.append(turns)
        if now - self._tidied > TIDY_EVERY_MS:
            self._tidied = now
            await context.writer.run("tidy", self._tidy)
        later = [moment - now for moment in moments if moment > now]
        return max(MOMENT_S, min(later, default=LONGEST_S * 1000) / 1000)

    def _due(self, connection: sqlite3.Connection, *, now: int) -> tuple[bool, list[int]]:
        """Return whether something is due here, and when the next things are."""
        here = self._context.identity.name
        (open_due,) = connection.execute(
            "SELECT count(*) FROM ask WHERE state = 'waiting' AND deadline <= ? AND home = ?",
            (now, here),
        ).fetchone()
        (unused,) = connection.execute(
            "SELECT count(*) FROM ask WHERE state = 'closed' AND outcome = 'allowed'"
            " AND use_by <= ? AND home = ?",
            (now, here),
        ).fetchone()
        moments = [
            moment
            for sql in (
                # Of other machines' asks the card changes at these moments.
                "SELECT min(deadline) FROM ask WHERE state = 'waiting' AND deadline > ?",
                (
                    "SELECT min(use_by) FROM ask WHERE state = 'closed'"
                    " AND outcome = 'allowed' AND use_by > ?"
                ),
            )
            for (moment,) in connection.execute(sql, (now,))
            if moment is not None
        ]
        return bool(open_due or unused or erasing.left_open(connection, here)), moments

    async def _close_reached(self, now: int) -> None:
        """Close what enough people allow by now, as someone may answer again."""
        here = self._context.identity.name
        if await self._context.reader.run(lambda connection: bool(reached(connection, here, now))):
            await self._context.writer.run("reach", close_reached)

    async def _rule_left(self, now: int) -> int | None:
        """Rule on votes that a full disk or a hold left without a ruling; return when one is due.

        Its own time says little of how long it waits: the clock it was given by may be ahead.
        """
        home = self._context.identity.name

        def oldest(connection: sqlite3.Connection) -> int | None:
            (at,) = connection.execute(
                "SELECT min(vote.at) FROM vote JOIN ask ON ask.id = vote.ask"
                " WHERE ruling IS NULL AND home = ? AND state != 'posted'",
                (home,),
            ).fetchone()
            return None if at is None else int(at)

        at = await self._context.reader.run(oldest)
        if at is None:
            self._unruled_since = None
            return None
        self._unruled_since = min(at, now if self._unruled_since is None else self._unruled_since)
        due = self._unruled_since + UNRULED_MS
        if due > now:
            return due
        await self._answers.rule_open()
        return None

    async def _release_held(self) -> int | None:
        """Apply what was stamped too far ahead and is no more; return in how long the next is.

        The wall clock alone says so: it was what held it.
        """
        context = self._context
        due = await context.reader.run(releasing.next_release)
        if due is None:
            return None
        left = due - context.clock.times.wall_ms()
        if left <= 0:
            await context.writer.run("release", releasing.release)
        return max(left, 0)

    def _expire(self, transaction: Transaction) -> None:
        if transaction.silenced is not None:
            return
        now = transaction.now
        here = transaction.identity.name
        erasing.close_erased(transaction)
        for row in select(
            transaction.connection,
            "state = 'waiting' AND deadline <= ? AND home = ? LIMIT 500",
            (now, here),
        ):
            expire_if_due(transaction, row)
        for row in select(
            transaction.connection,
            f"{_UNUSED} AND use_by <= ? AND home = ? LIMIT 500",
            (now, here),
        ):
            if use_by_passed(standing(transaction.connection, row), now):
                void(transaction, row, Void.USE_BY)

    async def _tell_passed(self, now: int) -> None:
        """Announce asks whose card changes without an entry.

        Those are approvals whose holder fell silent, and asks of other machines whose
        deadline or use-by has passed here.
        """
        found = await self._context.reader.run(lambda connection: self._passed(connection, now))
        fresh = found ^ self._told
        if fresh:

            def tell(transaction: Transaction) -> None:
                for ask in fresh:
                    transaction.change("ask", ask)

            await self._context.writer.run("lapsed", tell)
        # Not before: what a full disk kept from being told is told at the next look.
        self._told = found

    def _passed(self, connection: sqlite3.Connection, now: int) -> set[str]:
        context = self._context
        silent = select(
            connection,
            "state = 'handed' AND kind = 'approval' AND outcome = 'allowed'"
            " AND lease_until <= ? ORDER BY lease_until DESC LIMIT 200",
            (now,),
        )
        found = {
            row.id
            for row in silent
            if (held := standing(connection, row, far=last_heard(context, connection, row)).held)
            and now >= held.lease_until
        }
        elsewhere = (now, context.identity.name)
        for where in (
            "state = 'waiting' AND deadline <= ? AND home != ? ORDER BY deadline DESC LIMIT 200",
            f"{_UNUSED} AND use_by <= ? AND home != ? ORDER BY use_by DESC LIMIT 200",
        ):
            found |= {row.id for row in select(connection, where, elsewhere)}
        return found

    def _tidy(self, transaction: Transaction) -> None:
        """Drop what is only of use for a while, and catch up with messages."""
        _drop(transaction)
        seats.remember(self._context, transaction)
        carrying.receive(transaction, anew=True)


def _drop(transaction: Transaction) -> None:
    """Drop what is only of use for a while and proves nothing."""
    forget_old(transaction)
    trim_events(transaction)
    now = transaction.now
    transaction.run("DELETE FROM tool_use WHERE at < ?", now - DAY_MS)
    for kind, life in LIFE_MS.items():
        transaction.run(
            "DELETE FROM person_session WHERE kind = ? AND last_used < ?", kind, now - life
        )
    transaction.run("DELETE FROM agent_session WHERE last_heard < ?", now - SESSION_KEPT_MS)
    transaction.run("DELETE FROM agent_status WHERE session NOT IN (SELECT id FROM agent_session)")
    transaction.run("DELETE FROM agent_name WHERE session NOT IN (SELECT id FROM agent_session)")
