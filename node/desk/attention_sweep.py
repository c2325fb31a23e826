"""What persons are called for changes as time passes: mutes end, quiet hours come and go."""

import sqlite3

import msgspec

from node.desk import persons
from node.desk.attention import said, settings_of
from node.desk.context import Context
from node.store.transaction import Transaction
from sync.decide.attention import hushed, next_change


class _Stand(msgspec.Struct, frozen=True, kw_only=True):
    """What of it depends on the time, at one moment."""

    hushed: dict[str, str]
    """Why everything is quiet for a person, for those it is quiet for."""
    escalated: set[str]
    """Open asks that went on to others."""
    next: int | None


class AttentionSweep:
    """Announces what changed by time alone; nothing else depends on it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._told: _Stand | None = None

    async def step(self, now: int) -> int | None:
        """Announce what changed since the last look; return when the next thing does."""
        stand = await self._context.reader.run(lambda connection: _stand(connection, now))
        before = self._told
        if before is None:
            # A page that stayed open over a restart may have missed something.
            before = _Stand(hushed={}, escalated=set(), next=None)
            turned = {""} if await self._context.reader.run(_anything_said) else set[str]()
        else:
            turned = {
                person
                for person in before.hushed.keys() | stand.hushed.keys()
                if before.hushed.get(person) != stand.hushed.get(person)
            }
        passed_on = stand.escalated - before.escalated
        if turned or passed_on:

            def tell(transaction: Transaction) -> None:
                for person in sorted(turned):
                    transaction.change("attention", person)
                for ask in sorted(passed_on):
                    transaction.change("ask", ask)

            await self._context.writer.run("attention", tell)
        self._told = stand
        return stand.next


def _anything_said(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM subscription").fetchone() is not None


def _stand(connection: sqlite3.Connection, now: int) -> _Stand:
    quiet: dict[str, str] = {}
    moments: list[int] = []
    people = persons.everyone(connection)
    for person, one in said(connection).items():
        settings = settings_of(one)
        means = hushed(settings, now)
        if means is not None and person in people:
            quiet[person] = means.mode.value
        turn = next_change(settings, now)
        if turn is not None:
            moments.append(turn)
    escalated: set[str] = set()
    for ask, at in connection.execute(
        "SELECT id, at FROM escalation CROSS JOIN ask ON ask.id = escalation.ask"
        " WHERE state = 'waiting'"
    ):
        if at <= now:
            escalated.add(ask)
        else:
            moments.append(at)
    return _Stand(hushed=quiet, escalated=escalated, next=min(moments, default=None))
