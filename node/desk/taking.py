"""How an agent gets what was decided: each hand-over is committed before it is told."""

import json
import sqlite3
from typing import Any, NamedTuple

from node.desk import accounts, persons, rows
from node.desk.answer import answer_of
from node.desk.call_content import whole
from node.desk.closing import expire_if_due, hand, void
from node.desk.context import Context
from node.desk.judging import Held, judge_as
from node.desk.replies import check_same_call, name, recall, remember
from node.desk.requests import Answer, Asker
from node.desk.rows import AskRow, find, followed
from node.desk.rules_store import RulesMoved, RulesStore, check_in_force
from node.desk.sessions import names_of
from node.gate.rules import Rules
from node.store.transaction import Transaction
from sync.decide import standing
from sync.decide.ask import AskState, Kind, Outcome
from sync.decide.handover import Give, Void, give
from sync.errors import Conflict, NotAllowed, OnHold


class _Unspent(NamedTuple):
    """An ask that was allowed and waits to be handed over."""

    row: AskRow
    call: dict[str, Any] | None


class Taking:
    """The hand-over to agents; what the gate raised is handed over by the gate alone."""

    def __init__(self, context: Context, rules: RulesStore) -> None:
        self.context = context
        self._rules = rules

    async def take(self, who: Asker, ask: str, request: str, *, take_over: bool) -> Answer:
        """Take what there is of an ask; under the same request id, the first reply again."""

        async def taken(rules: Rules) -> Answer:
            refused = await self._refused(who, ask, rules)

            def job(transaction: Transaction) -> Answer:
                found = recall(transaction, stored, Answer)
                if found is not None:
                    check_same_call(found.full_id, ask)
                    return self._again(transaction, who, found)
                row = expire_if_due(transaction, self._own(transaction.connection, ask))
                decided = self._decided(transaction, row, who, take_over=take_over)
                if (
                    decided is Give.HAND
                    and row.outcome == Outcome.ALLOWED.value
                    and transaction.silenced is None
                ):
                    check_in_force(transaction, rules)
                    if refused is None:
                        # It was allowed after the rules were held against it.
                        raise RulesMoved
                    decided = Give.NOTHING if refused else decided
                    row = void(transaction, row, Void.RULES) if refused else row
                row = self._carry_out(transaction, row, who, decided)
                reply = answer_of(self.context, transaction.connection, row, who.session)
                if row.state != AskState.WAITING.value:
                    remember(transaction, stored, reply, row.id)
                return reply

            return await self.context.writer.run("hand_over", job)

        stored = name("take", who.session, request)
        return await self._rules.decide(taken)

    def _own(self, connection: sqlite3.Connection, ask: str) -> AskRow:
        """Return an ask of this machine: only the home hands over."""
        row = find(connection, ask)
        if row.home != self.context.identity.name:
            raise NotAllowed(f"{self.context.short(row.id)} was raised on another machine.")
        return row

    async def _refused(self, who: Asker, ask: str, rules: Rules) -> bool | None:
        """Whether the rules refuse an allowed call by now; None: none waits to be handed over."""
        found = await self.context.reader.run(lambda connection: self._unspent(connection, ask))
        if found is None or found.call is None:
            return None if found is None else False
        call = found.call

        def names(connection: sqlite3.Connection) -> tuple[str, ...]:
            raised = names_of(connection, found.row.session, found.row.agent)
            return tuple(dict.fromkeys((*raised, *names_of(connection, who.session, who.agent))))

        known = await self.context.reader.run(names)
        held = Held(call["tool"], call["arguments"], call["cwd"])
        ruled = await judge_as(self.context, rules, known, held)
        return ruled.refuses

    def _unspent(self, connection: sqlite3.Connection, ask: str) -> _Unspent | None:
        """An allowed ask that was not handed over yet, with its call; None: it is none."""
        row = followed(connection, ask)
        if row is None or row.outcome != Outcome.ALLOWED.value or row.state != "closed":
            return None
        canonical = whole(self.context, connection, row)
        return _Unspent(row, None if canonical is None else json.loads(canonical))

    def _decided(
        self, transaction: Transaction, row: AskRow, who: Asker, *, take_over: bool
    ) -> Give:
        standing = rows.standing(transaction.connection, row)
        return give(standing, who.session, now=transaction.now, take_over=take_over)

    def _carry_out(
        self, transaction: Transaction, row: AskRow, who: Asker, decided: Give
    ) -> AskRow:
        why = transaction.silenced
        if why is not None and decided in (Give.HAND, Give.VOID_USE_BY):
            raise OnHold(why, hint="Wait for it again; it is handed over once this is settled.")
        if decided is Give.HAND:
            self._check_account(transaction, row)
            return hand(transaction, row, who.session)
        if decided is Give.VOID_USE_BY:
            return void(transaction, row, Void.USE_BY)
        if decided is Give.HELD:
            raise Conflict(
                f"{self.context.short(row.id)} was handed over before"
                + (f", to session {row.handed_to}." if row.handed_to != who.session else "."),
                hint=(
                    "An approval is handed over once; raise a new one."
                    if row.kind == Kind.APPROVAL.value
                    else "It can be taken over if that session is gone."
                ),
                tool="" if row.kind == Kind.APPROVAL.value else "claim",
            )
        return row

    def _check_account(self, transaction: Transaction, row: AskRow) -> None:
        """Raise `OnHold` where an account that allowed it is on hold by now."""
        held = accounts.allow_held(transaction.connection, row)
        if held is None:
            return
        people = persons.everyone(transaction.connection)
        who = people.get(held.person or "")
        why = standing.not_handed(
            held.level, whole=held.person is None, who=who.name if who else None
        )
        raise OnHold(
            f"{self.context.short(row.id)} was allowed, but {why}",
            hint="Wait for it again later; it is handed over once that has ended, unless the"
            " allow is too old by then.",
        )

    def _again(self, transaction: Transaction, who: Asker, found: Answer) -> Answer:
        """Repeat a stored hand-over, unless the approval in it has become too old to use."""
        row = find(transaction.connection, found.full_id)
        held = rows.standing(transaction.connection, row).held
        if row.kind == Kind.APPROVAL.value and found.state == "allowed":
            late = row.use_by is not None and transaction.now >= row.use_by
            lapsed = row.lease_until is not None and transaction.now >= row.lease_until
            if held is None or held.session != who.session or late or lapsed:
                raise Conflict(
                    f"{found.id} was handed over before; what came of it is unknown.",
                    hint="Raise a new approval if the call still has to run.",
                )
        return found
