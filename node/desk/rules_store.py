"""The rules in force: kept in the log, parsed once a version."""

import sqlite3

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

LATEST = "SELECT entry, name, version, source, by_name, at FROM rules ORDER BY n DESC LIMIT 1"


class RulesStore:
    """Reads and applies rules. Only a person's route may call `apply`."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._parsed = parse("")
        self.version: str | None = None
        """Of the rules parsed last (None: none were ever applied)."""

    async def in_force(self) -> Rules:
        """Return the rules in force, as they stand in the store now."""
        record = await self.context.reader.run(_latest)
        if record is None:
            return self._parsed
        _, name, version, source, _, _ = record
        if version != self.version:
            self._parsed = parse(source, name)
            self.version = version
        return self._parsed

    async def view(self) -> RulesView | None:
        """Return the rules in force as they are shown."""
        record = await self.context.reader.run(_latest)
        return None if record is None else _view(record)

    async def apply(
        self, viewer: Viewer, *, name: str, source: str, replaces: str | None
    ) -> RulesView:
        """Put rules into force. Raises `RulesRefused`, `NotAllowed`, `Conflict`."""
        parse(source, name)

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
            return _view(after)

        return await self.context.writer.run("apply_rules", job)


def _latest(
    connection: sqlite3.Connection,
) -> tuple[bytes, str, str, str, str, int] | None:
    record: tuple[bytes, str, str, str, str, int] | None = connection.execute(LATEST).fetchone()
    return record


def _view(record: tuple[bytes, str, str, str, str, int]) -> RulesView:
    _, name, version, source, by_name, at = record
    return RulesView(
        name=name,
        version=version,
        applied_at=at,
        applied_by=by_name,
        count=len(parse(source, name).rules),
        source=source,
    )
