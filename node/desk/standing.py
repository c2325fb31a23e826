"""How accounts stand: shown to persons, said by owners, brought from outside systems.

What an operator says needs no session and no socket: its signature is all that counts, so
whoever brings it can change nothing in it.
"""

import sqlite3
from collections import deque

from node.desk import accounts, persons
from node.desk.context import Context
from node.limits import WORDS_PER_HOUR, WORDS_RECORDED
from node.store.transaction import Transaction
from sync.decide import standing, word
from sync.decide.ask import check_words
from sync.decide.name import checked
from sync.decide.people import Act, Person, may
from sync.decide.standing import Level, Said
from sync.decide.word import Word
from sync.errors import AccountHeld, Conflict, NotAllowed, NotFound, TooMany
from sync.limits import HOUR_MS, REASON_CHARACTERS
from sync.log.facts import OperatorFacts, StandingFacts
from sync.log.kinds import EntryType
from web.account_views import (
    AccountView,
    BannerView,
    NamedPerson,
    OperatorView,
    StandingView,
    WordTaken,
)
from web.desk import Viewer

OPERATORS = (
    "SELECT key, operator.name, live, coalesce(person.name, person), operator.at, heads"
    " FROM operator LEFT JOIN person ON person.id = person ORDER BY operator.name, key"
)
OWN_WORDS = "SELECT count(*) FROM entry WHERE fleet = ? AND type = ? AND type < 16 AND author = ?"


class StandingDesk:
    """Implements `web.desk.AccountsDesk`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._recorded: dict[bytes, deque[int]] = {}

    async def standing(self, viewer: Viewer) -> StandingView:
        """How accounts stand."""
        return await self._context.reader.run(
            lambda connection: self._view(connection, viewer.person)
        )

    async def set_standing(
        self, viewer: Viewer, person: str, level: str, *, remedy: str | None, reason: str
    ) -> StandingView:
        """An owner's word on another person."""
        known = standing.check_words(level, remedy, reason)
        check_words("reason", reason, REASON_CHARACTERS)

        def job(transaction: Transaction) -> StandingView:
            owner = self._owner(transaction, viewer)
            about = persons.find(transaction.connection, person)
            if about.id == owner.id:
                raise NotAllowed(
                    "Nobody says how his own account stands.", hint="Another owner can."
                )
            before = _owners_word(transaction.connection, about.id)
            heads = list(before.heads) if before else []
            transaction.append(
                EntryType.STANDING,
                StandingFacts(
                    person=about.id,
                    standing=known.value,
                    remedy=remedy,
                    reason=reason,
                    replaces=heads[0] if heads else None,
                    also=heads[1:],
                    by=owner.id,
                    at=transaction.now,
                ),
            )
            transaction.change("node", transaction.identity.name)
            return self._view(transaction.connection, viewer.person)

        return await self._context.writer.run("set_standing", job)

    async def standing_word(self, operator: bytes, raw: bytes, signature: bytes) -> WordTaken:
        """An operator's word."""
        said = word.check(operator, raw, signature)

        def job(transaction: Transaction) -> WordTaken:
            _check_operator(transaction, operator, said)
            before = _word_before(transaction.connection, operator, said.person)
            if before is not None and _same(before, said):
                return WordTaken(state="known", serial=said.serial)
            if before is not None and said.serial <= before.serial:
                raise Conflict(
                    f"The word has serial {said.serial}, and one with {before.serial} came before:"
                    " an older word changes nothing.",
                    hint="Sign it anew with a serial that is higher.",
                )
            self._check_room(transaction, operator)
            facts = StandingFacts(
                standing="", operator=operator, word=raw, signature=signature, at=transaction.now
            )
            transaction.append(EntryType.STANDING, facts)
            transaction.change("node", transaction.identity.name)
            self._recorded.setdefault(operator, deque()).append(transaction.now)
            return WordTaken(state="recorded", serial=said.serial)

        return await self._context.writer.run("standing_word", job)

    async def add_operator(self, viewer: Viewer, name: str, key: bytes) -> StandingView:
        """Register a key."""

        def job(transaction: Transaction) -> StandingView:
            owner = self._owner(transaction, viewer)
            others = [
                other
                for known, other, live, *_ in transaction.rows(OPERATORS)
                if live and known != key
            ]
            named = checked("operator's name", name, taken=others)
            self._change(transaction, owner, key, named, on=True)
            return self._view(transaction.connection, viewer.person)

        return await self._context.writer.run("add_operator", job)

    async def remove_operator(self, viewer: Viewer, key: bytes) -> StandingView:
        """Let a key say nothing any more."""

        def job(transaction: Transaction) -> StandingView:
            owner = self._owner(transaction, viewer)
            row = transaction.row("SELECT name, live FROM operator WHERE key = ?", key)
            if row is None:
                raise NotFound("There is no such operator here.")
            if not row[1]:
                raise Conflict(f"{row[0]} was removed before.")
            self._change(transaction, owner, key, row[0], on=False)
            return self._view(transaction.connection, viewer.person)

        return await self._context.writer.run("remove_operator", job)

    def _owner(self, transaction: Transaction, viewer: Viewer) -> Person:
        """Return the viewer, who may say it from here and is not held. Raises `NotAllowed`."""
        connection = transaction.connection
        person = persons.everyone(connection).get(viewer.person)
        if person is None or not may(person, Act.STANDING):
            raise NotAllowed(
                "Only an owner may say how accounts stand, or who else may.",
                hint="Ask an owner of the fleet.",
            )
        if not persons.speaks_for(connection, transaction.identity.name, person.id):
            raise NotAllowed(
                "This machine does not speak for you, so the others would not accept it from here.",
                hint="Do it on a machine that is yours.",
            )
        held = accounts.refuses(connection, person.id)
        if held is not None:
            raise AccountHeld(
                "You cannot change this while it holds you yourself; nothing was recorded.",
                hint=accounts.hint(connection, held, person.id),
            )
        return person

    def _change(
        self, transaction: Transaction, owner: Person, key: bytes, name: str, *, on: bool
    ) -> None:
        row = transaction.row("SELECT heads FROM operator WHERE key = ?", key)
        heads = [] if row is None else list(accounts.hashes(row[0]))
        transaction.append(
            EntryType.OPERATOR,
            OperatorFacts(
                key=key,
                name=name,
                on=on,
                replaces=heads[0] if heads else None,
                also=heads[1:],
                by=owner.id,
                at=transaction.now,
            ),
        )
        transaction.change("node", transaction.identity.name)

    def _check_room(self, transaction: Transaction, operator: bytes) -> None:
        recent = self._recorded.get(operator, deque())
        while recent and recent[0] <= transaction.now - HOUR_MS:
            recent.popleft()
        if len(recent) >= WORDS_PER_HOUR:
            raise TooMany(
                f"This operator had {WORDS_PER_HOUR} words recorded within an hour.",
                hint="Say it when it changes, not over and over.",
            )
        identity = transaction.identity
        (count,) = transaction.row(
            OWN_WORDS, identity.fleet, EntryType.STANDING.value, identity.key.node_id
        )
        if count >= WORDS_RECORDED:
            raise TooMany(
                f"This machine has recorded {WORDS_RECORDED} words on accounts, and takes no more.",
                hint="Bring it to another machine of the fleet.",
            )

    def _view(self, connection: sqlite3.Connection, viewer: str) -> StandingView:
        everyone = persons.everyone(connection)
        sees = accounts.sees_remedy(connection, viewer)
        operators = [
            OperatorView(id=key.hex(), name=name, live=bool(live), by=by, at=at)
            for key, name, live, by, at, _ in connection.execute(OPERATORS)
        ]
        names = {one.id: one.name for one in operators}
        return StandingView(
            fleet=self._context.identity.fleet.hex(),
            me=viewer,
            banner=banner(connection, viewer),
            accounts=[
                _account(one, everyone, names, sees=sees)
                for one in accounts.said(connection)
                if sees or one.person in (None, viewer)
            ],
            operators=operators if sees else [],
            persons=[
                NamedPerson(id=one.id, name=one.name)
                for one in everyone.values()
                if sees and not one.ended
            ],
        )


def banner(
    connection: sqlite3.Connection, viewer: str | None, known: list[Said] | None = None
) -> BannerView | None:
    """Return what stands at the top for a person (None: for who is nobody here)."""
    words = accounts.said(connection) if known is None else known
    worst = standing.strictest(words, viewer)
    if worst is None:
        return None
    effect = standing.EFFECTS[worst.level]
    sees = viewer is not None and accounts.sees_remedy(connection, viewer)
    shown = sees and effect.remedy
    others = viewer is not None and effect.remedy and not sees
    return BannerView(
        standing=worst.level.value,
        whole=worst.person is None,
        sentence=standing.banner(worst),
        answers=effect.answers,
        reason=(worst.reason or None) if shown else None,
        remedy=worst.remedy if shown else None,
        remedy_host=standing.remedy_host(worst.remedy) if shown and worst.remedy else None,
        fixed_by=standing.fixed_by(accounts.fixers(connection)) if others else None,
    )


def _account(
    one: Said, everyone: dict[str, Person], operators: dict[str, str], *, sees: bool
) -> AccountView:
    by = everyone.get(one.by or "")
    about = everyone.get(one.person or "")
    shown = sees and one.level is not Level.SUSPENDED
    operator = one.source.hex() if one.source != accounts.OWNERS else None
    return AccountView(
        person=one.person,
        name=about.name if about else None,
        standing=one.level.value,
        said_by=operators.get(operator, "an operator") if operator else by.name if by else "owner",
        operator=operator,
        counts=one.counts,
        reason=(one.reason or None) if shown else None,
        remedy=one.remedy if shown else None,
        serial=one.serial,
        at=one.at,
    )


def _owners_word(connection: sqlite3.Connection, person: str) -> Said | None:
    return _word_before(connection, accounts.OWNERS, person)


def _word_before(connection: sqlite3.Connection, source: bytes, person: str | None) -> Said | None:
    return next(
        (one for one in accounts.said(connection) if (one.source, one.person) == (source, person)),
        None,
    )


def _check_operator(transaction: Transaction, operator: bytes, said: Word) -> None:
    row = transaction.row("SELECT live FROM operator WHERE key = ?", operator)
    if row is None or not row[0]:
        raise NotAllowed(
            "No operator with that key is registered here, so the word changed nothing.",
            hint="An owner registers it: askmesh standing operator add NAME KEYFILE",
        )
    if said.fleet != transaction.identity.fleet.hex():
        raise NotAllowed(
            "The word is for another fleet, so it changed nothing.",
            hint="The fleet's id is in: askmesh standing show --json",
        )
    if said.person is not None and said.person not in persons.everyone(transaction.connection):
        raise NotFound(
            "The word names a person who is not in this fleet, so it changed nothing.",
            hint="Persons are named by their ids: askmesh standing show --json",
        )


def _same(before: Said, said: Word) -> bool:
    told = (said.serial, said.standing, said.remedy, said.reason, said.at)
    return told == (before.serial, before.level.value, before.remedy, before.reason, before.at)
