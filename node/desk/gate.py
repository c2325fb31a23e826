"""The gate's desk: calls held until a person decided, each verdict picked up once.

An approval raised here is *enforced*: only the gate hands it over, to the session that
raised it, for the very call that was shown (same digest), before its use-by, and only
when no earlier hook still waits for it.
"""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial

from node.desk import accounts, far, rows
from node.desk.call_content import content_of
from node.desk.closing import close, expire_if_due, hand, reload, resolve, void
from node.desk.context import Context
from node.desk.gate_verdict import held_back, not_decided, title_of, verdict_of
from node.desk.judging import Judged, check_still, judge
from node.desk.protocols import GateHold, GateVerdict
from node.desk.raising import CallContent, NewAsk, check, record
from node.desk.requests import Asker
from node.desk.rows import AskRow, by_id, followed, select
from node.desk.ruled import under
from node.desk.rules_store import RulesStore
from node.desk.sessions import hear
from node.gate.call import Call
from node.gate.law import Ruled
from node.gate.rules import Rules
from node.store.transaction import Transaction
from sync import limits
from sync.decide.ask import AskState, Kind, Outcome
from sync.decide.handover import Give, Void, give
from sync.log.entry import sha256
from sync.log.facts import FinalText

WENT_ON = frozenset({"UserPromptSubmit", "Stop", "SessionEnd"})
"""Events that a held call cannot be followed by: it was settled at the agent."""

SETTLED = "settled at the agent"


class GateDesk:
    """Implements `node.desk.protocols.Gate`."""

    def __init__(self, context: Context, rules_store: RulesStore) -> None:
        self.context = context
        self._rules = rules_store
        self._waiting: Counter[str] = Counter()
        self._locks: dict[tuple[str, bytes], asyncio.Lock] = {}
        self._users: Counter[tuple[str, bytes]] = Counter()

    async def judge(self, who: Asker, call: Call) -> Ruled:
        """What all rules over the call say."""
        return (await judge(self.context, await self._rules.in_force(), who, call)).ruled

    async def hold(self, hold: GateHold) -> GateVerdict:
        """Pick up a verdict by session and digest, or raise an ask and hold."""
        # From finding the ask to being counted as its waiter no other hook may come
        # between, or two could wait for one verdict.
        async with self._alone(hold.who.session, hold.call.digest):
            found = await self._find(hold)
            if isinstance(found, GateVerdict):
                return found
            if found is None:
                hidden = hold.match.hide if hold.match else ()
                found = await self._raise(hold, await content_of(self.context, hold.call, hidden))
            self._waiting[found] += 1
        try:
            ask = await self._until_closed(found, hold.hold_s)
            return await self._pick_up(ask, hold)
        finally:
            self._waiting[found] -= 1
            if not self._waiting[found]:
                del self._waiting[found]

    @asynccontextmanager
    async def _alone(self, session: str, digest: bytes) -> AsyncIterator[None]:
        """One hook at a time for one call of one session; forgotten when nobody waits."""
        key = (session, digest)
        lock = self._locks.setdefault(key, asyncio.Lock())
        self._users[key] += 1
        try:
            async with lock:
                yield
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._locks[key], self._users[key]

    async def handed_before(self, who: Asker, call: Call) -> bool:
        """Whether this call was handed over at `pre` and not yet asked at `permission`."""

        def job(transaction: Transaction) -> bool:
            row = transaction.row(
                "SELECT gate_call.ask FROM gate_call JOIN ask ON ask.id = gate_call.ask"
                " WHERE gate_call.session = ? AND digest = ? AND stage = 'pre' AND NOT reused"
                " AND ask.state = 'handed' AND outcome = 'allowed' AND lease_until > ?"
                " AND home = ? ORDER BY ask.number LIMIT 1",
                who.session,
                call.digest,
                transaction.now,
                transaction.identity.name,
            )
            if row is None or transaction.silenced is not None:
                return False
            transaction.run("UPDATE gate_call SET reused = 1 WHERE ask = ?", row[0])
            return True

        return await self.context.writer.run("gate_reuse", job)

    async def tool_use(self, who: Asker, call: Call, tool_use_id: str) -> None:
        """Remember the id the host gave this call (a later `permission` has none)."""

        def job(transaction: Transaction) -> None:
            transaction.run(
                "INSERT OR REPLACE INTO tool_use VALUES (?, ?, ?, ?, NULL)",
                who.session,
                tool_use_id,
                call.digest,
                transaction.now,
            )
            hear(transaction, who, gate=True)

        await self.context.writer.run("tool_use", job)

    async def tool_done(self, who: Asker, tool_use_id: str, *, ok: bool, text: str) -> None:
        """The host ran the call: resolves the hand-over; closes an ask settled there."""

        def job(transaction: Transaction) -> None:
            hear(transaction, who, gate=True)
            row = self._of_tool_use(transaction, who.session, tool_use_id)
            if row is None:
                return
            if row.state == AskState.HANDED.value and row.outcome == Outcome.ALLOWED.value:
                resolve(transaction, row, ok=ok, outcome=text[: limits.ANSWER_CHARACTERS])
            elif row.state == AskState.WAITING.value:
                # The host leaves a hook running when someone answers its own dialogue; that
                # the call ran shows it was settled there, whoever still waits.
                self._settle(transaction, row)

        await self.context.writer.run("resolve", job)

    async def session_event(self, who: Asker, event: str) -> None:
        """A hook of the session ran: gate in force; closes what was settled at the agent."""
        held = frozenset(self._waiting)

        def job(transaction: Transaction) -> None:
            waiting = _now(transaction, held)
            hear(transaction, who, gate=True, ended=event == "SessionEnd")
            if event not in WENT_ON:
                return
            for row in select(
                transaction.connection,
                "session = ? AND state = 'waiting' AND enforced AND home = ? AND EXISTS"
                " (SELECT 1 FROM gate_call WHERE gate_call.ask = ask.id AND NOT printed)",
                (who.session, transaction.identity.name),
            ):
                if row.id not in waiting:
                    self._settle(transaction, row)

        await self.context.writer.run("session_event", job)

    def _settle(self, transaction: Transaction, row: AskRow) -> None:
        row = expire_if_due(transaction, row)
        if row.state == AskState.WAITING.value and transaction.silenced is None:
            close(transaction, row, Outcome.WITHDRAWN, text=FinalText(reason=SETTLED))

    async def _find(self, hold: GateHold) -> GateVerdict | str | None:
        """Return a verdict, or the open ask that this call is, or None: it must be raised."""
        return await self._rules.decide(lambda rules: self._found(hold, rules))

    async def _found(self, hold: GateHold, rules: Rules) -> GateVerdict | str | None:
        held = frozenset(self._waiting)
        judged = await judge(self.context, rules, hold.who, hold.call)

        def job(transaction: Transaction) -> GateVerdict | str | None:
            waiting = _now(transaction, held)
            hear(transaction, hold.who, gate=True)
            repeated = self._same_invocation(transaction, hold)
            if repeated is not None:
                return repeated
            for row in self._candidates(transaction, hold):
                if row.id in waiting:
                    continue
                row = expire_if_due(transaction, row)  # noqa: PLW2901 -- as it now stands
                if row.state == AskState.WAITING.value or transaction.silenced is not None:
                    self._follow(transaction, hold, row.id)
                    return row.id
                if usable(row, transaction.now):
                    self._follow(transaction, hold, row.id)
                    return self._hand(transaction, row, hold, judged)
            return None

        return await self.context.writer.run("gate_find", job)

    def _candidates(self, transaction: Transaction, hold: GateHold) -> list[AskRow]:
        """Open or unspent asks of this session for this very call, oldest first."""
        return select(
            transaction.connection,
            "session = ? AND home = ? AND state IN ('waiting', 'closed') AND id IN"
            " (SELECT ask FROM gate_call WHERE session = ? AND digest = ?) ORDER BY number",
            (
                hold.who.session,
                transaction.identity.name,
                hold.who.session,
                hold.call.digest,
            ),
        )

    def _same_invocation(self, transaction: Transaction, hold: GateHold) -> GateVerdict | None:
        """Repeat a hand-over to the very hook process it was committed for."""
        row = transaction.row(
            "SELECT ask FROM gate_call WHERE session = ? AND digest = ? AND invocation = ?",
            hold.who.session,
            hold.call.digest,
            sha256(hold.invocation.encode()),
        )
        ask = None if row is None else by_id(transaction.connection, row[0])
        if ask is None:
            return None
        fresh = (
            ask.state == AskState.HANDED.value
            and (ask.use_by is None or transaction.now < ask.use_by)
            and transaction.now < (ask.lease_until or 0)
        )
        if not fresh:
            return GateVerdict(
                allow=False,
                sentence=f"{self.context.short(ask.id)} was handed over before; what came of it"
                " is unknown. Make the call again to ask anew.",
                ask=self.context.short(ask.id),
            )
        return verdict_of(self.context, transaction, ask)

    async def _raise(self, hold: GateHold, content: CallContent) -> str:
        def job(transaction: Transaction) -> str:
            return self._record(transaction, hold, content)

        return await self.context.writer.run("gate", job)

    def _record(self, transaction: Transaction, hold: GateHold, content: CallContent) -> str:
        match, version = hold.match, hold.version
        ask = NewAsk(
            kind=Kind.APPROVAL,
            title=title_of(content),
            detail=(match.reason if match else None) or "",
            call=content,
            enforced=True,
        )
        ask = under(ask, Ruled(match=match, version=version))
        check(ask)
        row = record(transaction, hold.who, ask, self.context.limits)
        tool_use_id = hold.tool_use_id or self._pair(transaction, hold, row.id)
        transaction.run(
            "INSERT INTO gate_call (ask, session, digest, stage, tool_use_id)"
            " VALUES (?, ?, ?, ?, ?)",
            row.id,
            hold.who.session,
            hold.call.digest,
            hold.stage,
            tool_use_id,
        )
        return row.id

    def _follow(self, transaction: Transaction, hold: GateHold, ask: str) -> None:
        """The call came back: it is this one that runs now, under the host's new id."""
        transaction.run(
            "UPDATE gate_call SET stage = ?, tool_use_id = coalesce(?, tool_use_id) WHERE ask = ?",
            hold.stage,
            hold.tool_use_id or self._pair(transaction, hold, ask),
            ask,
        )

    def _pair(self, transaction: Transaction, hold: GateHold, ask: str) -> str | None:
        """Pair a `permission` with the latest `pre` of the same call that has no ask."""
        row = transaction.row(
            "SELECT tool_use_id FROM tool_use WHERE session = ? AND digest = ?"
            " AND ask IS NULL ORDER BY at DESC LIMIT 1",
            hold.who.session,
            hold.call.digest,
        )
        if row is None:
            return None
        transaction.run(
            "UPDATE tool_use SET ask = ? WHERE session = ? AND tool_use_id = ?",
            ask,
            hold.who.session,
            row[0],
        )
        return str(row[0])

    def _of_tool_use(
        self, transaction: Transaction, session: str, tool_use_id: str
    ) -> AskRow | None:
        row = transaction.row(
            "SELECT gate_call.ask FROM gate_call JOIN ask ON ask.id = gate_call.ask"
            " WHERE gate_call.session = ? AND tool_use_id = ? ORDER BY ask.number DESC LIMIT 1",
            session,
            tool_use_id,
        )
        return None if row is None else by_id(transaction.connection, row[0])

    def _followed(self, connection: sqlite3.Connection, ask: str) -> tuple[AskRow | None, bool]:
        """The ask as it stands, and whether nothing may be handed over now."""
        return followed(connection, ask), far.silenced(self.context, connection) is not None

    async def _until_closed(self, ask: str, hold_s: float) -> str:
        """Wait for the final; return the ask's id, another one once it was raised again."""
        loop = asyncio.get_running_loop()
        until = loop.time() + hold_s
        while True:
            with self.context.signals.of(ask) as changed:
                row, silenced = await self.context.reader.run(partial(self._followed, ask=ask))
                if row is not None and row.id != ask:
                    ask = row.id
                    continue
                left = until - loop.time()
                if row is None or left <= 0:
                    return ask
                if row.state != AskState.WAITING.value and not silenced:
                    return ask
                try:
                    await asyncio.wait_for(changed.wait(), left)
                except TimeoutError:
                    return ask

    async def _pick_up(self, ask: str, hold: GateHold) -> GateVerdict:
        return await self._rules.decide(lambda rules: self._picked_up(ask, hold, rules))

    async def _picked_up(self, ask: str, hold: GateHold, rules: Rules) -> GateVerdict:
        judged = await judge(self.context, rules, hold.who, hold.call)

        def job(transaction: Transaction) -> GateVerdict:
            row = expire_if_due(transaction, reload(transaction, ask))
            if row.state == AskState.WAITING.value or transaction.silenced is not None:
                transaction.run("UPDATE gate_call SET printed = 1 WHERE ask = ?", ask)
                return not_decided(self.context, transaction, row)
            return self._hand(transaction, row, hold, judged)

        return await self.context.writer.run("gate_hand_over", job)

    def _hand(
        self, transaction: Transaction, row: AskRow, hold: GateHold, judged: Judged
    ) -> GateVerdict:
        """Hand the final to this hook: committed before anything is printed."""
        if row.state == AskState.VOID.value:
            return verdict_of(self.context, transaction, row)
        if row.outcome == Outcome.ALLOWED.value:
            check_still(transaction, judged, hold.who)
            if judged.ruled.refuses:
                return verdict_of(self.context, transaction, void(transaction, row, Void.RULES))
        standing = rows.standing(transaction.connection, row)
        decided = give(standing, hold.who.session, now=transaction.now)
        if decided is Give.VOID_USE_BY:
            return verdict_of(self.context, transaction, void(transaction, row, Void.USE_BY))
        if decided is not Give.HAND:
            return GateVerdict(
                allow=False,
                sentence=f"{self.context.short(row.id)} was handed over before, and an approval"
                " is handed over once. Make the call again to ask anew.",
                ask=self.context.short(row.id),
            )
        held = accounts.allow_held(transaction.connection, row)
        if held is not None:
            return held_back(self.context, transaction, row, held)
        row = hand(transaction, row, hold.who.session)
        transaction.run(
            "UPDATE gate_call SET invocation = ? WHERE ask = ?",
            sha256(hold.invocation.encode()),
            row.id,
        )
        return verdict_of(self.context, transaction, row)


def _now(transaction: Transaction, asks: Iterable[str]) -> frozenset[str]:
    """Return the ids of asks as they are by now: some may have been raised again."""
    found = (followed(transaction.connection, ask) for ask in asks)
    return frozenset(row.id for row in found if row is not None)


def usable(row: AskRow, now: int) -> bool:
    """Whether a verdict may still be picked up by a later, identical call."""
    return row.use_by is not None and now < row.use_by
