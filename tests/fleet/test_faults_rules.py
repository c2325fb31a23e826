"""Rules that change at the very moment at which a verdict is picked up."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.clock import SystemTimes
from node.config import Settings, prepare
from node.desk.agents import AgentDesk
from node.desk.gate import GateDesk
from node.desk.protocols import GateHold
from node.desk.requests import Asker, Flag
from node.desk.rules_store import RulesStore
from node.desk.sessions import SessionBook
from node.founding import open_store
from node.gate.call import make_call
from node.gate.rules import Rules
from node.process import Node, Seams
from sync.errors import NotAllowed
from sync.log.kinds import EntryType
from tests.fleet.history import entries
from web.desk import Ballot, Viewer

ASK = '[[rule]]\nname = "pushes"\ntool = "Bash"\naction = "ask"\n'
DENY = ASK.replace('"ask"', '"deny"')


class Tightening(RulesStore):
    """Someone applies other rules right after these were read."""

    viewer: Viewer
    then: str | None = None

    async def in_force(self) -> Rules:
        found = await super().in_force()
        source, self.then = self.then, None
        if source is not None:
            await self.apply(self.viewer, name="rules", source=source, replaces=found.version)
        return found


@pytest.fixture
async def parts(node_home: Path) -> AsyncIterator[Node]:
    """A node that serves nobody."""
    times = SystemTimes()
    prepare(node_home, create=True)
    opened = open_store(node_home, create=True, machine="box", times=times, random=os.urandom)
    node = Node(node_home, Settings(), opened, Seams(times=times), "token")
    yield node
    await node.writer.close()
    node.reader.close()


def hold(seconds: float = 0) -> GateHold:
    who = Asker(agent="claude", session="s", project="p", cwd="/", pid=1, uid=os.getuid())
    return GateHold(
        who=who,
        call=make_call("Bash", {"command": "git push"}, "/"),
        match=None,
        stage="pre",
        invocation=os.urandom(8).hex(),
        tool_use_id="t",
        hold_s=seconds,
    )


async def test_rules_tightened_between_reading_and_handing_over_are_those_that_count(
    parts: Node,
) -> None:
    desk = parts.person_desk
    session = await desk.sign_in_first("token", name="Ann", passphrase=None, where="test")
    rules = Tightening(parts.context)
    rules.viewer = session.viewer
    await rules.apply(session.viewer, name="rules", source=ASK, replaces=None)
    gate = GateDesk(parts.context, rules)
    waiting = await gate.hold(hold())
    assert waiting.printed_not_decided
    assert waiting.ask is not None
    shown = (await desk.ask(session.viewer, waiting.ask)).ask
    await desk.vote(session.viewer, waiting.ask, Ballot(decision="allow", seen=shown.seen))
    rules.then = DENY
    verdict = await gate.hold(hold())
    assert (verdict.allow, verdict.ask) == (False, waiting.ask)
    assert "rules tightened" in verdict.sentence
    [what] = entries(parts.home, EntryType.HANDOVER, shown.id)
    assert (what.facts["status"], what.facts["reason"]) == ("void", "rules tightened")


async def test_rules_that_refuse_a_call_by_now_void_an_allow_given_on_the_agents_word(
    parts: Node,
) -> None:
    desk = parts.person_desk
    viewer = (await desk.sign_in_first("token", name="Ann", passphrase=None, where="test")).viewer
    rules = Tightening(parts.context)
    rules.viewer = viewer
    await rules.apply(viewer, name="rules", source=ASK, replaces=None)
    agents = AgentDesk(parts.context, SessionBook(), rules)
    who = hold().who
    call = {"tool": "Bash", "arguments": {"command": "git push"}}
    told = []
    for number, source in enumerate((None, DENY)):
        flag = Flag(kind="approval", title=f"Push {number}", call=call)
        asked = await agents.flag(who, flag, request=f"f{number}")
        seen = (await desk.ask(viewer, asked.id)).ask.seen
        await desk.vote(viewer, asked.id, Ballot(decision="allow", seen=seen))
        rules.then = source
        answer = await agents.await_answer(
            who, asked.id, wait_s=0, request=f"a{number}", progress=None
        )
        told.append((answer.state, answer.reason))
    assert told == [("allowed", None), ("void", "rules tightened")]
    with pytest.raises(NotAllowed, match="A rule refuses this call"):
        await agents.flag(who, Flag(kind="approval", title="Push 2", call=call), request="f2")
    # What was recorded before the rules were tightened is told again, not refused.
    again = await agents.flag(who, Flag(kind="approval", title="Push 1", call=call), request="f1")
    assert again.id == asked.id
