"""Accounts on hold over real stores: what is refused where, what is kept, what comes after."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from node.desk.gate import GateDesk
from node.desk.persons import more_needed
from node.desk.protocols import GateHold, GateVerdict
from node.desk.rules_store import RulesStore
from node.desk.standing import StandingDesk
from node.gate.call import make_call
from node.store.transaction import Transaction
from sync.errors import AccountHeld, OnHold
from sync.log.facts import Quorum, RulingFacts, StandingFacts
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.held import PAY, shown, tell, view
from tests.node.desk.machines import viewer
from tests.sync.decide.accounts import public


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Ann's desk and Bob's laptop; the operator `billing` is registered."""
    async with fleet_of(tmp_path, "desk", "laptop", own="desk") as made:
        desk = StandingDesk(made["desk"].context)
        await desk.add_operator(viewer(made.ann), "billing", public("billing"))
        await made.person("bob", "member", "laptop")
        yield made


async def test_on_hold_every_answer_is_refused_where_it_is_given_and_nothing_is_lost(
    fleet: Fleet,
) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    before = await desk.ask("approval")
    await tell(desk, 1, "on_hold", remedy=PAY, reason="Invoice 7 is open.")
    await fleet.meet_all()
    after = await desk.ask("question")
    await fleet.meet_all()
    votes = await laptop.entries(EntryType.VOTE)
    for machine, person in ((desk, fleet.ann), (laptop, "bob")):
        for ask, decision in ((before, "allow"), (before, "deny"), (after, "decline")):
            card = (await machine.view(ask, person)).card
            assert (card.state, card.actions, card.needs_me) == ("account_on_hold", [], False)
            with pytest.raises(AccountHeld, match="on hold") as refused:
                await machine.vote(person, ask, decision)
            assert refused.value.status == 403
        assert await machine.needs(person) == 0
    assert await laptop.entries(EntryType.VOTE) == votes
    await tell(laptop, 2, "active")
    await fleet.meet_all()
    assert (await laptop.vote("bob", before, "allow")).state == "recorded"
    await fleet.meet_all()
    assert await desk.stands(before) == ("closed", "allowed")


async def test_who_may_see_to_it_is_shown_where_and_others_who_that_is(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    for level in ("grace", "on_hold"):
        await tell(desk, 1 if level == "grace" else 2, level, remedy=PAY, reason="Invoice 7.")
        await fleet.meet_all()
        owner, member = await shown(desk, fleet.ann), await shown(laptop, "bob")
        assert owner is not None
        assert (owner.remedy, owner.remedy_host, owner.reason) == (PAY, "pay.example", "Invoice 7.")
        assert owner.fixed_by is None
        assert member is not None
        assert (member.remedy, member.reason) == (None, None)
        assert member.fixed_by == "Ann can see what is to be done."
        nobody = await shown(laptop, None)
        assert nobody is not None
        assert (nobody.remedy, nobody.reason, nobody.fixed_by) == (None, None, None)


async def test_suspended_names_no_invoice_and_offers_no_remedy_to_anybody(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await tell(desk, 1, "suspended", remedy=PAY, reason="Invoice 7.")
    await fleet.meet_all()
    for machine, person in ((desk, fleet.ann), (laptop, "bob")):
        told = await shown(machine, person)
        assert told is not None
        with pytest.raises(AccountHeld, match="suspended") as refused:
            await machine.vote(person, ask, "deny")
        card = (await machine.view(ask, person)).card
        assert (card.state, card.actions) == ("suspended", [])
        everything = msgspec.json.encode([told, await view(machine, person), card]).decode()
        everything += refused.value.sentence + refused.value.hint
        assert "nvoice" not in everything
        assert "pay.example" not in everything
        assert told.fixed_by is None


async def test_in_grace_everything_works(fleet: Fleet) -> None:
    desk = fleet["desk"]
    await tell(desk, 1, "grace")
    ask = await desk.ask("approval")
    assert (await desk.vote(fleet.ann, ask, "allow")).state == "accepted"
    assert (await desk.fetch(ask)).state == "allowed"


async def test_a_vote_that_reaches_the_home_on_hold_does_not_count(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await fleet.meet_all()
    await laptop.vote("bob", ask, "deny")
    await tell(desk, 1, "on_hold")
    await fleet.carry("laptop", "desk")
    assert await desk.stands(ask) == ("waiting", None)
    await fleet.meet_all()
    assert ("Bob on laptop", "on hold") in [
        (line.who, line.text) for line in await laptop.history(ask, "bob")
    ]
    await tell(desk, 2, "active")
    await fleet.meet_all()
    card = (await laptop.view(ask, "bob")).card
    assert (card.state, card.needs_me) == ("away", True)
    assert "came while no answer of the account counted; answer again" in card.sentence
    await laptop.vote("bob", ask, "deny")
    await fleet.meet_all()
    assert await desk.stands(ask) == ("closed", "denied")


async def test_the_home_refuses_what_the_answering_machine_could_not_know_of(
    fleet: Fleet,
) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await fleet.meet_all()
    await tell(desk, 1, "on_hold")
    answering = asyncio.create_task(laptop.vote("bob", ask, "allow", wait_s=20))
    await laptop.voted(ask)
    await fleet.meet_all()
    with pytest.raises(AccountHeld, match="on hold when your answer reached desk") as refused:
        await answering
    assert refused.value.status == 403
    assert await desk.stands(ask) == ("waiting", None)


async def test_taking_back_works_on_hold(fleet: Fleet) -> None:
    desk = fleet["desk"]
    ask = await desk.ask("approval")
    await desk.vote(fleet.ann, ask, "allow")
    await tell(desk, 1, "on_hold")
    assert (await desk.take_back(fleet.ann, ask)).state == "taken_back"
    assert await desk.stands(ask) == ("void", "allowed")


@pytest.mark.parametrize("whose", [None, "bob"])
async def test_an_allow_is_not_handed_over_on_hold_and_is_after_it(
    fleet: Fleet, whose: str | None
) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await fleet.meet_all()
    await laptop.vote("bob", ask, "allow")
    await fleet.meet_all()
    await tell(desk, 1, "on_hold", whose)
    await fleet.meet_all()
    with pytest.raises(OnHold, match="not handed over while"):
        await desk.fetch(ask)
    for machine, person in ((desk, fleet.ann), (laptop, "bob")):
        card = (await machine.view(ask, person)).card
        assert (card.state, card.actions) == ("account_on_hold", [])
        assert "not handed over while" in card.sentence
    assert await desk.stands(ask) == ("closed", "allowed")
    await tell(desk, 2, "active", whose)
    assert (await desk.fetch(ask)).state == "allowed"


async def test_an_allow_that_got_too_old_on_hold_is_void(fleet: Fleet) -> None:
    desk = fleet["desk"]
    ask = await desk.ask("approval")
    await desk.vote(fleet.ann, ask, "allow")
    await tell(desk, 1, "on_hold")
    fleet.advance(3_600_000)
    assert (await desk.fetch(ask)).reason == "use-by passed"


async def test_the_standing_of_one_person_holds_that_person_alone(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await StandingDesk(desk.context).set_standing(
        viewer(fleet.ann), "Bob", "on_hold", remedy=None, reason="left the team"
    )
    await fleet.meet_all()
    with pytest.raises(AccountHeld, match=r"^Your account is on hold"):
        await laptop.vote("bob", ask, "allow")
    assert (await laptop.view(ask, "bob")).card.sentence.startswith("Your account is on hold")
    assert await shown(desk, fleet.ann) is None
    assert (await desk.vote(fleet.ann, ask, "allow")).state == "accepted"


async def test_reach_says_when_one_of_those_who_are_needed_is_on_hold(fleet: Fleet) -> None:
    desk = fleet["desk"]

    async def reach(needed: int) -> tuple[int, str | None]:
        quorum = Quorum(needed=needed)
        return await desk.reader.run(lambda connection: more_needed(connection, quorum, []))

    assert await reach(2) == (2, None)
    await tell(desk, 1, "on_hold", "bob")
    count, why = await reach(2)
    assert (count, "whose allow it needs is on hold" in (why or "")) == (1, True)
    assert await reach(1) == (1, None)
    assert "too few" in ((await reach(3))[1] or "")


async def test_deadlines_go_on_and_reach_says_why_nobody_can_answer(fleet: Fleet) -> None:
    desk = fleet["desk"]
    await tell(desk, 1, "on_hold")
    ask = await desk.ask("approval", deadline_s=60)
    answer = await desk.fetch(ask)
    assert answer.reach == 0
    assert "on hold" in (answer.reach_reason or "")
    fleet.advance(60_000)
    assert (await desk.fetch(ask)).state == "expired"
    await tell(desk, 1, "suspended", "bob")
    assert (await desk.fetch(await desk.ask())).reach == 0
    await tell(desk, 2, "active")
    assert (await desk.fetch(await desk.ask())).reach == 1


async def test_a_final_with_a_vote_of_who_was_on_hold_counts_nowhere(fleet: Fleet) -> None:
    """A home that takes it all the same convinces nobody: each node checks by itself."""
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await fleet.meet_all()
    await laptop.vote("bob", ask, "allow")
    await tell(desk, 1, "on_hold", "bob")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("node.desk.answers.accounts.refuses", lambda *_: None)
        with pytest.raises(Exception, match="account was on hold"):
            await fleet.carry("laptop", "desk")
    assert await desk.stands(ask) == ("waiting", None)


async def test_a_ruling_of_a_newer_home_leaves_the_ask_to_be_answered_again(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await fleet.meet_all()
    receipt = await laptop.vote("bob", ask, "allow")

    def ruled(transaction: Transaction) -> None:
        transaction.append(
            EntryType.RULING,
            RulingFacts(ask=ask, vote=bytes.fromhex(receipt.vote), ruling="adjourned", at=1),
        )

    await desk.writer.run("rule", ruled)
    await fleet.meet_all()
    card = (await laptop.view(ask, "bob")).card
    assert (card.state, card.actions) == ("away", ["deny", "allow"])
    assert await laptop.needs("bob") == 1
    assert "adjourned" in [line.text for line in await laptop.history(ask, "bob")]
    await laptop.vote("bob", ask, "deny")
    await fleet.meet_all()
    assert await desk.stands(ask) == ("closed", "denied")


async def test_a_level_of_a_newer_machine_holds_answers_back(fleet: Fleet) -> None:
    desk = fleet["desk"]
    ask = await desk.ask()
    facts = StandingFacts(person="bob", standing="frozen", by=fleet.ann, at=1)
    await fleet.state((EntryType.STANDING, facts))
    await fleet.meet_all()
    with pytest.raises(AccountHeld):
        await fleet["laptop"].vote("bob", ask, "decline")


async def test_the_gate_hands_no_allow_over_on_hold_and_does_after_it(fleet: Fleet) -> None:
    desk = fleet["desk"]
    gate = GateDesk(desk.context, RulesStore(desk.context))
    call = make_call("Bash", {"command": "make deploy"}, str(desk.home))

    async def hook(invocation: str) -> GateVerdict:
        return await gate.hold(
            GateHold(
                who=desk.asker(),
                call=call,
                match=None,
                stage="permission",
                invocation=invocation,
                tool_use_id=None,
                hold_s=0,
            )
        )

    assert (await hook("one")).printed_not_decided
    ask = f"{desk.id}-1"
    await desk.vote(fleet.ann, ask, "allow")
    await tell(desk, 1, "suspended")
    held = await hook("two")
    assert (held.allow, held.ask) == (False, f"{desk.id[:4]}-1")
    assert "not handed over while this account is suspended" in held.sentence
    assert await desk.stands(ask) == ("closed", "allowed")
    assert await desk.entries(EntryType.HANDOVER) == 0
    await tell(desk, 2, "active")
    assert (await hook("three")).allow
    assert await desk.stands(ask) == ("handed", "allowed")
