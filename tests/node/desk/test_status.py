"""What a session says it does, with its sub-agents: kept, shown, and aging."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.desk.requests import Asker, Child
from node.desk.views import Looking
from node.fleet.presences import _sessions
from sync.errors import Invalid, TooMany
from sync.limits import CHILDREN, NOT_SEEN_MS, QUIET_MS
from tests.node.desk.fleets import fleet_of
from tests.node.desk.machines import Machine
from web.views import SessionView

WHO = Asker(agent="claude", session="s-1", project="example.org/shop", cwd="/")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Machine]:
    async with fleet_of(tmp_path, "desk") as fleet:
        yield fleet["desk"]


async def seen(desk: Machine) -> SessionView:
    (one,) = await desk.reader.run(
        lambda connection: Looking(desk.context, connection, None).sessions()
    )
    return one


async def test_sub_agents_stay_until_they_are_told_anew(desk: Machine) -> None:
    await desk.agents.status(WHO, "testing", [Child(name="lint", doing="types"), Child(name="e2e")])
    desk.times.advance(5)
    await desk.agents.status(WHO, "merging")
    one = await seen(desk)
    assert (one.status, [(child.name, child.doing) for child in one.children]) == (
        "merging", [("lint", "types"), ("e2e", "")],
    )  # fmt: skip
    assert one.status_at == desk.context.clock.now()
    now = desk.context.clock.now()
    (word,) = await desk.reader.run(lambda connection: _sessions(connection, now))
    assert [child.name for child in word.children] == ["lint", "e2e"]
    await desk.agents.status(WHO, "done", [])
    assert (await seen(desk)).children == []


async def test_it_ages_to_quiet_and_to_not_seen_and_back(desk: Machine) -> None:
    await desk.agents.status(WHO, "compiling")
    found = [(await seen(desk)).activity]
    for more in (QUIET_MS, NOT_SEEN_MS):
        desk.times.advance(more)
        found.append((await seen(desk)).activity)
    await desk.agents.heard(WHO)
    one = await seen(desk)
    assert [*found, one.activity] == ["active", "quiet", "not_seen", "active"]
    # What it said stays what it said.
    assert one.status == "compiling"


async def test_what_does_not_fit_is_refused_by_name(desk: Machine) -> None:
    with pytest.raises(TooMany, match=f"at most {CHILDREN}"):
        await desk.agents.status(WHO, "x", [Child(name="a")] * (CHILDREN + 1))
    for child, word in (
        (Child(name=""), "name is empty"),
        (Child(name="a", doing="x" * 201), "doing"),
    ):
        with pytest.raises(Invalid, match=word):
            await desk.agents.status(WHO, "x", [child])
