"""The gate on one machine, without a listener: which rules a call meets, and under which names."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node import limits
from node.desk.requests import Flag
from node.desk.sessions import names_of
from node.gate.repository import FILE
from node.gate.rules import version_of
from tests.node.desk.fleets import fleet_of
from tests.node.desk.gates import Gate

WARY = '[[rule]]\nname = "wary"\ntool = "Bash"\naction = "{}"\nreason = "Look twice."\n'


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    async with fleet_of(tmp_path, "desk") as machines:
        folder = tmp_path / "shop"
        (folder / ".git" / "refs").mkdir(parents=True)
        yield Gate(machines, machines["desk"], folder)


def own(action: str) -> str:
    return WARY.format(action)


async def test_a_repositorys_rule_is_named_on_the_card(gate: Gate) -> None:
    await gate.apply('[[rule]]\nname = "all"\ntool = "*"\naction = "allow"\n')
    (gate.folder / FILE).write_text(own("ask"))
    ask = await gate.shown(await gate.raised(gate.call()))
    assert ask["rule"]["name"] == f"{FILE}: wary"
    assert f"+{FILE}:{version_of(own('ask'))}" in ask["rule"]["version"]
    assert ask["detail"] == "Look twice."


async def test_one_that_does_not_read_is_why_the_call_is_asked_about(gate: Gate) -> None:
    (gate.folder / FILE).write_text("[[rule")
    ask = await gate.shown(await gate.raised(gate.call()))
    assert "does not read (line 1" in ask["detail"]


async def test_an_allow_is_void_where_the_repository_refuses_by_now(gate: Gate) -> None:
    call = gate.call()
    row = await gate.raised(call)
    await gate.machine.vote(gate.fleet.ann, row.id, "allow", wait_s=5)
    (gate.folder / FILE).write_text(own("deny"))
    verdict = await gate.hold(call)
    assert not verdict.allow
    assert await gate.machine.stands(row.id) == ("void", "allowed")


async def test_what_an_agent_asked_for_itself_is_void_as_well(gate: Gate) -> None:
    who = gate.who()
    call = {"tool": "Bash", "arguments": {"command": "make"}}
    flag = Flag(kind="approval", title="Make", call=call)
    ask = (await gate.machine.agents.flag(who, flag, request="1")).full_id
    await gate.machine.vote(gate.fleet.ann, ask, "allow", wait_s=5)
    (gate.folder / FILE).write_text(own("deny"))
    told = await gate.machine.agents.await_answer(who, ask, wait_s=0, request="2", progress=None)
    assert told.state == "void"


async def test_a_session_keeps_the_names_it_had(gate: Gate) -> None:
    await gate.heard("release-bot")
    await gate.heard("claude")
    await gate.heard("other", session="t")
    names = await gate.machine.reader.run(lambda reading: names_of(reading, "s", "fresh"))
    assert names == ("fresh", "claude", "release-bot")
    for count in range(limits.NAMES_OF_SESSION + 3):
        await gate.heard(f"x{count}")
    names = await gate.machine.reader.run(lambda reading: names_of(reading, "s", "fresh"))
    assert names[:3] == ("fresh", "claude", "release-bot")
    assert len(names) == limits.NAMES_OF_SESSION + 1


async def test_another_name_is_no_way_around_a_rule(gate: Gate) -> None:
    named = '[[rule]]\nname = "bot"\nagents = ["release-bot"]\ntool = "*"\naction = "deny"\n'
    loose = '[[rule]]\nname = "all"\ntool = "*"\naction = "allow"\n'
    await gate.apply(named + loose)
    call = gate.call()

    async def action() -> str | None:
        match = (await gate.desk.judge(gate.who(), call)).match
        return None if match is None else match.action

    assert await action() == "allow"
    await gate.heard("release-bot", session="another")
    assert await action() == "allow"
    await gate.heard("release-bot")
    assert await action() == "deny"


async def test_a_name_that_comes_up_after_the_allow_makes_it_void(gate: Gate) -> None:
    await gate.apply(own("ask") + own("deny").replace("wary", "bot") + 'agents = ["bot"]\n')
    call = gate.call()
    row = await gate.raised(call)
    await gate.machine.vote(gate.fleet.ann, row.id, "allow", wait_s=5)
    await gate.heard("bot")
    assert not (await gate.hold(call)).allow
    assert await gate.machine.stands(row.id) == ("void", "allowed")
