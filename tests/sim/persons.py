"""Persons on their machines' pages: they look, answer what they saw, and change their minds."""

import asyncio
import random

from node.process import Node
from node.store.transaction import Transaction
from sync.errors import CallerError, StoreError
from sync.log.facts import VoteFacts
from sync.log.kinds import EntryType
from tests.node.desk.machines import viewer
from tests.sim.history import Reached, Voted
from tests.sim.machine import Gone, Machine
from tests.sim.world import World
from web.desk import AskClosed, Ballot
from web.views import AskView, State, VoteReceipt

STEPS = {"waiting": 0, "closed": 1, "handed": 2, "void": 3, "resolved": 4}
LAST_MOMENT_S = 60.0
UNCLEAR = 0.25
"""How often a no is only: not understood."""
ANSWERS = {"approval": ("allow", "allow", "deny"), "question": ("answer", "answer", "decline")}


class Person:
    """One person at one machine."""

    def __init__(self, world: World, machine: Machine, name: str) -> None:
        self.world = world
        self.machine = machine
        self.name = name
        self.person = world.template.people[name]
        self.viewer = viewer(self.person)
        self.chance = random.Random(world.chance.getrandbits(64))

    def trace(self, *words: object) -> None:
        self.world.trace(f"{self.name}@{self.machine.name}", *words)

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.sleep(self.chance.uniform(1, self.world.patience))
            try:
                await self._once()
            except (Gone, StoreError):
                pass
            except AskClosed as error:
                self.trace("closed", error.sentence[:50])
                self.world.sometimes("answered after another")
            except CallerError as error:
                self.trace("refused", error.sentence[:60])

    async def _once(self) -> None:
        state = await self.machine.call(lambda node: node.person_desk.state(self.viewer))
        for ask in state.asks:
            look(self.world, self.machine, self.name, ask)
        self._mark(state)
        back = [ask for ask in state.asks if "take_back" in ask.card.actions]
        if back and self.chance.random() < 0.25:
            await self._take_back(self.chance.choice(back))
            return
        open_ = [ask for ask in state.asks if set(ask.card.actions) & {"allow", "deny", "answer"}]
        if open_:
            await self._vote(self.chance.choice(open_), state.now)

    def _mark(self, state: State) -> None:
        notes = [ask for ask in state.asks if ask.kind == "note" and not ask.read]
        if notes and self.name != "cyd" and self.chance.random() < 0.5:
            note = self.chance.choice(notes)
            future, _ = self.machine.begin(
                lambda node: node.person_desk.mark_read(self.viewer, note.id, read=True)
            )
            future.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _vote(self, ask: AskView, now: int) -> None:
        decision = self.chance.choice(ANSWERS[ask.kind])
        if decision not in ask.card.actions:
            return
        unclear = decision in ("deny", "decline") and self.chance.random() < UNCLEAR
        ballot = Ballot(
            decision=decision,  # type: ignore[arg-type]
            seen=ask.seen,
            unclear=unclear,
            because="Which one?" if unclear else None,
            text="so be it" if decision == "answer" else None,
            wait_s=self.chance.choice((0.0, 2.0, 20.0)),
        )
        await asyncio.sleep(self._hesitates(ask, now))
        receipt = await self.machine.call(
            lambda node: node.person_desk.vote(self.viewer, ask.id, ballot)
        )
        self._noted(receipt, decision)

    def _hesitates(self, ask: AskView, now: int) -> float:
        """Seconds from reading to answering; some answer at the very last moment."""
        left = 0.0 if ask.deadline is None else (ask.deadline - now) / 1000
        if 0 < left < LAST_MOMENT_S and self.chance.random() < 0.3:
            self.world.sometimes("answered at the last moment")
            return max(0.0, left + self.chance.uniform(-0.1, 0.05))
        return self.chance.uniform(0, self.world.patience / 4)

    async def _take_back(self, ask: AskView) -> None:
        receipt = await self.machine.call(
            lambda node: node.person_desk.take_back(self.viewer, ask.id)
        )
        self._noted(receipt, "take_back")

    def _noted(self, receipt: VoteReceipt, decision: str) -> None:
        self.trace(decision, receipt.ask.short, receipt.state)
        if decision == "take_back":
            self.world.sometimes("taken back")
        self.world.history.voted.append(
            Voted(
                ask=receipt.ask.id,
                vote=receipt.vote,
                person=self.name,
                on=self.machine.name,
                at=self.world.loop.time(),
            )
        )
        look(self.world, self.machine, self.name, receipt.ask)


def look(world: World, machine: Machine, name: str, ask: AskView) -> None:
    """Hold what a viewer sees against what they saw before: nothing goes back."""
    if ask.kind == "note" or world.is_over(ask.machine.id):
        return
    key = (name, machine.name, ask.id)
    before = world.history.seen.get(key)
    step = (
        4
        if ask.resolved
        else {"handed": 2, "void": 3}.get(
            ask.handover.status if ask.handover else "", 1 if ask.final else 0
        )
    )
    outcome = ask.final.outcome if ask.final else None
    now = Reached(step=step, outcome=outcome, machine_starts=machine.starts)
    if before is not None and not world.split(machine):
        if step < before.step:
            world.history.wrong(f"{name} at {machine.name} saw {ask.short} go back to {step}")
        if before.outcome is not None and outcome != before.outcome:
            world.history.wrong(
                f"{name} at {machine.name} saw {ask.short} {before.outcome}, then {outcome}"
            )
    world.history.seen[key] = now


class Stranger:
    """A machine whose program was changed: it signs votes without asking who may give them.

    Those of persons it does not speak for, or of its own ones: who may only look on, whose
    account is on hold, whose own agent asks, or who has voted already.
    """

    def __init__(self, world: World, machine: Machine, name: str) -> None:
        self.world = world
        self.machine = machine
        self.name = name

    async def vote(self, what: str, *, least: int = 1) -> None:
        """Sign one such vote on some open ask that needs so many, if there is any."""
        person = self.world.template.people[self.name]

        async def sign(node: Node) -> str | None:
            def job(transaction: Transaction) -> str | None:
                row = transaction.row(
                    "SELECT id, entry_hash, kind FROM ask WHERE state = 'waiting' AND needed >= ?"
                    " ORDER BY home = ?, created DESC LIMIT 1",
                    least,
                    transaction.identity.name,
                )
                if row is None:
                    return None
                decision = "allow" if row[2] == "approval" else "decline"
                facts = VoteFacts(
                    ask=row[0], person=person, decision=decision, seen=row[1], at=transaction.now
                )
                transaction.append(EntryType.VOTE, facts)
                transaction.change("ask", row[0])
                return str(row[0])

            return await node.writer.run("stranger", job)

        if await self.machine.call(sign) is not None:
            self.world.sometimes(what)
