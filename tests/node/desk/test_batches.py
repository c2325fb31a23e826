"""Several answers at once: each its own vote, and nothing is allowed that was not read."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from node.desk.batches import vote_together
from sync.errors import AskmeshError, Invalid
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine, viewer
from web.limits import VOTES_TOGETHER
from web.together_views import BallotFor, Ballots
from web.views import VoteReceipt

OTHER = {"tool": "deploy", "arguments": {"target": "production"}}
MANY = 500


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "box", "desk") as made:
        yield made


async def ballot(machine: Machine, person: str, ask: str, decision: str = "allow") -> BallotFor:
    seen = (await machine.view(ask, person)).seen
    text = "so" if decision == "answer" else None
    return BallotFor(ask=ask, decision=decision, seen=seen, text=text)  # type: ignore[arg-type]


async def given(
    machine: Machine, person: str, ballots: Sequence[BallotFor]
) -> list[str | AskmeshError]:
    """What became of each: its state, or the error."""
    outcomes = await vote_together(machine.answers, viewer(person), Ballots(votes=list(ballots)))
    return [one.state if isinstance(one, VoteReceipt) else one for one in outcomes]


async def test_identical_calls_are_allowed_together_each_by_its_own_vote(fleet: Fleet) -> None:
    box, ann = fleet["box"], fleet.ann
    asks = [await box.ask("approval", title=f"Deploy {n}") for n in range(3)]
    alike = {(await box.view(ask, ann)).alike for ask in asks}
    assert len(alike) == 1
    assert alike != {None}
    ballots = [await ballot(box, ann, ask) for ask in asks]
    assert await given(box, ann, ballots) == ["accepted"] * 3
    assert await box.entries(EntryType.VOTE) == 3
    for ask in asks:
        assert await box.stands(ask) == ("closed", "allowed")


async def test_different_calls_are_denied_together_and_never_allowed(fleet: Fleet) -> None:
    box, ann = fleet["box"], fleet.ann
    one = await box.ask("approval")
    other = await box.ask("approval", call=OTHER)
    assert (await box.view(one, ann)).alike != (await box.view(other, ann)).alike
    with pytest.raises(Invalid, match="different calls"):
        await given(box, ann, [await ballot(box, ann, ask) for ask in (one, other)])
    assert await box.entries(EntryType.VOTE) == 0
    both = [await ballot(box, ann, ask, "deny") for ask in (one, other)]
    assert await given(box, ann, both) == ["accepted"] * 2


async def test_one_that_fails_stops_no_other(fleet: Fleet) -> None:
    """A vote for another ask, one that is over, one that is not there."""
    box, ann = fleet["box"], fleet.ann
    asks = [await box.ask("approval", title=f"Deploy {n}") for n in range(4)]
    ballots = [await ballot(box, ann, ask) for ask in asks]
    await box.vote(ann, asks[1], "deny")
    replayed = BallotFor(ask=asks[2], decision="allow", seen=ballots[0].seen)
    missing = BallotFor(ask="k7qf-999", decision="allow", seen="0" * 64)
    outcomes = await given(box, ann, [ballots[0], ballots[1], replayed, missing, ballots[3]])
    assert [getattr(one, "code", one) for one in outcomes] == [
        "accepted",
        "closed",
        "conflict",
        "not_found",
        "accepted",
    ]
    assert await box.stands(asks[2]) == ("waiting", None)
    assert await box.stands(asks[1]) == ("closed", "denied")


async def test_an_ask_named_twice_records_nothing(fleet: Fleet) -> None:
    box, ann = fleet["box"], fleet.ann
    ask = await box.ask("approval")
    twice = [await ballot(box, ann, ask, decision) for decision in ("allow", "deny")]
    with pytest.raises(Invalid, match="twice"):
        await given(box, ann, twice)
    assert await box.entries(EntryType.VOTE) == 0


async def test_questions_get_each_its_own_answer_also_where_their_home_is_away(
    fleet: Fleet,
) -> None:
    box, desk, ann = fleet["box"], fleet["desk"], fleet.ann
    asks = [await box.ask(title=f"Which {n}?") for n in range(2)]
    await fleet.meet_all()
    ballots = [
        await ballot(desk, ann, ask, how)
        for ask, how in zip(asks, ("answer", "decline"), strict=False)
    ]
    assert await given(desk, ann, ballots) == ["recorded"] * 2
    await fleet.meet_all()
    assert [(await box.stands(ask))[1] for ask in asks] == ["answered", "declined"]


async def test_five_hundred_that_wait_are_shown_and_answered_in_lots(fleet: Fleet) -> None:
    box, ann = fleet["box"], fleet.ann
    asks = [
        await box.ask("approval", session=f"s{n // 90}", title=f"Deploy {n}") for n in range(MANY)
    ]
    views = {view.id: view for view in (await box.reading.state(viewer(ann))).asks}
    assert len({views[ask].alike for ask in asks}) == 1
    ballots = [BallotFor(ask=ask, decision="deny", seen=views[ask].seen) for ask in asks]
    for start in range(0, MANY, VOTES_TOGETHER):
        lot = ballots[start : start + VOTES_TOGETHER]
        assert await given(box, ann, lot) == ["accepted"] * len(lot)
    assert await box.needs(ann) == 0
