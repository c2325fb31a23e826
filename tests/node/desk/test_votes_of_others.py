"""Answers given on one machine to what an agent asks on another: each comes to one ruling."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sync.log.facts import Part, VoteFacts, VoteText
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", "laptop", "phone") as made:
        yield made


async def test_what_another_node_signs_is_checked_by_the_home(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    bob = await fleet.person("bob", "member", "phone")
    question = await desk.ask(options=[{"label": "yes"}, {"label": "no"}])
    approval = await desk.ask("approval")
    await fleet.meet_all()
    seen = {ask: (await desk.row(ask)).entry_hash for ask in (question, approval)}
    nothing, words = VoteText(), VoteText(text="x")
    cases: list[tuple[str, str, str, str | None, Part, str]] = [
        (question, fleet.ann, "answer", None, nothing, "not_allowed"),
        (question, fleet.ann, "answer", None, VoteText(text="  "), "not_allowed"),
        (question, fleet.ann, "answer", "7", nothing, "not_allowed"),
        (question, fleet.ann, "answer", None, VoteText(text="x" * 20_000), "not_allowed"),
        (question, fleet.ann, "allow", None, nothing, "not_allowed"),
        (question, fleet.ann, "decline", "1", nothing, "not_allowed"),
        (question, fleet.ann, "answer", None, OptionText(text=7), "not_allowed"),
        (question, bob, "decline", None, nothing, "not_allowed"),
        (question, "nobody", "decline", None, nothing, "not_allowed"),
        (approval, fleet.ann, "allow", None, words, "not_allowed"),
    ]
    for ask, person, decision, choice, text, ruling in cases:
        vote = VoteFacts(
            ask=ask, person=person, decision=decision, choice=choice, seen=seen[ask], at=1
        )
        assert await ruled(fleet, vote, text) == ruling, (decision, choice, person)
        assert await desk.stands(ask) == ("waiting", None)
    stale = VoteFacts(ask=approval, person=fleet.ann, decision="allow", seen=bytes(32), at=1)
    assert await ruled(fleet, stale, nothing) == "stale"
    await fleet.carry("desk", "laptop")
    shown = (await laptop.view(approval, fleet.ann)).card
    assert "changed since you answered" in shown.sentence
    good = VoteFacts(
        ask=question, person=fleet.ann, decision="answer", choice="2", seen=seen[question], at=1
    )
    assert await ruled(fleet, good, nothing) == "accepted"


class OptionText(Part, frozen=True, kw_only=True):
    """Words of a vote that do not read as such."""

    text: int


async def ruled(fleet: Fleet, vote: VoteFacts, text: Part) -> str:
    """The laptop signs a vote as it stands; return what the desk makes of it."""
    laptop, desk = fleet["laptop"], fleet["desk"]
    made = await laptop.writer.run(
        "vote", lambda transaction: transaction.append(EntryType.VOTE, vote, text).hash
    )
    await fleet.carry("laptop", "desk")
    (ruling,) = await desk.reader.run(
        lambda connection: connection.execute(
            "SELECT ruling FROM vote WHERE hash = ?", (made,)
        ).fetchone()
    )
    return str(ruling)


async def test_votes_on_what_nobody_answers_hurt_nothing(fleet: Fleet) -> None:
    desk = fleet["desk"]
    note = await desk.ask("note")
    await fleet.meet_all()
    for ask in (note, f"{desk.id}-77", "no id at all", fleet["phone"].id + "-1"):
        vote = VoteFacts(ask=ask, person=fleet.ann, decision="deny", seen=bytes(32), at=1)
        assert await ruled(fleet, vote, VoteText()) == "None"
    assert await desk.answers.rule_open() == 0
    assert await desk.sweeper.sweep() > 0
