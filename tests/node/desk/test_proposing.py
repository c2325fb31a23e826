"""'Always like this': from an approval's card to rules in force, for who may."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.desk.proposing import propose_rule
from node.desk.requests import Flag
from node.desk.rows import AskRow
from node.desk.rules_store import RulesStore
from sync.errors import Invalid, NotAllowed
from tests.node.desk.fleets import fleet_of
from tests.node.desk.gates import Gate
from tests.node.desk.machines import viewer
from web.rules_messages import Wanted
from web.rules_views import Proposal

ASKING = '[[rule]]\nname = "all"\ntool = "*"\naction = "ask"\n'
DAY = 86_400_000


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    async with fleet_of(tmp_path, "desk", "attic", own="desk") as machines:
        await machines.person("cid", "member", "attic")
        folder = tmp_path / "shop"
        folder.mkdir()
        yield Gate(machines, machines["desk"], folder)


async def proposed(gate: Gate, ask: AskRow | str, who: str = "", **wanted: object) -> Proposal:
    wish = Wanted(**({"action": "allow"} | wanted))  # type: ignore[arg-type]
    context = gate.machine.context
    name = ask if isinstance(ask, str) else ask.id
    return await propose_rule(
        context, RulesStore(context), viewer(who or gate.fleet.ann), name, wish
    )


async def test_what_was_decided_once_is_decided_by_a_rule_from_then_on(gate: Gate) -> None:
    await gate.apply(ASKING)
    call = gate.call()
    row = await gate.raised(call)
    found = await proposed(gate, row)
    assert found.may_apply
    assert found.until == (gate.machine.context.clock.now() + 7 * DAY) // 1000 * 1000
    assert '+name = "always allow ' in found.changes
    assert "\n-" not in found.changes.split("@@", 1)[1]
    # Proposing changed nothing.
    assert (await gate.desk.judge(gate.who(), call)).match.action == "ask"  # type: ignore[union-attr]
    await gate.apply(found.source)
    assert (await gate.desk.judge(gate.who(), call)).match.action == "allow"  # type: ignore[union-attr]
    other = gate.call({"command": "make", "dangerouslyDisableSandbox": True})
    assert (await gate.desk.judge(gate.who(), other)).match.action == "ask"  # type: ignore[union-attr]
    gate.fleet.advance(7 * DAY)
    assert (await gate.desk.judge(gate.who(), call)).match.action == "ask"  # type: ignore[union-attr]
    # By then the same can be proposed again, beside what is over.
    again = await proposed(gate, row, days=None)
    assert again.until is None
    assert "(2)" in again.rule
    await gate.apply(again.source)
    gate.fleet.advance(400 * DAY)
    assert (await gate.desk.judge(gate.who(), call)).match.action == "allow"  # type: ignore[union-attr]


async def test_a_refusal_can_be_kept_up_too(gate: Gate) -> None:
    call = gate.call()
    row = await gate.raised(call)
    await gate.machine.vote(gate.fleet.ann, row.id, "deny", wait_s=5)
    found = await proposed(gate, row, action="deny")
    await gate.apply(found.source)
    assert (await gate.desk.judge(gate.who(), call)).refuses


async def test_a_member_sees_the_difference_and_applies_nothing(gate: Gate) -> None:
    row = await gate.raised(gate.call())
    found = await proposed(gate, row, "cid")
    assert not found.may_apply
    assert "+[[rule]]" in found.changes
    store = RulesStore(gate.fleet["attic"].context)
    with pytest.raises(NotAllowed):
        await store.apply(viewer("cid"), name="r", source=found.source, replaces=found.replaces)
    await gate.fleet.person("dan", "viewer")
    with pytest.raises(NotAllowed, match="make no rule"):
        await proposed(gate, row, "dan")
    with pytest.raises(NotAllowed):
        await proposed(gate, row, "nobody")


async def test_nobody_lets_their_own_agent_off_what_others_must_allow(gate: Gate) -> None:
    await gate.fleet.person("bob", "admin", "attic")
    await gate.apply(ASKING + "self_approval = false\n")
    row = await gate.raised(gate.call())
    with pytest.raises(NotAllowed, match="wants others"):
        await proposed(gate, row)
    assert (await proposed(gate, row, "bob")).may_apply
    assert (await proposed(gate, row, action="deny")).may_apply


async def test_what_is_hidden_gets_into_no_rule(gate: Gate) -> None:
    await gate.apply(ASKING + 'hide = ["command"]\n')
    row = await gate.raised(gate.call({"command": "a secret"}))
    for action in ("allow", "deny"):
        with pytest.raises(Invalid, match="never leave the machine") as refused:
            await proposed(gate, row, action=action)
        assert "secret" not in refused.value.sentence


async def test_what_no_gate_holds_no_rule_allows(gate: Gate) -> None:
    call = {"tool": "deploy", "arguments": {"target": "staging"}}
    flag = Flag(kind="approval", title="Deploy", call=call)
    ask = (await gate.machine.agents.flag(gate.who(), flag, request="1")).full_id
    with pytest.raises(Invalid, match="on the agent's word"):
        await proposed(gate, ask)
    assert (await proposed(gate, ask, action="deny")).may_apply
    question = await gate.machine.ask()
    with pytest.raises(Invalid, match="no call"):
        await proposed(gate, question)


async def test_another_machine_says_what_it_could_not_look_at(gate: Gate) -> None:
    row = await gate.raised(gate.call())
    await gate.fleet.meet_all()
    context = gate.fleet["attic"].context
    found = await propose_rule(
        context, RulesStore(context), viewer("cid"), row.id, Wanted(action="allow")
    )
    assert any(".askmesh.toml" in note for note in found.notes)
    assert not any(".askmesh.toml" in note for note in (await proposed(gate, row)).notes)
