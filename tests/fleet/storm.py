"""Agents, gates and persons who go on whatever happens to their machines, and remember it.

The fault is made by someone else (`killing`, or a test that fills a disk): the storm only
tries again, as bridge, hook and page do.
"""

import contextlib
import random
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from node.bridge.client import Refused
from tests.fleet.crashing import GONE
from tests.fleet.fleets import Machine
from tests.fleet.told import Op, Told
from tests.node.gate.hosts import ROOT, decided, hook_command
from tests.node.gate.sessions import Run
from tests.running import until

LIFTED = {
    "open_asks_per_session": 10_000,
    "asks_per_second_session": 1_000,
    "asks_per_second_node": 5_000,
}
RULES = '[[rule]]\nname = "pushes"\ntool = "Bash"\naction = "ask"\n'
BACK_S = 60.0
"""How long an agent tries to reach a node that is being killed again and again."""
HOLD_S = 6.0
PLAIN_HOOK = (
    "import sys; sys.path.insert(0, {root!r}); from node.bridge import hook;"
    " hook.GATE_S = hook.PRINT_S + {hold}; hook.start_node = lambda *_, **__: None;"
    " raise SystemExit(hook.main())"
)
"""The hook, but it starts no node: whoever kills starts it again, with its clock and ports."""


class Storm:
    """Everyone, on some machines of one fleet."""

    def __init__(self, machines: Sequence[Machine], seed: int) -> None:
        self.machines = machines
        self.seed = seed
        self.told = Told()
        self.over = threading.Event()
        """Nobody begins anything new."""
        self.quiet = threading.Event()
        """Persons stop, too."""
        self.busy: list[threading.Thread] = []
        self.persons: list[threading.Thread] = []

    # --- threads ----------------------------------------------------------------------------

    def begin(self, *, agents: int = 2, gates: int = 1) -> None:
        """Let everyone begin; the first machine's rules must be in force."""
        for machine in self.machines:
            for number in range(agents):
                self.busy.append(self._thread(self.agent, machine, number))
            for number in range(gates):
                self.busy.append(self._thread(self.gate, machine, number))
            self.persons.append(self._thread(self.person, machine, 0))

    def end(self, seconds: float = 90.0) -> None:
        """Let agents come to an end, with persons still there; then those."""
        self.over.set()
        for thread in self.busy:
            thread.join(seconds)
        self.quiet.set()
        for thread in self.persons:
            thread.join(seconds)
        stuck = [one.name for one in (*self.busy, *self.persons) if one.is_alive()]
        if stuck:
            self.told.faults.append(f"still busy after {seconds} s: {stuck}")

    def _thread(
        self, run: Callable[[Machine, int, random.Random], None], machine: Machine, number: int
    ) -> threading.Thread:
        name = f"{run.__name__} {machine.name} {number}"
        chance = random.Random(f"{self.seed} {name}")

        def kept() -> None:
            try:
                run(machine, number, chance)
            except BaseException as error:  # noqa: BLE001 -- raised by the test
                self.told.faults.append(error)

        thread = threading.Thread(target=kept, name=name, daemon=True)
        thread.start()
        return thread

    # --- agents -----------------------------------------------------------------------------

    def agent(self, machine: Machine, number: int, chance: random.Random) -> None:
        """One session: asks, waits, tells what came of it, and asks again."""
        count = 0
        while not self.over.is_set():
            count += 1
            title = f"{machine.name} {number} {count}"
            session = f"s-{machine.name}-{number}"
            fields: dict[str, Any] = {"kind": "question", "title": title}
            if chance.random() < 0.5:
                fields = {"kind": "approval", "title": title, "call": {"tool": title}}
            op = self.told.invoke("ask", machine.name, title=title, kind=fields["kind"])
            flagged = self._call(machine, "flag", fields, session, f"flag {title}")
            op.ok(ask=flagged["full_id"])
            self._follow(machine, session, flagged["full_id"], title, chance)
            self.over.wait(chance.uniform(0, 0.05))

    def _follow(
        self, machine: Machine, session: str, ask: str, title: str, chance: random.Random
    ) -> None:
        """Wait for the answer, or withdraw; tell what came of it."""
        if chance.random() < 0.07:
            op = self.told.invoke("withdraw", machine.name, ask=ask)
            gone = {"ask_id": ask, "reason": "not needed"}
            state = self._call(machine, "withdraw", gone, session, f"gone {title}")["state"]
            op.ok(state=state)
            if state == "withdrawn":
                return
        for turn in range(40):
            waiting = {"ask_id": ask, "wait_s": 2.0}
            op = self.told.invoke("hand-over", machine.name, ask=ask)
            told = self._call(machine, "await", waiting, session, f"await {title} {turn}")
            op.ok(state=told["state"], token=told["token"])
            if told["state"] != "waiting":
                break
        else:
            self.told.faults.append(f"nobody ever answered {title}")
            return
        if told["token"] is not None:
            op = self.told.invoke("resolve", machine.name, ask=ask, outcome=title)
            done = {"ask_id": ask, "token": told["token"], "outcome": title, "ok": True}
            self._call(machine, "resolve", done, session, f"done {title}")
            op.ok()

    def _call(
        self, machine: Machine, route: str, arguments: dict[str, Any], session: str, request: str
    ) -> dict[str, Any]:
        """One call under one request id, however often it has to be sent."""

        def tried() -> dict[str, Any] | None:
            try:
                return machine.node.agent(
                    route, arguments, session=session, request=request, timeout=20.0
                )
            except GONE:
                return None
            except Refused as refused:
                # Nothing was recorded, and the agent is told so (a full disk): later, then.
                if refused.status < 500:
                    raise
                return None

        told: dict[str, Any] = until(tried, f"{route} of {request} is taken", BACK_S)
        return told

    # --- gates ------------------------------------------------------------------------------

    def gate(self, machine: Machine, number: int, chance: random.Random) -> None:
        """One host after the other: each makes one call, again when it was not decided yet."""
        count = 0
        while not self.over.is_set():
            count += 1
            session = f"g-{machine.name}-{number}-{count}"
            op = self.told.invoke("gate", machine.name, session=session)
            words = []
            for turn in range(2):
                words.append(self._hook(machine, session, "PreToolUse", turn))
                if words[-1] == "allow":
                    break
            op.ok(words=words)
            if words[-1] == "allow":
                self._hook(machine, session, "PostToolUse", len(words) - 1)
            self.over.wait(chance.uniform(0, 0.3))

    def _hook(self, machine: Machine, session: str, stage: str, turn: int) -> str:
        """Run one hook process; what it printed."""
        event = {
            "session_id": session,
            "cwd": "/",
            "hook_event_name": stage,
            "transcript_path": "/nowhere",
            "permission_mode": "default",
            "tool_name": "Bash",
            "tool_input": {"command": f"push {session}"},
            "tool_use_id": f"{session}-{turn}",
            "tool_response": {},
        }
        code = PLAIN_HOOK.format(root=str(ROOT), hold=HOLD_S)
        command = [sys.executable, "-I", "-S", "-c", code, *hook_command(stage, machine.home)[4:]]
        run = Run(stage, command, event)
        printed = run.printed()
        return decided(stage, printed) if printed else ""

    # --- persons ----------------------------------------------------------------------------

    def person(self, machine: Machine, number: int, chance: random.Random) -> None:
        """Answers whatever is open, sometimes takes it back; looks at everything."""
        while not self.quiet.is_set():
            with contextlib.suppress(*GONE):
                asks = machine.person.state()["asks"]
                for ask in asks:
                    self.told.saw(machine.name, ask)
                open_ = [ask for ask in asks if ask["card"]["open"]]
                for ask in chance.sample(open_, min(3, len(open_))):
                    self._vote(machine, ask, chance)
            self.quiet.wait(chance.uniform(0.02, 0.2))

    def _vote(self, machine: Machine, ask: dict[str, Any], chance: random.Random) -> None:
        decision, words = "answer", {"text": f"from {machine.name}"}
        if ask["kind"] == "approval":
            here = ask["call"] is None or ask["call"]["here"]
            decision, words = chance.choice(["allow", "allow", "deny"]) if here else "deny", {}
        elif chance.random() < 0.2:
            decision, words = "decline", {}
        op = self.told.invoke("vote", machine.name, ask=ask["id"], decision=decision)
        status, value = machine.person.vote(ask["id"], decision, seen=ask["seen"], **words)
        self._heard(op, machine, status, value)
        if status == 202 and chance.random() < 0.15:
            op = self.told.invoke("take back", machine.name, ask=ask["id"])
            status, value = machine.person.send("DELETE", f"/api/asks/{ask['id']}/votes/mine")
            self._heard(op, machine, status, value)

    def _heard(self, op: Op, machine: Machine, status: int, value: dict[str, Any]) -> None:
        if status == 202:
            op.ok(vote=value.get("vote"), state=value.get("state"))
            self.told.saw(machine.name, value["ask"])
        elif status == 409 or status >= 500:
            op.fail(status=status, error=value["error"]["message"])
        else:
            self.told.faults.append(f"{op.what} on {machine.name}: {status} {value}")


def ready(machines: Sequence[Machine]) -> None:
    """Put the storm's rules into force, everywhere."""
    first = machines[0]
    first.node.rules(first.person, RULES)

    def there(machine: Machine) -> bool:
        found = machine.person.ok("GET", "/api/rules")["rules"]
        return found is not None and found["source"] == RULES

    for machine in machines:
        until(lambda machine=machine: there(machine), "the rules have come")  # type: ignore[misc]
