"""The gate of one machine in this process, without a listener."""

import os
from pathlib import Path
from typing import Any, Final

import msgspec

from node.desk.gate import GateDesk
from node.desk.protocols import GateHold, GateVerdict
from node.desk.requests import Asker
from node.desk.rows import AskRow, select
from node.desk.rules_store import RulesStore
from node.desk.sessions import hear
from node.gate.call import Call, make_call
from tests.node.desk.fleets import Fleet
from tests.node.desk.machines import Machine, viewer

MAKE: Final = {"command": "make"}


class Gate:
    """The gate of one machine, in a folder of its own, as a hook drives it."""

    def __init__(self, fleet: Fleet, machine: Machine, folder: Path) -> None:
        self.fleet = fleet
        self.machine = machine
        self.folder = folder.resolve()
        self.desk = GateDesk(machine.context, RulesStore(machine.context))

    def call(self, arguments: object = MAKE, *, tool: str = "Bash") -> Call:
        return make_call(tool, arguments, str(self.folder))

    def who(self, agent: str = "claude", session: str = "s") -> Asker:
        return Asker(agent=agent, session=session, project="shop", cwd=str(self.folder))

    async def hold(self, call: Call, *, hold_s: float = 30.0) -> GateVerdict:
        ruled = await self.desk.judge(self.who(), call)
        hold = GateHold(
            who=self.who(),
            call=call,
            match=ruled.match,
            version=ruled.version,
            stage="permission",
            invocation=os.urandom(8).hex(),
            tool_use_id=None,
            hold_s=hold_s,
        )
        return await self.desk.hold(hold)

    async def raised(self, call: Call) -> AskRow:
        """Hold for no time: the ask stays open."""
        assert (await self.hold(call, hold_s=0.0)).printed_not_decided
        return (await self.rows())[-1]

    async def rows(self) -> list[AskRow]:
        return await self.machine.reader.run(lambda reading: select(reading, "1 ORDER BY number"))

    async def shown(self, ask: AskRow) -> dict[str, Any]:
        view = await self.machine.view(ask.id, self.fleet.ann)
        shown: dict[str, Any] = msgspec.to_builtins(view)
        return shown

    async def apply(self, source: str) -> None:
        store = RulesStore(self.machine.context)
        view = await store.view()
        replaces = view.version if view else None
        await store.apply(viewer(self.fleet.ann), name="r", source=source, replaces=replaces)

    async def heard(self, agent: str, session: str = "s") -> None:
        who = self.who(agent, session)
        await self.machine.writer.run("hear", lambda transaction: hear(transaction, who))
