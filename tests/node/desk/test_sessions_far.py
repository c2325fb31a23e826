"""Sessions of a person on another machine of theirs, ended from here."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from node import limits
from node.desk.sessions_far import END, ENDED, KINDS
from sync.errors import Conflict, NotAllowed
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Ann's desk and laptop, linked; Bob has the laptop alone."""
    async with fleet_of(tmp_path, "desk", "laptop", own="desk") as made:
        await made.give("laptop", made.ann)
        await made.person("bob", "member", "laptop")
        made.link("desk", "laptop")
        yield made


async def session(machine: Machine, person: str) -> str:
    made = await machine.writer.run(
        "session", lambda job: machine.sign_ins.open_session(job, person, "page", "test")
    )
    return made.secret


async def end(fleet: Fleet, person: str) -> int:
    laptop = fleet["laptop"]
    return await fleet["desk"].sign_ins.elsewhere.end(person, laptop.id, "laptop")


async def test_all_of_a_person_end_there_and_nobody_elses(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    mine = [await session(laptop, fleet.ann) for _ in range(2)]
    bobs, here = await session(laptop, "bob"), await session(desk, fleet.ann)
    assert await end(fleet, fleet.ann) == 2
    assert [await laptop.sign_ins.viewer(one) for one in mine] == [None, None]
    assert await laptop.sign_ins.viewer(bobs)
    assert await desk.sign_ins.viewer(here)
    assert await end(fleet, fleet.ann) == 0


async def test_a_machine_ends_sessions_only_of_whom_it_speaks_for(fleet: Fleet) -> None:
    bobs = await session(fleet["laptop"], "bob")
    with pytest.raises(NotAllowed, match="laptop refused"):
        await end(fleet, "bob")
    assert await fleet["laptop"].sign_ins.viewer(bobs)
    own = await session(fleet["laptop"], fleet.ann)
    await fleet.remove("desk")
    await fleet.carry("desk", "laptop")
    with pytest.raises(NotAllowed, match="laptop refused"):
        await end(fleet, fleet.ann)
    assert await fleet["laptop"].sign_ins.viewer(own)


async def test_who_cannot_be_reached_or_says_nothing_is_told_so(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def silent(sender: str, kind: str, body: Any) -> None:  # noqa: ANN401 -- any JSON
        return

    monkeypatch.setattr(limits, "SIGN_IN_ANSWER_S", 0.01)
    monkeypatch.setattr(fleet["laptop"].sign_ins, "letter", silent)
    with pytest.raises(Conflict, match="did not answer"):
        await end(fleet, fleet.ann)
    fleet.cut("desk", "laptop")
    with pytest.raises(Conflict, match="cannot be reached"):
        await end(fleet, fleet.ann)


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_letters_that_say_nothing_do_nothing(fleet: Fleet, kind: str) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    secret = await session(laptop, fleet.ann)
    bodies: tuple[Any, ...] = (
        None,
        [],
        "x",
        {},
        {"id": 1, "person": fleet.ann},
        {"id": "x", "state": "?"},
    )
    for body in bodies:
        await laptop.sign_ins.letter(desk.id, kind, body)
    await laptop.sign_ins.letter(desk.id, ENDED, {"id": "x", "state": "ended", "count": 9})
    await laptop.sign_ins.letter("nobody", END, {"id": "x", "person": fleet.ann})
    assert await laptop.sign_ins.viewer(secret)
