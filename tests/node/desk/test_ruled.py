"""What an agent asks for on its own word meets the rules as a call at the gate does."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.desk.raising import NewAsk
from node.desk.requests import Flag, Flagged
from node.desk.ruled import under
from node.gate.law import Ruled
from node.gate.rules import Match
from sync.decide.ask import Kind
from sync.errors import NotAllowed
from tests.node.desk.fleets import fleet_of
from tests.node.desk.gates import Gate

STRICT = """
[[rule]]
name = "deploys"
tool = "deploy"
action = "ask"
approvals = 2
role = "admin"
self_approval = {own}
deadline = "2h"
escalate = {{ after = "1h", to = "owner" }}

[[rule]]
name = "never"
tool = "wipe"
action = "deny"
reason = "It cannot be undone."

[[rule]]
name = "harmless"
tool = "look"
action = "allow"
"""


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Gate]:
    async with fleet_of(tmp_path, "desk", "attic", own="desk") as machines:
        await machines.person("bob", "admin", "attic")
        folder = tmp_path / "shop"
        folder.mkdir()
        yield Gate(machines, machines["desk"], folder)


async def flagged(gate: Gate, tool: str | None, *, request: str = "1", **more: object) -> Flagged:
    call = None if tool is None else {"tool": tool, "arguments": {}}
    flag = Flag(kind="approval", title="May I?", call=call, **more)  # type: ignore[arg-type]
    return await gate.machine.agents.flag(gate.who(), flag, request=request)


async def test_the_rule_that_covers_the_call_says_who_must_allow_it(gate: Gate) -> None:
    await gate.apply(STRICT.format(own="true"))
    asked = await flagged(gate, "deploy")
    assert (asked.needed, asked.role) == (2, "admin")
    row = await gate.machine.row(asked.full_id)
    assert row.deadline == row.created + 2 * 3_600_000
    assert row.rule_name == "deploys"
    assert not row.enforced
    await gate.machine.vote(gate.fleet.ann, asked.full_id, "allow", wait_s=5)
    assert (await gate.machine.stands(asked.full_id))[0] == "waiting"
    await gate.fleet.meet_all()
    await gate.fleet["attic"].vote("bob", asked.full_id, "allow")
    await gate.fleet.meet_all()
    assert await gate.machine.stands(asked.full_id) == ("closed", "allowed")


async def test_whose_agent_asks_does_not_allow_it_where_the_rule_says_so(gate: Gate) -> None:
    await gate.fleet.person("cid", "admin")
    await gate.apply(STRICT.format(own="false").replace("approvals = 2", "approvals = 1"))
    row = await gate.machine.row((await flagged(gate, "deploy")).full_id)
    assert row.quorum.not_by == [gate.fleet.ann]


async def test_without_a_rule_or_with_one_that_allows_any_person_decides(gate: Gate) -> None:
    await gate.apply(STRICT.format(own="true"))
    for number, tool in enumerate((None, "look", "other")):
        asked = await flagged(gate, tool, request=str(number))
        assert (asked.needed, asked.role) == (1, None)


async def test_what_a_rule_refuses_nobody_is_asked_about(gate: Gate) -> None:
    await gate.apply(STRICT.format(own="true"))
    with pytest.raises(NotAllowed, match=r"`never`.: It cannot be undone"):
        await flagged(gate, "wipe")
    assert await gate.rows() == []


@pytest.mark.parametrize(
    ("own", "rule", "deadline", "escalates"),
    [
        (None, None, None, 3_600_000),
        (None, 7200.0, 7_200_000, 3_600_000),
        (1_800_000, 7200.0, 1_800_000, None),
        (86_400_000, 7200.0, 7_200_000, 3_600_000),
        (1_800_000, None, 1_800_000, None),
    ],
)
def test_an_agent_may_ask_for_less_time_and_never_for_more(
    own: int | None, rule: float | None, deadline: int | None, escalates: int | None
) -> None:
    ask = NewAsk(kind=Kind.APPROVAL, title="a", deadline_ms=own)
    match = Match(
        rule="r", action="ask", deadline_s=rule, reason=None, escalate_s=3600.0, escalate_to="owner"
    )
    found = under(ask, Ruled(match=match, version="v"))
    effective = found.deadline_ms if found.deadline_ms is not None else found.default_deadline_ms
    assert effective == deadline
    assert found.escalate_ms == escalates
    assert (found.escalate_to is None) == (escalates is None)
