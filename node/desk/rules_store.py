"""The rules in force: kept in the log, parsed once a version."""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from node.desk import persons, rules_history
from node.desk.context import Context
from node.desk.rules_reach import notes_on
from node.gate import checker
from node.gate.match import Glob
from node.gate.rules import EMPTY, Rule, Rules, RulesRefused, parse, version_of
from node.store.transaction import Transaction
from sync.decide.people import Act, may
from sync.errors import Conflict, NotAllowed
from sync.log.entry import sha256
from sync.log.facts import RulesFacts, RulesText
from sync.log.kinds import EntryType
from web.desk import Viewer
from web.rules_messages import OneVersion, RulesChecked, RulesHistory
from web.rules_views import RuleProblem, RulesView

Result = TypeVar("Result")

_log = logging.getLogger("askmesh.rules")

IN_FORCE = (
    "SELECT entry, rules.name, source, coalesce(person.name, rules.person), rules.at"
    " FROM rules LEFT JOIN person ON person.id = rules.person WHERE in_force ORDER BY place DESC"
)
ENTRIES = "SELECT entry FROM rules WHERE in_force ORDER BY place DESC"


class Record(NamedTuple):
    """One version in force."""

    entry: bytes
    name: str
    source: str
    by: str
    at: int


class RulesMoved(Conflict):
    """Other rules came into force meanwhile; try again."""

    code = "rules_moved"


class RulesStore:
    """Reads and applies rules. Only a person's route may call `apply`."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._parsed = EMPTY

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

    async def _latest_parsed(self) -> tuple[list[Record], Rules]:
        records = await self.context.reader.run(_records)
        if tuple(record.entry for record in records) != self._parsed.entries:
            # Many rules on one tool take half a second to hold against each other.
            self._parsed = await asyncio.to_thread(_together, records)
        return records, self._parsed

    async def view(self) -> RulesView | None:
        """Return the rules in force as they are shown."""
        records, rules = await self._latest_parsed()
        if not records:
            return None
        shown = partial(self._shown, _view(records, rules), rules, now=self.context.clock.now())
        return await self.context.reader.run(shown)

    def _shown(
        self, view: RulesView, rules: Rules, connection: sqlite3.Connection, *, now: int
    ) -> RulesView:
        """Return the same with its machine, all of several versions, and what does nothing."""
        found = rules_history.siblings(connection)
        return msgspec.structs.replace(
            view,
            machine=found[0].machine if found else "",
            siblings=found if len(found) > 1 else [],
            notes=notes_on(connection, rules, self.context.identity.name, now),
        )

    async def check(self, source: str) -> RulesChecked:
        """Say what is wrong with a rules file, and what it would change."""

        def before(connection: sqlite3.Connection) -> tuple[list[Record], list[str]]:
            return _records(connection), there(connection)

        records, people = await self.context.reader.run(before)
        texts = [rules_history.Text(record.name, record.source) for record in records]
        rules, problems = await asyncio.to_thread(checker.read, source, people)
        here, now = self.context.identity.name, self.context.clock.now()
        noting = partial(notes_on, rules=rules or EMPTY, here=here, now=now)
        return RulesChecked(
            ok=not problems,
            errors=msgspec.convert(problems, list[RuleProblem]),
            notes=await self.context.reader.run(noting),
            changes=await asyncio.to_thread(rules_history.changes, texts, source),
        )

    async def history(self) -> RulesHistory:
        """Return the latest versions there were."""
        return await self.context.reader.run(rules_history.history)

    async def version(self, named: str) -> OneVersion:
        """Return the version that begins so. Raises `NotFound`, `Conflict`."""
        return await self.context.reader.run(partial(rules_history.one, named=named))

    async def apply(
        self, viewer: Viewer, *, name: str, source: str, replaces: str | None
    ) -> RulesView:
        """Put rules into force. Raises `RulesRefused`, `NotAllowed`, `Conflict`."""
        people = await self.context.reader.run(there)
        parsed = await asyncio.to_thread(parse, source, name, people)

        def job(transaction: Transaction) -> RulesView:
            person = persons.everyone(transaction.connection).get(viewer.person)
            if not may(person, Act.RULES):
                raise NotAllowed(
                    "Only an owner or an admin may apply rules.",
                    hint="Ask one of them to apply this file.",
                )
            before = _records(transaction.connection)
            _check_seen(before, replaces)
            transaction.append(
                EntryType.RULES,
                RulesFacts(
                    name=name,
                    version=version_of(source),
                    source_hash=sha256(source.encode()),
                    replaces=before[0].entry if before else None,
                    also=[record.entry for record in before[1:]],
                    by=viewer.person,
                    at=transaction.now,
                ),
                RulesText(source=source),
            )
            transaction.change("rules", version_of(source))
            after = _records(transaction.connection)
            if [record.source for record in after] != [source]:
                raise _not_ours(several=len(before) > 1)
            shown = _view(after, parsed)
            return self._shown(shown, parsed, transaction.connection, now=transaction.now)

        return await self.context.writer.run("apply_rules", job)


def there(connection: sqlite3.Connection) -> list[str]:
    """The roles of those who could answer: rules that need more people are refused."""
    known = persons.with_machine(connection, persons.everyone(connection))
    return [person.role.value for person in known if not person.ended]


def _check_seen(before: list[Record], replaces: str | None) -> None:
    """Raise `Conflict` when others are in force than the person saw."""
    in_force = _version(before) if before else None
    if replaces != in_force:
        raise Conflict(
            f"The rules in force are {in_force or 'none'}, not"
            f" {replaces or 'none'}: someone applied others meanwhile.",
            hint="Look at them (`askmesh rules show`), then apply yours again.",
        )


def _not_ours(*, several: bool) -> NotAllowed:
    """Say why what was applied does not count in the fleet."""
    if several:
        return NotAllowed(
            "Several rules were applied at the same time, and one of them by an owner.",
            hint="Only an owner settles that.",
        )
    return NotAllowed(
        "This machine does not speak for you, so the others would not accept it from here.",
        hint="Do it on a machine that is yours.",
    )


def check_in_force(transaction: Transaction, rules: Rules) -> None:
    """Raise `RulesMoved` when other rules are in force in this transaction."""
    if tuple(bytes(entry) for (entry,) in transaction.rows(ENTRIES)) != rules.entries:
        raise RulesMoved


def _records(connection: sqlite3.Connection) -> list[Record]:
    return [Record(*row) for row in connection.execute(IN_FORCE)]


def _version(records: list[Record]) -> str:
    return "+".join(version_of(record.source) for record in records)


def _together(records: list[Record]) -> Rules:
    """The rules of all versions in force: siblings are all held against a call."""
    if not records:
        return EMPTY
    first, *others = (_read(record) for record in records)
    return replace(
        first,
        version=_version(records),
        entries=tuple(record.entry for record in records),
        siblings=tuple(others),
    )


def _read(record: Record) -> Rules:
    """Parse rules; those that only a newer askmesh reads refuse every call."""
    try:
        return parse(record.source, record.name)
    except RulesRefused:
        _log.warning("the rules %s do not read; every call is refused", record.name)
        refuse = Rule(
            name="rules that do not read",
            tool=Glob("*"),
            conditions=(),
            action="deny",
            deadline_s=None,
            reason="The rules in force were written for another askmesh and do not read here."
            " Update askmesh on this machine, or apply rules that it reads.",
            line=1,
        )
        version = version_of(record.source)
        return Rules(name=record.name, version=version, source=record.source, rules=(refuse,))


def _view(records: list[Record], rules: Rules) -> RulesView:
    latest = records[0]
    source = latest.source
    if len(records) > 1:
        source = "\n".join(
            f"# --- {record.name}, applied by {record.by}\n{record.source}" for record in records
        )
    return RulesView(
        name=latest.name,
        version=_version(records),
        applied_at=latest.at,
        applied_by=latest.by,
        count=sum(len(each.rules) for each in (rules, *rules.siblings)),
        source=source,
    )


def without_text(view: RulesView) -> dict[str, Any]:
    """The same for whoever has the socket, agents too: who applied what, not what it says."""
    told: dict[str, Any] = msgspec.to_builtins(view)
    for each in (told, *told["siblings"]):
        del each["source"]
    return told
