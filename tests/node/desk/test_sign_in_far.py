"""Six digits across two machines: who may sign in where, and what a letter cannot do."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node import limits
from node.desk.sign_in_far import APPROVE, OVER, RESULT, WISH, consent
from sync.errors import AskmeshError, Conflict, NotAllowed
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import viewer
from web.desk import SignIn


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", "laptop", own="desk") as made:
        made.link("desk", "laptop")
        yield made


async def begun(fleet: Fleet) -> tuple[SignIn, str, str]:
    """A sign-in on the laptop's page: what it shows, its digits, its id on the desk."""
    made = await fleet["laptop"].sign_ins.request(where="Firefox")
    assert made.digits is not None
    (listed,) = await fleet["desk"].sign_ins.waiting()
    return made, made.digits, listed.id


def wrong(digits: str) -> str:
    return f"{(int(digits) + 1) % 1_000_000:06d}"


async def test_it_is_listed_elsewhere_with_its_machine_and_without_digits(fleet: Fleet) -> None:
    await begun(fleet)
    (listed,) = await fleet["desk"].sign_ins.waiting()
    assert (listed.machine, listed.where, listed.digits) == ("laptop", "Firefox", None)
    assert all("digits" not in body for _, kind, body in fleet["laptop"].post.sent if kind == WISH)
    fleet.advance(limits.SIGN_IN_MS)
    assert await fleet["desk"].sign_ins.waiting() == []


async def test_a_machine_that_is_linked_later_learns_of_it(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        await fleet["laptop"].sign_ins.request(where="Firefox")
        assert await fleet["desk"].sign_ins.waiting() == []
        fleet.link("desk", "laptop")
        await fleet["laptop"].sign_ins.linked(fleet["desk"].id)
        await fleet["laptop"].sign_ins.linked(fleet["desk"].id)
        assert len(await fleet["desk"].sign_ins.waiting()) == 1


async def test_whose_machine_it_is_signs_in_there(fleet: Fleet) -> None:
    await fleet.give("laptop", fleet.ann)
    await fleet.meet("desk", "laptop")
    made, digits, listed = await begun(fleet)
    laptop, desk = fleet["laptop"], fleet["desk"]
    assert await laptop.sign_ins.collect(made.id, digits) is None
    approved = await desk.sign_ins.approve(viewer(fleet.ann), listed, digits)
    assert (approved.state, approved.machine) == ("approved", "laptop")
    assert await desk.sign_ins.waiting() == []
    session = await laptop.sign_ins.collect(made.id, digits)
    assert session is not None
    assert session.viewer.person == fleet.ann
    assert await laptop.sign_ins.viewer(session.secret) is not None
    assert await desk.sign_ins.viewer(session.secret) is None
    with pytest.raises(AskmeshError):
        await laptop.sign_ins.collect(made.id, digits)


async def test_an_owner_lets_it_speak_by_approving(fleet: Fleet) -> None:
    made, digits, listed = await begun(fleet)
    laptop, desk = fleet["laptop"], fleet["desk"]
    before = await desk.entries(EntryType.SPEAKS_FOR)
    await desk.sign_ins.approve(viewer(fleet.ann), listed, digits)
    assert await desk.entries(EntryType.SPEAKS_FOR) == before + 1
    # The statement is not on the laptop yet: there is no session on the strength of a letter.
    assert await laptop.sign_ins.collect(made.id, digits) is None
    await fleet.carry("desk", "laptop")
    assert await laptop.sign_ins.collect(made.id, digits) is not None


async def test_wrong_digits_grant_nothing_and_are_counted_in_all(fleet: Fleet) -> None:
    made, digits, listed = await begun(fleet)
    laptop, desk = fleet["laptop"], fleet["desk"]
    before = await desk.entries(EntryType.SPEAKS_FOR)
    ann = viewer(fleet.ann)
    for left in ("2 tries left.", "1 tries left."):
        with pytest.raises(NotAllowed, match="not the digits") as raised:
            await desk.sign_ins.approve(ann, listed, wrong(digits))
        assert raised.value.hint == left
    with pytest.raises(NotAllowed, match="not the digits"):
        await desk.sign_ins.approve(ann, listed, wrong(digits))
    assert await desk.sign_ins.waiting() == []
    assert await laptop.sign_ins.waiting() == []
    with pytest.raises(NotAllowed, match="refused"):
        await laptop.sign_ins.collect(made.id, digits)
    assert await desk.entries(EntryType.SPEAKS_FOR) == before


async def test_a_member_cannot_take_a_machine_without_an_owner(fleet: Fleet) -> None:
    bob = await fleet.person("bob", "member", "desk")
    made, digits, listed = await begun(fleet)
    with pytest.raises(NotAllowed, match="does not speak for you") as raised:
        await fleet["desk"].sign_ins.approve(viewer(bob), listed, digits)
    assert "owner" in raised.value.hint
    await fleet.meet("desk", "laptop")
    assert await fleet["laptop"].sign_ins.collect(made.id, digits) is None


async def test_a_member_takes_the_machine_an_owner_named(fleet: Fleet) -> None:
    bob = await fleet.person("bob", "member", "desk")
    await fleet.give("laptop", bob)
    made, digits, listed = await begun(fleet)
    await fleet["desk"].sign_ins.approve(viewer(bob), listed, digits)
    await fleet.meet("desk", "laptop")
    session = await fleet["laptop"].sign_ins.collect(made.id, digits)
    assert session is not None
    assert session.viewer.person == bob


async def test_a_letter_only_speaks_for_whom_its_machine_speaks(fleet: Fleet) -> None:
    bob = await fleet.person("bob", "member", "laptop")
    made = await fleet["desk"].sign_ins.request(where="Firefox")
    digits = made.digits or ""
    # The laptop speaks for Bob, not for Ann, whatever it writes.
    body = {"id": made.id, "digits": digits, "person": fleet.ann}
    await fleet["desk"].sign_ins.letter(fleet["laptop"].id, APPROVE, body)
    assert await fleet["desk"].sign_ins.collect(made.id, digits) is None
    ended = {"id": made.id, "digits": digits, "person": bob}
    await fleet["desk"].sign_ins.letter("a" * 52, APPROVE, ended)
    assert await fleet["desk"].sign_ins.collect(made.id, digits) is None
    refused = [body for _, kind, body in fleet["desk"].post.sent if kind == RESULT]
    assert [said["state"] for said in refused] == ["refused", "refused"]


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"id": 7},
        {"id": "../x", "where": "", "left_ms": 9},
        {"id": "abcdefgh", "where": "", "left_ms": 10**9},
        {"id": "abcdefgh", "digits": "\udc00", "person": "x", "where": 1, "state": "approved"},
        {"id": "abcdefgh", "state": "approved"},
    ],
)
async def test_what_does_not_read_changes_nothing(fleet: Fleet, body: object) -> None:
    made, digits, _ = await begun(fleet)
    for machine in (fleet["desk"], fleet["laptop"]):
        for kind in (WISH, OVER, APPROVE, RESULT, "of a newer askmesh"):
            await machine.sign_ins.letter(fleet["desk"].id, kind, body)
            await machine.sign_ins.letter(fleet["laptop"].id, kind, body)
    assert len(await fleet["desk"].sign_ins.waiting()) == 1
    assert await fleet["laptop"].sign_ins.collect(made.id, digits) is None


async def test_a_machine_cannot_fill_the_list(fleet: Fleet) -> None:
    for number in range(limits.WAITING_SIGN_INS + 5):
        wish = {"id": f"abcdefg{'abcdefghijklmnopq'[number]}", "where": "x", "left_ms": 60_000}
        await fleet["desk"].sign_ins.letter(fleet["laptop"].id, WISH, wish)
        await fleet["desk"].sign_ins.letter("a" * 52, WISH, wish)
    assert len(await fleet["desk"].sign_ins.waiting()) == limits.WAITING_SIGN_INS


async def test_a_machine_that_cannot_be_reached_is_said(fleet: Fleet) -> None:
    _, digits, listed = await begun(fleet)
    fleet.cut("desk", "laptop")
    with pytest.raises(Conflict, match="laptop cannot be reached"):
        await fleet["desk"].sign_ins.approve(viewer(fleet.ann), listed, digits)


async def test_no_answer_is_not_taken_for_one(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, digits, listed = await begun(fleet)
    monkeypatch.setattr(limits, "SIGN_IN_ANSWER_S", 0.0)

    async def lost(to: str | None, kind: str, body: object) -> bool:
        await asyncio.sleep(0)
        return True

    fleet["desk"].sign_ins.far.post = type("Lost", (), {"send": staticmethod(lost)})()
    with pytest.raises(Conflict, match="did not answer"):
        await fleet["desk"].sign_ins.approve(viewer(fleet.ann), listed, digits)


async def test_on_the_same_machine_it_is_approved_as_before(fleet: Fleet) -> None:
    desk = fleet["desk"]
    made = await desk.sign_ins.request(where="Firefox")
    digits = made.digits or ""
    with pytest.raises(NotAllowed, match="not the digits"):
        await desk.sign_ins.approve(viewer(fleet.ann), made.id, wrong(digits))
    assert len(await fleet["laptop"].sign_ins.waiting()) == 1
    await desk.sign_ins.approve(viewer(fleet.ann), made.id, digits)
    assert await fleet["laptop"].sign_ins.waiting() == []
    assert await desk.sign_ins.collect(made.id, digits) is not None


async def test_the_recovery_words_work_where_an_owner_can_act(fleet: Fleet) -> None:
    with pytest.raises(NotAllowed, match="speaks for no owner"):
        await fleet["laptop"].sign_ins.by_recovery(fleet.words, where="Firefox")
    await fleet.give("laptop", fleet.ann)
    await fleet["desk"].writer.run(
        "consent", lambda job: consent(job, viewer(fleet.ann), fleet["laptop"].id)
    )
    await fleet.meet("desk", "laptop")
    session = await fleet["laptop"].sign_ins.by_recovery(fleet.words, where="Firefox")
    assert session.viewer.person == fleet.ann
