"""Agents and gates: programs beside a node, which retry when it dies and believe only replies."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from node.desk.requests import Answer, Asker, Flag, Flagged
from node.gate.claude import handle
from node.process import Node
from sync.errors import CallerError, StoreError
from tests.sim import release
from tests.sim.history import Asked, Given
from tests.sim.machine import Gone, Machine
from tests.sim.world import World

Result = TypeVar("Result")
PROJECT = "shop"
TRIES = 12
RETRY_MS = 80_000_000
"""Replies are kept for a day of the machine's clock: nobody retries a call of the day before."""


class Client:
    """A program that talks to one node over its socket."""

    def __init__(self, world: World, machine: Machine, session: str) -> None:
        self.world = world
        self.machine = machine
        self.session = session
        self.chance = random.Random(world.chance.getrandbits(64))
        self.who = Asker(agent="claude", session=session, project=PROJECT, cwd="/")
        self._requests = 0

    def trace(self, *words: object) -> None:
        self.world.trace(f"{self.machine.name}/{self.session}", *words)

    def request(self) -> str:
        """Mint a request id."""
        self._requests += 1
        return f"{self.session}-{self._requests}"

    async def pause(self, least: float, most: float) -> None:
        """Do something else meanwhile."""
        await asyncio.sleep(self.chance.uniform(least, most))

    async def insist(
        self,
        make: Callable[[Node], Awaitable[Result]],
        same: Callable[[Result], object] | None = None,
    ) -> Result:
        """Send one request until its reply is here; the same id each time. Raises `Gone`.

        `same`: what a reply that was lost and the one to the retry must agree in.
        """
        lost: list[object] = []
        began: int | None = None
        for _ in range(TRIES):
            node = self.machine.node
            if node is not None and self.machine.up:
                now = node.context.clock.now()
                began = now if began is None else began
                if now - began > RETRY_MS:
                    break
            try:
                result = await self.machine.call(make)
            except (Gone, StoreError):
                await self.pause(0.5, 8)
                continue
            forgot = self.world.split(self.machine)  # its replies are of an older copy
            if lost and same is not None and same(result) != lost[0] and not forgot:
                self.world.history.wrong(f"a retry replied {same(result)}, before {lost[0]}")
            if not lost and self.chance.random() < self.world.lost_replies:
                self.world.sometimes("reply lost")
                lost.append(same(result) if same else None)
                await self.pause(0.1, 4)
                continue
            return result
        raise Gone


class Agent(Client):
    """Asks, waits, takes, resolves."""

    async def run(self, asks: int) -> None:
        """Raise some asks, one after the other."""
        for number in range(asks):
            await self.pause(0.5, 15)
            try:
                await self._once(number)
            except Gone:
                self.trace("gave up")
            except CallerError as error:
                self.trace("refused", error.sentence[:60])

    async def _once(self, number: int) -> None:
        kind = self.chance.choice(("question", "question", "approval", "approval", "note"))
        flag = self._flag(kind, f"{self.session} {number}")
        request = self.request()

        def make(node: Node) -> Awaitable[Flagged]:
            return node.agents.flag(self.who, flag, request=request)

        made = await self.insist(make, lambda one: one.full_id)
        self.trace("raised", kind, made.id)
        if self.machine.id in made.full_id:
            self.world.history.asked[made.full_id] = Asked(
                ask=made.full_id,
                kind=kind,
                home=self.machine.name,
                session=self.session,
                request=request,
            )
        if kind != "note":
            await self._follow(kind, made.full_id)

    def _flag(self, kind: str, title: str) -> Flag:
        call = {"tool": "deploy", "arguments": {"to": title}} if kind == "approval" else None
        deadline = None
        if self.chance.random() < 0.4:
            deadline = self.chance.uniform(5, 90)
        return Flag(kind=kind, title=title, call=call, deadline_s=deadline)  # type: ignore[arg-type]

    async def _follow(self, kind: str, ask: str) -> None:
        for _ in range(self.chance.randint(1, 4)):
            if self.chance.random() < 0.12:
                await self._withdraw(ask)
                return
            answer = await self._wait(ask)
            if answer.state != "waiting":
                await self._taken(kind, ask, answer)
                return
            await self.pause(0.1, 20)

    async def _wait(self, ask: str) -> Answer:
        request, wait_s = self.request(), self.chance.uniform(0, 40)

        def make(node: Node) -> Awaitable[Answer]:
            return node.agents.await_answer(
                self.who, ask, wait_s=wait_s, request=request, progress=None
            )

        answer = await self.insist(make)
        self.trace("got", answer.id, answer.state, answer.token)
        self._given(ask, answer, request)
        return answer

    def _given(self, ask: str, answer: Answer, request: str) -> None:
        self.world.history.given.append(
            Given(
                ask=answer.full_id,
                to=self.session,
                state=answer.state,
                token=answer.token,
                at=self.world.loop.time(),
            )
        )
        if answer.state == "allowed":
            release.check(self.world, self.machine, answer.full_id, request)
        del ask

    async def _taken(self, kind: str, ask: str, answer: Answer) -> None:
        if answer.token is None or answer.state == "void":
            return
        await self.pause(0, 10)
        drawn = self.chance.random()
        if kind == "question" and drawn < 0.3:
            other = Agent(self.world, self.machine, f"{self.session}b")
            await other.take_over(ask)
        elif drawn < 0.75:
            await self._resolve(ask, answer.token)
        else:
            self.world.sometimes("session fell silent")

    async def take_over(self, ask: str) -> None:
        """Take a question from another session."""
        request = self.request()

        def make(node: Node) -> Awaitable[Answer]:
            return node.agents.claim(self.who, ask, take_over=True, request=request)

        answer = await self.insist(make, lambda one: one.token)
        self._given(ask, answer, request)
        self.world.sometimes("taken over")
        if answer.token is not None and self.chance.random() < 0.5:
            await self._resolve(ask, answer.token)

    async def _resolve(self, ask: str, token: int) -> None:
        request, ok = self.request(), self.chance.random() < 0.8

        def make(node: Node) -> Awaitable[Answer]:
            return node.agents.resolve(
                self.who, ask, token=token, outcome="done", ok=ok, request=request
            )

        await self.insist(make)
        self.world.sometimes("resolved")

    async def _withdraw(self, ask: str) -> None:
        request = self.request()

        def make(node: Node) -> Awaitable[Answer]:
            return node.agents.withdraw(self.who, ask, reason="no need", request=request)

        await self.insist(make, lambda one: one.state)
        self.world.sometimes("withdrawn")


TOOLS = ("Bash", "Bash", "Deploy", "Deploy", "Deploy", "Ship", "Audit")
"""Tools that are called: of all but the first a rule says who must allow it (`template.RULES`)."""


class Gate(Client):
    """A host's hooks around the calls of one session."""

    async def run(self, calls: int) -> None:
        """Make some calls, one after the other."""
        for number in range(calls):
            await self.pause(0.5, 20)
            command, use = f"make {self.session} {number}", f"tool-{self.session}-{number}"
            tool = self.chance.choice(TOOLS)
            shown = {"tool_name": tool, "tool_input": {"command": command}}
            try:
                await (self._asked if tool == "Bash" else self._ruled)(shown, use)
            except Gone:
                self.trace("no gate: the call does not run")

    async def _hook(
        self, stage: str, invocation: str, more: dict[str, Any]
    ) -> dict[str, Any] | None:
        event = {"hook_event_name": stage, "cwd": "/", **more}
        hold_s = self.chance.uniform(1, 60)

        def make(node: Node) -> Awaitable[dict[str, Any]]:
            return handle(node.gate, self.who, invocation, stage, event, hold_s=hold_s)

        reply = await self.insist(make)
        return reply["stdout"]  # type: ignore[no-any-return]

    async def _asked(self, shown: dict[str, Any], use: str) -> None:
        """No rule speaks of it: the host would ask, and a person is asked instead."""
        await self._hook("PreToolUse", f"{use}-pre", {**shown, "tool_use_id": use})
        for again in range(3):
            invocation = f"{use}-{again}"
            if await self._held("PermissionRequest", invocation, shown):
                await self._ran(use, invocation)
                return
            await self.pause(1, 25)

    async def _ruled(self, shown: dict[str, Any], use: str) -> None:
        """A rule has it asked about, whatever the host thinks."""
        for again in range(4):
            invocation = f"{use}-{again}"
            if await self._held("PreToolUse", invocation, {**shown, "tool_use_id": invocation}):
                await self._ran(invocation, invocation)
                return
            await self.pause(1, 25)

    async def _held(self, stage: str, invocation: str, shown: dict[str, Any]) -> bool:
        """Whether the gate let the call go."""
        if self.chance.random() < 0.1:
            await self._vanish(stage, invocation, shown)
            return False
        said = await self._hook(stage, invocation, shown)
        allowed = "'allow'" in str(said)
        self.trace("gate", invocation, allowed, str(said)[-60:])
        if allowed:
            release.check_gate(self.world, self.machine, self.session, shown, invocation)
        return allowed

    async def _vanish(self, stage: str, invocation: str, shown: dict[str, Any]) -> None:
        """The host ends the hook's process while it waits."""
        event = {"hook_event_name": stage, "cwd": "/", **shown}
        future, task = self.machine.begin(
            lambda node: handle(node.gate, self.who, invocation, stage, event)
        )
        done, _ = await asyncio.wait([future], timeout=self.chance.uniform(0, 20))
        if not done and task is not None:
            future.cancel()
            self.world.loop.call_soon(task.cancel)
            self.world.sometimes("gate vanished")
        elif not future.cancelled() and future.exception() is None:
            # Its print was read by nobody, or by the host: that it said allow counts.
            said = future.result()["stdout"]
            if "'allow'" in str(said):
                release.check_gate(self.world, self.machine, self.session, shown, invocation)

    async def _ran(self, use: str, invocation: str) -> None:
        await self.pause(0, 5)
        if self.chance.random() < 0.8:
            stage = self.chance.choice(("PostToolUse", "PostToolUseFailure"))
            await self._hook(stage, f"{invocation}-post", {"tool_use_id": use, "tool_name": "Bash"})
            self.world.sometimes("gated call resolved")
