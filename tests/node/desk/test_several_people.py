"""Several people for one call: raised by a rule at the gate, counted at home, told to all."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.agents.contract import contract
from node.desk.answer import answer_of
from node.desk.needless import mark, report
from node.desk.standing import StandingDesk
from sync.decide.vote import Ruling
from sync.errors import Invalid, NotAllowed
from sync.log.facts import PersonFacts
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.gates import Gate
from tests.node.desk.machines import Machine, viewer
from web.desk import AskClosed

RULE = '[[rule]]\nname = "make"\ntool = "Bash"\naction = "ask"\n'
TWO = RULE + "approvals = 2\n"
OTHERS = TWO + "self_approval = false\n"


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Ann's box, on which agents ask; Bob's and Cid's machines."""
    async with fleet_of(tmp_path, "box", "bobs", "cids", own="box") as made:
        await made.person("bob", "admin", "bobs")
        await made.person("cid", "member", "cids")
        yield made


async def raised(fleet: Fleet, folder: Path, rules: str) -> tuple[Gate, str]:
    gate = Gate(fleet, fleet["box"], folder)
    await gate.apply(rules)
    row = await gate.raised(gate.call())
    await fleet.meet_all()
    return gate, row.id


async def role(fleet: Fleet, person: str, word: str, *, ended: bool = False) -> None:
    """Ann changes what someone may do; only her machine has heard of it."""
    (head,) = await fleet["box"].reader.run(
        lambda reading: reading.execute(
            "SELECT head FROM person WHERE id = ?", (person,)
        ).fetchone()
    )
    facts = PersonFacts(
        person=person,
        name=person.capitalize(),
        role=word,
        ended=ended,
        replaces=head,
        by=fleet.ann,
        at=2,
    )
    await fleet.state((EntryType.PERSON, facts))


async def test_one_of_two_is_told_to_everyone_and_to_the_agent_without_names(
    fleet: Fleet, tmp_path: Path
) -> None:
    gate, ask = await raised(fleet, tmp_path, TWO)
    await fleet["bobs"].vote("bob", ask, "allow")
    await fleet.meet_all()
    assert await fleet["box"].stands(ask) == ("waiting", None)
    for name, person, words in (
        ("bobs", "bob", "Your answer counts: 1 of 2."),
        ("cids", "cid", "1 of 2 so far."),
        ("box", fleet.ann, "1 of 2 so far."),
    ):
        view = await fleet[name].view(ask, person)
        assert words in view.card.sentence
        assert (view.counted, view.needed) == (1, 2)
    held = await gate.hold(gate.call(), hold_s=0.0)
    assert not held.allow
    assert "1 of 2 allowed it" in held.sentence
    assert "Bob" not in held.sentence
    (pending,) = await fleet["box"].agents.pending(gate.who())
    assert (pending.counted, pending.needed) == (1, 2)
    await fleet["cids"].vote("cid", ask, "allow", because="Tests are green")
    await fleet.meet_all()
    assert await fleet["box"].stands(ask) == ("closed", "allowed")
    assert await fleet["bobs"].stands(ask) == ("closed", "allowed")
    await everyone_is_named(fleet, ask)
    given = await gate.hold(gate.call())
    assert given.allow
    assert "Allowed by Bob and Cid" in given.sentence
    assert "Tests are green" in given.sentence


async def everyone_is_named(fleet: Fleet, ask: str) -> None:
    for name, person, words in (
        ("box", fleet.ann, "Allowed by Bob on bobs and Cid on cids; "),
        ("bobs", "bob", "Allowed by you on bobs and Cid on cids; "),
        ("cids", "cid", "Allowed by Bob on bobs and you on cids; "),
    ):
        view = await fleet[name].view(ask, person)
        assert view.card.sentence.startswith(words)
        assert view.final is not None
        assert [(one.person, one.machine) for one in view.final.made_by] == [
            ("Bob", "bobs"),
            ("Cid", "cids"),
        ]


async def test_two_people_on_one_machine_are_one_and_the_card_says_why(
    fleet: Fleet, tmp_path: Path
) -> None:
    await fleet.person("dee", "member", "bobs")
    _, ask = await raised(fleet, tmp_path, TWO)
    bobs = fleet["bobs"]
    await bobs.vote("bob", ask, "allow")
    voting = asyncio.create_task(bobs.vote("dee", ask, "allow", wait_s=30))
    await bobs.voted(ask, 2)
    await fleet.meet_all()
    assert (await voting).state == "uncounted"
    assert await fleet["box"].stands(ask) == ("waiting", None)
    assert [step.text for step in (await bobs.history(ask, "dee"))[1:]] == [
        "counted",
        "recorded, not counted",
    ]
    view = await bobs.view(ask, "dee")
    assert "Bob allowed it on the same machine" in view.card.sentence
    assert "1 of 2" in view.card.sentence
    assert view.card.actions == ["take_back"]
    assert view.counted == 1
    # Taking the one back that counts lets the other count, and never more than that.
    await bobs.take_back("bob", ask)
    await fleet.meet_all()
    assert "Your answer counts: 1 of 2." in (await bobs.view(ask, "dee")).card.sentence
    await fleet["cids"].vote("cid", ask, "allow")
    await fleet.meet_all()
    assert await fleet["box"].stands(ask) == ("closed", "allowed")


async def test_who_took_back_and_answers_again_is_told_that_it_is_over(fleet: Fleet) -> None:
    box = fleet["box"]
    ask = await box.ask("approval")
    await box.vote(fleet.ann, ask, "allow")
    await box.take_back(fleet.ann, ask)
    with pytest.raises(AskClosed) as refused:
        await box.vote(fleet.ann, ask, "allow")
    assert refused.value.sentence == (
        "Allowed by you on box, then taken back before it was used."
        " Your answer came after that and was not recorded."
    )


async def test_whose_agent_asks_may_deny_and_not_allow(fleet: Fleet, tmp_path: Path) -> None:
    _, ask = await raised(fleet, tmp_path, OTHERS)
    box = fleet["box"]
    view = await box.view(ask, fleet.ann)
    assert view.card.actions == ["deny"]
    assert "it is for someone else to allow it" in view.card.sentence
    assert not view.card.needs_me
    assert await box.needs(fleet.ann) == 0
    assert await fleet["bobs"].needs("bob") == 1
    with pytest.raises(NotAllowed, match="someone else"):
        await box.vote(fleet.ann, ask, "allow")
    await fleet["bobs"].vote("bob", ask, "allow")
    await fleet.meet_all()
    receipt = await box.vote(fleet.ann, ask, "deny")
    assert receipt.state == Ruling.ACCEPTED.value
    await fleet.meet_all()
    assert await fleet["bobs"].stands(ask) == ("closed", "denied")


@pytest.mark.parametrize("how", ["demoted", "removed"])
async def test_who_lost_the_right_in_between_counts_no_more(
    fleet: Fleet, tmp_path: Path, how: str
) -> None:
    """The people of the moment of the final: the vote before stays in the log, and counts not."""
    _, ask = await raised(fleet, tmp_path, TWO + 'role = "member"\n')
    await fleet["bobs"].vote("bob", ask, "allow")
    await fleet.meet_all()
    assert (await fleet["box"].view(ask, fleet.ann)).counted == 1
    await role(fleet, "bob", "viewer", ended=how == "removed")
    await fleet.meet_all()
    assert (await fleet["box"].view(ask, fleet.ann)).counted == 0
    assert (await fleet["bobs"].view(ask, "bob")).card.state == "restricted"
    await fleet["cids"].vote("cid", ask, "allow")
    await fleet.meet_all()
    assert await fleet["box"].stands(ask) == ("waiting", None)
    await fleet["box"].vote(fleet.ann, ask, "allow")
    await fleet.meet_all()
    for name in ("box", "bobs", "cids"):
        assert await fleet[name].stands(ask) == ("closed", "allowed")


@pytest.mark.parametrize("how", ["role", "account"])
async def test_who_may_answer_again_makes_up_the_number_at_once(
    fleet: Fleet, tmp_path: Path, how: str
) -> None:
    """Two have allowed it; nobody has to say so a second time."""
    gate, ask = await raised(fleet, tmp_path, TWO)
    box = fleet["box"]
    accounts = StandingDesk(box.context)

    async def hold(level: str) -> None:
        if how == "role":
            await role(fleet, "bob", "viewer" if level == "on_hold" else "admin")
        else:
            await accounts.set_standing(viewer(fleet.ann), "bob", level, remedy=None, reason="")

    await fleet["bobs"].vote("bob", ask, "allow")
    await fleet.meet_all()
    await hold("on_hold")
    await box.vote(fleet.ann, ask, "allow", because="Go")
    await box.sweeper.sweep()
    assert await box.stands(ask) == ("waiting", None)
    await hold("active")
    await box.sweeper.sweep()
    assert await box.stands(ask) == ("closed", "allowed")
    await fleet.meet_all()
    assert await fleet["cids"].stands(ask) == ("closed", "allowed")
    given = await gate.hold(gate.call())
    assert given.allow
    assert "Go" in given.sentence


async def test_past_its_deadline_nobody_makes_up_the_number(fleet: Fleet, tmp_path: Path) -> None:
    _, ask = await raised(fleet, tmp_path, TWO + 'deadline = "1m"\n')
    box = fleet["box"]
    await fleet["bobs"].vote("bob", ask, "allow")
    await fleet.meet_all()
    await role(fleet, "bob", "viewer")
    await box.vote(fleet.ann, ask, "allow")
    await role(fleet, "bob", "admin")
    box.times.advance(60_000)
    await box.sweeper.sweep()
    assert await box.stands(ask) == ("closed", "expired")


async def test_a_role_changed_between_vote_and_ruling_is_the_homes_to_judge(
    fleet: Fleet, tmp_path: Path
) -> None:
    _, ask = await raised(fleet, tmp_path, RULE + 'role = "admin"\n')
    await role(fleet, "bob", "member")
    receipt = await fleet["bobs"].vote("bob", ask, "allow")
    assert receipt.state == "recorded"
    await fleet.meet_all()
    assert await fleet["box"].stands(ask) == ("waiting", None)
    view = await fleet["bobs"].view(ask, "bob")
    assert (view.card.state, view.card.actions) == ("restricted", [])


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (RULE + "approvals = 3\n", None),
        (TWO + 'role = "admin"\nself_approval = false\n', "too few"),
        (RULE + 'role = "owner"\nself_approval = false\n', "whose agent did not ask"),
        (RULE + 'approvals = 2\nrole = "admin"\n', None),
    ],
)
async def test_a_number_that_nobody_can_reach_is_said_at_once(
    fleet: Fleet, tmp_path: Path, rules: str, words: str | None
) -> None:
    """The checker refuses what it can know; who has a machine and whose agent asks it cannot."""
    gate, ask = await raised(fleet, tmp_path, rules)
    answer = await told(fleet["box"], gate, ask)
    assert (answer is None) if words is None else (words in (answer or ""))


async def told(machine: Machine, gate: Gate, ask: str) -> str | None:
    row = await machine.row(ask)
    answer = await machine.reader.run(
        lambda reading: answer_of(machine.context, reading, row, gate.who().session)
    )
    return answer.reach_reason


async def test_sent_back_as_unclear_is_no_verdict(fleet: Fleet, tmp_path: Path) -> None:
    gate, ask = await raised(fleet, tmp_path, RULE)
    with pytest.raises(Invalid, match="what is unclear"):
        await fleet["bobs"].vote("bob", ask, "deny", unclear=True)
    with pytest.raises(Invalid, match="unclear"):
        await fleet["bobs"].vote("bob", ask, "allow", unclear=True, because="?")
    await fleet["bobs"].vote("bob", ask, "deny", unclear=True, because="Which target?")
    await fleet.meet_all()
    for name, person in (("box", fleet.ann), ("bobs", "bob")):
        view = await fleet[name].view(ask, person)
        assert view.card.state == "unclear"
        assert "Sent back as unclear" in view.card.sentence
        assert view.final is not None
        assert view.final.unclear
        told = [step.what for step in await fleet[name].history(ask, person)]
        assert told == ["raised", "sent back as unclear", "sent back as unclear"]
    given = await gate.hold(gate.call())
    assert not given.allow
    for words in ("Which target?", "Nothing was decided", "Ask again"):
        assert words in given.sentence
    assert (await gate.raised(gate.call())).id != ask


async def test_needless_is_of_each_person_and_comes_to_every_machine(
    fleet: Fleet, tmp_path: Path
) -> None:
    _, ask = await raised(fleet, tmp_path, RULE)
    await mark(fleet["bobs"].context, viewer("bob"), ask, needless=True)
    await mark(fleet["cids"].context, viewer("cid"), ask, needless=True)
    await fleet.meet_all()
    (counts,) = await fleet["box"].reader.run(report)
    # Two who say so are still one ask.
    assert (counts.agent, counts.contract) == ("claude", contract())
    assert (counts.asked, counts.needless) == (1, 1)
    await mark(fleet["bobs"].context, viewer("bob"), ask, needless=False)
    await fleet.meet_all()
    assert (await fleet["box"].reader.run(report))[0].needless == 1
    assert (await fleet["cids"].view(ask, "cid")).needless
    await mark(fleet["cids"].context, viewer("cid"), ask, needless=False)
    await fleet.meet_all()
    assert (await fleet["box"].reader.run(report))[0].needless == 0
    # It decides nothing.
    assert await fleet["box"].stands(ask) == ("waiting", None)
