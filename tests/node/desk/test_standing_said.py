"""Who says over real stores how accounts stand, and what is refused to whom."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.desk import accounts
from node.desk.persons import conflicts, everyone
from node.desk.standing import StandingDesk
from node.limits import WORDS_PER_HOUR
from node.store.rebuild import compare
from sync.decide import word
from sync.decide.standing import strictest
from sync.errors import AccountHeld, Conflict, Invalid, NotAllowed, NotFound, TooMany
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.held import PAY, shown, tell, view
from tests.node.desk.machines import viewer
from tests.sync.decide.accounts import private, public, raw_word


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Ann's desk and Bob's laptop; the operator `billing` is registered."""
    async with fleet_of(tmp_path, "desk", "laptop", own="desk") as made:
        desk = StandingDesk(made["desk"].context)
        await desk.add_operator(viewer(made.ann), "billing", public("billing"))
        await made.person("bob", "member", "laptop")
        yield made


async def test_an_older_word_is_refused_in_words_and_the_same_one_is_known(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    assert (await tell(desk, 5, "on_hold")).state == "recorded"
    entries = await desk.entries(EntryType.STANDING)
    assert (await tell(desk, 5, "on_hold")).state == "known"
    for serial in (4, 5):
        with pytest.raises(Conflict, match=f"serial {serial}, and one with 5 came before"):
            await tell(desk, serial, "active")
    assert await desk.entries(EntryType.STANDING) == entries
    await fleet.meet_all()
    with pytest.raises(Conflict, match="came before"):
        await tell(laptop, 3, "active")


async def test_what_no_operator_of_this_fleet_signed_changes_nothing(fleet: Fleet) -> None:
    desk = fleet["desk"]
    standing = StandingDesk(desk.context)
    raw = raw_word(1, "on_hold", fleet=desk.identity.fleet.hex())
    sound = private("billing").sign(word.PREFIX + raw)
    other = raw_word(1, "on_hold", fleet="00" * 16)
    nobody = raw_word(1, "on_hold", "nobody", fleet=desk.identity.fleet.hex())
    stranger = private("stranger").sign(word.PREFIX + raw)
    for key, said, signature, error, words in (
        (public("billing"), raw, bytes(64), NotAllowed, "not by that key"),
        (public("billing"), raw, b"", NotAllowed, "not by that key"),
        (public("billing"), raw, stranger, NotAllowed, "not by that key"),
        (b"short", raw, sound, NotAllowed, "not by that key"),
        (public("billing"), raw + b" ", sound, NotAllowed, "not by that key"),
        (public("stranger"), raw, stranger, NotAllowed, "No operator with that key"),
        (public("billing"), b"[" * 3_000, sound, Invalid, "does not read"),
        (public("billing"), b"\xff", sound, Invalid, "does not read"),
        (public("billing"), raw + b" " * 4_096, sound, Invalid, "at most"),
        (
            public("billing"),
            other,
            private("billing").sign(word.PREFIX + other),
            NotAllowed,
            "another fleet",
        ),
        (
            public("billing"),
            nobody,
            private("billing").sign(word.PREFIX + nobody),
            NotFound,
            "not in this fleet",
        ),
    ):
        with pytest.raises(error, match=words):
            await standing.standing_word(key, said, signature)
    assert await desk.entries(EntryType.STANDING) == 0
    assert await shown(desk, fleet.ann) is None


async def test_an_operator_that_talks_without_end_is_stopped_before_the_log_is_full(
    fleet: Fleet,
) -> None:
    desk = fleet["desk"]
    standing = StandingDesk(desk.context)

    async def tell_here(serial: int) -> None:
        raw = raw_word(serial, "active", fleet=desk.identity.fleet.hex())
        signature = private("billing").sign(word.PREFIX + raw)
        await standing.standing_word(public("billing"), raw, signature)

    for serial in range(1, WORDS_PER_HOUR + 1):
        await tell_here(serial)
    with pytest.raises(TooMany, match="within an hour"):
        await tell_here(WORDS_PER_HOUR + 1)
    fleet.advance(3_600_000)
    await tell_here(WORDS_PER_HOUR + 1)


async def test_only_owners_who_are_not_held_themselves_say_anything(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    standing = StandingDesk(desk.context)
    member = StandingDesk(laptop.context)
    for attempt in (
        member.set_standing(viewer("bob"), "Ann", "on_hold", remedy=None, reason=""),
        member.add_operator(viewer("bob"), "mine", public("mine")),
        member.remove_operator(viewer("bob"), public("billing")),
    ):
        with pytest.raises(NotAllowed, match="Only an owner"):
            await attempt
    with pytest.raises(NotAllowed, match="his own account"):
        await standing.set_standing(viewer(fleet.ann), "Ann", "grace", remedy=None, reason="")
    with pytest.raises(Invalid, match="no link"):
        await standing.set_standing(
            viewer(fleet.ann), "bob", "grace", remedy="http://x.example", reason=""
        )
    with pytest.raises(NotFound, match="no person"):
        await standing.set_standing(viewer(fleet.ann), "Zoe", "grace", remedy=None, reason="")
    await tell(desk, 1, "on_hold", remedy=PAY)
    for attempt in (
        standing.set_standing(viewer(fleet.ann), "bob", "active", remedy=None, reason=""),
        standing.add_operator(viewer(fleet.ann), "mine", public("mine")),
        standing.remove_operator(viewer(fleet.ann), public("billing")),
    ):
        with pytest.raises(AccountHeld, match="holds you yourself"):
            await attempt
    await tell(desk, 2, "active")
    told = await standing.remove_operator(viewer(fleet.ann), public("billing"))
    assert [(one.name, one.live) for one in told.operators] == [("billing", False)]
    with pytest.raises(NotAllowed, match="No operator"):
        await tell(desk, 3, "on_hold")
    with pytest.raises(Conflict, match="removed before"):
        await standing.remove_operator(viewer(fleet.ann), public("billing"))


async def test_a_member_sees_no_more_than_concerns_them(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    await fleet.person("cid", "member")
    await tell(desk, 1, "grace", "cid", reason="about Cid")
    await tell(desk, 1, "grace", reason="Invoice 7.", remedy=PAY)
    await fleet.meet_all()
    mine = await view(laptop, "bob")
    assert [(one.person, one.reason, one.remedy) for one in mine.accounts] == [(None, None, None)]
    assert (mine.operators, mine.persons) == ([], [])
    owner = await view(desk, fleet.ann)
    assert {one.reason for one in owner.accounts} == {"about Cid", "Invoice 7."}
    assert {one.id for one in owner.persons} == {fleet.ann, "bob", "cid"}


async def test_two_owners_at_once_are_told_and_either_settles_it(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    eve = await fleet.person("eve", "owner", "laptop")
    for machine, owner, level in ((desk, fleet.ann, "grace"), (laptop, eve, "on_hold")):
        await StandingDesk(machine.context).set_standing(
            viewer(owner), "bob", level, remedy=None, reason=""
        )
    await fleet.meet_all()

    def read(connection: object) -> list[str]:
        people = everyone(connection)  # type: ignore[arg-type]
        return conflicts(connection, people[fleet.ann])  # type: ignore[arg-type]

    told = await desk.reader.run(read)
    assert any("account of Bob" in line for line in told), told
    said = strictest(await desk.reader.run(accounts.said), "bob")
    assert said is not None
    assert said.level.value == "on_hold"
    await StandingDesk(laptop.context).set_standing(
        viewer(eve), "bob", "active", remedy=None, reason=""
    )
    await fleet.meet_all()
    assert await desk.reader.run(read) == []
    assert strictest(await desk.reader.run(accounts.said), "bob") is None


async def test_the_tables_can_be_derived_again_and_pages_hear_of_it(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    topics: set[str] = set()
    laptop.noticed = topics.update
    await tell(desk, 1, "grace", remedy=PAY)
    await fleet.meet("desk", "laptop")
    assert "node" in topics
    assert compare(laptop.home) == []
