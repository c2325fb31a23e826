"""The rules in force: kept in the log, parsed once a version."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from typing import TypeVar

from node.desk import persons
from node.desk.context import Context
from node.gate.rules import Rules, parse, version_of
from node.store.transaction import Transaction
from sync.decide.people import Act, may
from sync.errors import Conflict, NotAllowed
from sync.log.entry import sha256
from sync.log.facts import RulesFacts, RulesText
from sync.log.kinds import EntryType
from web.desk import Viewer
from web.views import RulesView

Result = TypeVar("Result")
Record = tuple[bytes, str, str, str, str, int]
"""Entry hash, name, version, source, the name of who applied them, when."""
LATEST = (
    "SELECT entry, rules.name, version, source, coalesce(person.name, rules.person), rules.at"
    " FROM rules LEFT JOIN person ON person.id = rules.person ORDER BY place DESC LIMIT 1"
)


class RulesMoved(Conflict):
    """Other rules came into force meanwhile; try again."""

    code = "rules_moved"


class RulesStore:
    """Reads and applies rules. Only a person's route may call `apply`."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._parsed = parse("")
        self.version: str | None = None
        """Of the rules parsed last (None: none were ever applied)."""

    async def in_force(self) -> Rules:
        """Return the rules in force, as they stand in the store now."""
        return (await self._latest_parsed())[1]

    async def decide(self, decide: Callable[[Rules], Awaitable[Result]]) -> Result:
        """Decide by the rules in force; anew when others came into force meanwhile.

        A job that acts on the rules calls `check_in_force` in its transaction.
        """
        while True:
            rules = await self.in_force()
            try:
                return await decide(rules)
            except RulesMoved:
                continue

    async def _latest_parsed(self) -> tuple[Record | None, Rules]:
        record = await self.context.reader.run(_latest)
        if record is not None and record[2] != self.version:
            _, name, version, source, _, _ = record
            # Many rules on one tool take half a second to hold against each other.
            self._parsed = await asyncio.to_thread(parse, source, name)
            self.version = version
        return record, self._parsed

    async def view(self) -> RulesView | None:
        """Return the rules in force as they are shown."""
        record, rules = await self._latest_parsed()
        return None if record is None else _view(record, len(rules.rules))

    async def apply(
        self, viewer: Viewer, *, name: str, source: str, replaces: str | None
    ) -> RulesView:
        """Put rules into force. Raises `RulesRefused`, `NotAllowed`, `Conflict`."""
        parsed = await asyncio.to_thread(parse, source, name)

        def job(transaction: Transaction) -> RulesView:
            person = persons.everyone(transaction.connection).get(viewer.person)
            if not may(person, Act.RULES):
                raise NotAllowed(
                    "Only an owner or an admin may apply rules.",
                    hint="Ask one of them to apply this file.",
                )
            before = _latest(transaction.connection)
            in_force = None if before is None else before[2]
            if replaces != in_force:
                raise Conflict(
                    f"The rules in force are {in_force or 'none'}, not"
                    f" {replaces or 'none'}: someone applied others meanwhile.",
                    hint="Look at them (`askmesh rules show`), then apply yours again.",
                )
            transaction.append(
                EntryType.RULES,
                RulesFacts(
                    name=name,
                    version=version_of(source),
                    source_hash=sha256(source.encode()),
                    replaces=None if before is None else before[0],
                    by=viewer.person,
                    at=transaction.now,
                ),
                RulesText(source=source),
            )
            transaction.change("rules", version_of(source))
            after = _latest(transaction.connection)
            if after is None:
                raise Conflict
            return _view(after, len(parsed.rules))

        return await self.context.writer.run("apply_rules", job)


def check_in_force(transaction: Transaction, rules: Rules) -> None:
    """Raise `RulesMoved` when other rules are in force in this transaction."""
    record = _latest(transaction.connection)
    if record is not None and record[2] != rules.version:
        raise RulesMoved


def _latest(connection: sqlite3.Connection) -> Record | None:
    record: Record | None = connection.execute(LATEST).fetchone()
    return record


def _view(record: Record, count: int) -> RulesView:
    _, name, version, source, by_name, at = record
    return RulesView(
        name=name,
        version=version,
        applied_at=at,
        applied_by=by_name,
        count=count,
        source=source,
    )
