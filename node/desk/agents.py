"""The agents' desk: what the socket and the MCP tools may do. Nothing here can answer."""

import asyncio
import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import cast

from node.desk import far, persons, rows
from node.desk.answer import answer_of, flagged_of, state_of
from node.desk.call_content import content_of
from node.desk.closing import close, expire_if_due, resolve
from node.desk.context import Context
from node.desk.judging import Judged, check_still, judge
from node.desk.protocols import Progress
from node.desk.raising import (
    CallContent,
    NewAsk,
    Pace,
    check,
    check_same,
    earlier,
    record,
)
from node.desk.replies import check_same_call, name, recall, remember
from node.desk.requests import (
    Answer,
    Asker,
    Child,
    Flag,
    Flagged,
    PendingRow,
    Whoami,
)
from node.desk.requests import Kind as KindName
from node.desk.rows import AskRow, find
from node.desk.ruled import check_not_refused, under
from node.desk.rules_store import RulesStore
from node.desk.sessions import SessionBook, checked, hear
from node.desk.taking import Taking
from node.desk.votes import allows
from node.gate.call import make_call
from node.gate.rules import Rules
from node.limits import PROGRESS_EVERY_S
from node.store.transaction import Transaction
from node.store.writer import Job, Result
from sync import limits
from sync.decide.ask import AskState, Kind, Outcome, check_words
from sync.errors import Conflict, Invalid, NotAllowed
from sync.log.facts import FinalText, Option


class AgentDesk:
    """Implements `node.desk.protocols.Agents` but for the listings."""

    def __init__(self, context: Context, book: SessionBook, rules: RulesStore) -> None:
        self.context = context
        self.book = book
        self._rules = rules
        self._taking = Taking(context, rules)
        self.pace = Pace(context.limits, asyncio.get_running_loop().time)

    async def flag(self, who: Asker, flag: Flag, *, request: str) -> Flagged:
        """Record an ask, or return the one already open or recorded under the key.

        Where a rule asks about its call, that rule says who must allow it.
        """
        stored = name("flag", who.session, request)
        heard = self.book.due(who, self.context.clock.now())

        async def flagged(rules: Rules) -> Flagged:
            ask, judged = await self._checked(who, flag, rules)
            # A retry of what is recorded already is answered even so.
            paced = self.pace.over(who.session)

            def job(transaction: Transaction) -> Flagged:
                found = recall(transaction, stored, Flagged)
                if found is not None:
                    check_same(transaction.connection, found.full_id, ask)
                    return found
                known = earlier(transaction.connection, who.session, ask)
                if known is None:
                    if paced:
                        self.pace.check(who.session)
                    if judged is not None:
                        check_still(transaction, judged, who)
                        check_not_refused(judged.ruled)
                row = known or record(transaction, who, ask, self.context.limits)
                if heard:
                    hear(transaction, who)
                again = known is not None
                reply = flagged_of(self.context, transaction.connection, row, already_open=again)
                remember(transaction, stored, reply, row.id)
                return reply

            return await self._run("flag", who, job)

        return await self._rules.decide(flagged)

    async def await_answer(
        self, who: Asker, ask_id: str, *, wait_s: float, request: str, progress: Progress | None
    ) -> Answer:
        """Wait for the final and take the hand-over; `waiting` when the time is over."""
        row = await self.context.reader.run(lambda connection: self._own(connection, ask_id))
        if row.session != who.session:
            raise NotAllowed(
                f"{self.context.short(row.id)} was raised by another session.",
                hint="A question of your project can be taken over.",
                tool="claim",
            )
        if row.enforced:
            raise NotAllowed(
                f"{self.context.short(row.id)} holds a call at the gate.",
                hint="Make the same call again: the gate picks its verdict up.",
            )
        if row.posted:
            raise Invalid(f"A {row.kind} waits for nobody, so there is no answer to wait for.")
        await self.heard(who)
        ask = await self._closed(row, who, wait_s, progress)
        return await self._take(who, ask, request, take_over=False)

    async def claim(self, who: Asker, ask_id: str, *, take_over: bool, request: str) -> Answer:
        """Take over a question's answer of the same project, under a higher token."""
        row = await self.context.reader.run(lambda connection: self._own(connection, ask_id))
        self._own_project(who, row)
        if row.enforced:
            raise NotAllowed("A call held by the gate is picked up by the gate alone.")
        if row.kind != Kind.QUESTION.value and row.session != who.session:
            raise NotAllowed(
                "Only questions can be claimed by another session.",
                hint="An approval belongs to the session that raised it; raise a new one.",
            )
        await self.heard(who)
        return await self._take(who, row.id, request, take_over=take_over)

    async def resolve(
        self, who: Asker, ask_id: str, *, token: int | None, outcome: str, ok: bool, request: str
    ) -> Answer:
        """State what came of an answer. A token that is not the live one is refused."""
        check_words("outcome", outcome, limits.ANSWER_CHARACTERS)
        stored = name("resolve", who.session, request)

        def job(transaction: Transaction) -> Answer:
            found = recall(transaction, stored, Answer)
            if found is not None:
                check_same_call(found.full_id, self._own(transaction.connection, ask_id).id)
                return found
            row = self._held(transaction, who, ask_id, token)
            row = resolve(transaction, row, ok=ok, outcome=outcome)
            reply = answer_of(self.context, transaction.connection, row, who.session)
            remember(transaction, stored, reply, row.id)
            return reply

        return await self._run("resolve", who, job)

    async def withdraw(self, who: Asker, ask_id: str, *, reason: str, request: str) -> Answer:
        """Close the caller's own open ask."""
        check_words("reason", reason, limits.TITLE_CHARACTERS)
        stored = name("withdraw", who.session, request)

        def job(transaction: Transaction) -> Answer:
            found = recall(transaction, stored, Answer)
            row = self._own(transaction.connection, ask_id)
            if found is not None:
                check_same_call(found.full_id, row.id)
                return found
            if row.session != who.session:
                raise NotAllowed("Only the session that raised an ask can withdraw it.")
            if row.enforced:
                raise NotAllowed("A call held by the gate is not withdrawn by its agent.")
            if row.posted:
                raise Invalid(f"A {row.kind} stays; there is nothing to withdraw.")
            row = expire_if_due(transaction, row)
            if row.state == AskState.WAITING.value:
                row = close(
                    transaction,
                    row,
                    Outcome.WITHDRAWN,
                    text=FinalText(reason=reason or None),
                )
            reply = answer_of(self.context, transaction.connection, row, None)
            remember(transaction, stored, reply, row.id)
            return reply

        return await self._run("withdraw", who, job)

    async def pending(self, who: Asker, *, everything: bool = False) -> list[PendingRow]:
        """The open and unresolved rows of the caller's project, oldest first."""
        live = "state IN ('waiting', 'closed', 'handed')"
        where = "project = ?" + ("" if everything else f" AND {live}")

        def read(connection: sqlite3.Connection) -> list[PendingRow]:
            found = rows.select(
                connection, f"{where} ORDER BY created DESC LIMIT 200", (who.project,)
            )
            # What a removed machine left open waits for nobody any more.
            gone = far.gone(self.context, connection)
            return [
                self._pending(connection, who, row)
                for row in reversed(found)
                if everything or row.home not in gone
            ]

        await self.heard(who)
        return await self.context.reader.run(read)

    async def status(self, who: Asker, text: str, children: Sequence[Child] | None = None) -> None:
        """What the session is doing, in its own words; shown, never judged."""
        said = checked(text, children)
        await self._run("status", who, lambda transaction: hear(transaction, who, said=said))

    async def heard(self, who: Asker) -> None:
        """Note that the session is alive; renews the lease of what it holds."""
        if self.book.due(who, self.context.clock.now()):
            await self._run("heard", who, lambda transaction: hear(transaction, who))

    async def whoami(self, who: Asker) -> Whoami:
        """How the node sees the caller."""
        # Imported here: the MCP hosts' table is the agents' package's own.
        from node.agents.hosts import wait_limit

        def read(connection: sqlite3.Connection) -> Whoami:
            count, reason = persons.reachable(connection, None)
            gate = connection.execute(
                "SELECT gate_last FROM agent_session WHERE id = ?", (who.session,)
            ).fetchone()
            return Whoami(
                agent=who.agent,
                session=who.session,
                project=who.project,
                branch=who.branch,
                cwd=who.cwd,
                machine=self.context.machine,
                node=self.context.identity.name,
                reach=count,
                reach_reason=reason,
                wait_limit_s=wait_limit(who.client),
                gate="in_force" if gate and gate[0] is not None else "not_seen",
            )

        await self.heard(who)
        return await self.context.reader.run(read)

    async def _checked(self, who: Asker, flag: Flag, rules: Rules) -> tuple[NewAsk, Judged | None]:
        call: CallContent | None = None
        judged: Judged | None = None
        if flag.call is not None:
            call, judged = await self._call(who, flag, rules)
        ask = NewAsk(
            kind=Kind(flag.kind),
            title=flag.title,
            detail=flag.detail,
            options=[
                Option(id=str(number), label=option.label, detail=option.detail)
                for number, option in enumerate(flag.options, start=1)
            ],
            fallback=flag.fallback,
            deadline_ms=None if flag.deadline_s is None else milliseconds(flag.deadline_s),
            key=flag.key,
            call=call,
        )
        ask = ask if judged is None else under(ask, judged.ruled)
        check(ask)
        return ask, judged

    async def _call(self, who: Asker, flag: Flag, rules: Rules) -> tuple[CallContent, Judged]:
        given = flag.call
        if flag.kind != Kind.APPROVAL.value:
            raise Invalid(f"A {flag.kind} has no call.", hint="Use kind 'approval'.")
        if (
            not isinstance(given, dict)
            or not isinstance(given.get("tool"), str)
            or set(given) - {"tool", "arguments"}
        ):
            raise Invalid(
                "The call must be an object with 'tool' and 'arguments'.",
                hint='For example {"tool": "deploy", "arguments": {"target": "staging"}}.',
            )
        made = await asyncio.to_thread(
            make_call, given["tool"], given.get("arguments", {}), who.cwd
        )
        judged = await judge(self.context, rules, who, made)
        match = judged.ruled.match
        return await content_of(self.context, made, match.hide if match else ()), judged

    async def _closed(
        self, row: AskRow, who: Asker, wait_s: float, progress: Progress | None
    ) -> str:
        """Wait until the ask is closed or the time is over, telling progress meanwhile.

        Return its id, which is another one once it was raised again in another fleet.
        """
        context = self.context
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        ask = row.id
        while True:
            with context.signals.of(ask) as changed:
                found, silenced = await context.reader.run(partial(self._followed, ask=ask))
                row = row if found is None else found
                if row.id != ask:
                    ask = row.id
                    continue
                left = until - loop.time()
                if (row.state != AskState.WAITING.value and not silenced) or left <= 0:
                    return ask
                # Also before the first wait: a host then knows at once that this may take long.
                if progress is not None:
                    await progress((context.clock.now() - row.created) / 1000)
                try:
                    await asyncio.wait_for(changed.wait(), min(left, PROGRESS_EVERY_S))
                except TimeoutError:
                    await self.heard(who)

    def _followed(self, connection: sqlite3.Connection, ask: str) -> tuple[AskRow | None, bool]:
        """The ask as it stands, and whether nothing may be handed over now."""
        return rows.followed(connection, ask), far.silenced(self.context, connection) is not None

    def _own(self, connection: sqlite3.Connection, ask_id: str) -> AskRow:
        """Return an ask of this machine; an agent has nothing to do with any other."""
        here = self.context.identity.name
        row = find(connection, ask_id, prefer=here)
        if row.home != here:
            raise NotAllowed(
                f"{self.context.short(row.id)} was raised on another machine.",
                hint="Only the agents of that machine can wait for it or act on it.",
            )
        return row

    async def _take(self, who: Asker, ask: str, request: str, *, take_over: bool) -> Answer:
        try:
            return await self._taking.take(who, ask, request, take_over=take_over)
        except Exception:
            self.book.forget(who.session)
            raise

    def _held(self, transaction: Transaction, who: Asker, ask_id: str, token: int | None) -> AskRow:
        row = self._own(transaction.connection, ask_id)
        short = self.context.short(row.id)
        if row.enforced:
            raise NotAllowed(f"{short} holds a call at the gate, which resolves it itself.")
        if row.state == AskState.RESOLVED.value:
            raise Conflict(f"{short} is resolved already.")
        if row.state != AskState.HANDED.value:
            raise Conflict(
                f"{short} was not handed over, so nothing can have come of it.",
                hint="Wait for its answer first.",
                tool="await_answer",
            )
        if row.handed_to != who.session or (token is not None and token != row.token):
            raise Conflict(
                f"{short} has moved on to another session (token {row.token}).",
                hint="What you did under the older token is not recorded as its outcome.",
            )
        return row

    def _own_project(self, who: Asker, row: AskRow) -> None:
        if row.project != who.project:
            raise NotAllowed(
                f"{self.context.short(row.id)} belongs to another project.",
                hint="An agent works on the rows of its own project only.",
            )

    def _pending(self, connection: sqlite3.Connection, who: Asker, row: AskRow) -> PendingRow:
        return PendingRow(
            id=self.context.short(row.id),
            full_id=row.id,
            kind=cast("KindName", row.kind),
            title=rows.words(connection, row).title,
            state=state_of(row),
            agent=row.agent,
            session=row.session,
            mine=row.session == who.session and row.home == self.context.identity.name,
            handed_to=row.handed_to,
            resolved=row.resolved_at is not None,
            created=row.created,
            deadline=row.deadline,
            counted=allows(connection, row, persons.everyone(connection)),
            needed=row.needed,
            role=row.role,
            unclear=bool(row.unclear),
        )

    async def _run(self, label: str, who: Asker, job: Job[Result]) -> Result:
        try:
            return await self.context.writer.run(label, job)
        except Exception:
            self.book.forget(who.session)
            raise


def milliseconds(seconds: float) -> int:
    """Return a duration in milliseconds. Raises `Invalid` for what is no number."""
    if not 0 <= seconds < limits.DAY_MS:
        raise Invalid(
            f"{seconds} is not a number of seconds a deadline can have.",
            hint="Give between 1 second and 90 days; an approval can have 7 days.",
        )
    return round(seconds * 1000)
