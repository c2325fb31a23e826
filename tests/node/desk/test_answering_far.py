"""Answers given on one machine to what an agent asks on another: each comes to one ruling."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.store.transaction import Transaction
from sync.errors import Conflict, Invalid, NotAllowed, NotFound
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from web.desk import AskClosed


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", "laptop", "phone") as made:
        yield made


async def test_a_vote_is_kept_and_counts_once_the_home_hears_of_it(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask()
    await fleet.meet("desk", "laptop")
    assert await laptop.needs(fleet.ann) == 1
    receipt = await laptop.vote(fleet.ann, ask, "answer", text="8080")
    assert receipt.state == "recorded"
    assert (receipt.ask.card.state, receipt.ask.card.actions) == ("kept", ["take_back"])
    assert "until desk is back" in receipt.ask.card.sentence
    assert await laptop.needs(fleet.ann) == 0
    assert await laptop.stands(ask) == ("waiting", None)
    fleet.link("desk", "laptop")
    assert (await laptop.view(ask, fleet.ann)).card.state == "sending"
    await fleet.carry("laptop", "desk")
    assert await desk.stands(ask) == ("closed", "answered")
    answer = await desk.fetch(ask)
    assert (answer.state, answer.text, answer.by) == ("answered", "8080", "Ann")
    await fleet.carry("desk", "laptop")
    shown = await laptop.view(ask, fleet.ann)
    assert shown.card.state == "handed"
    assert shown.final is not None
    assert shown.final.machine == "laptop"


async def test_a_vote_waits_for_its_ruling(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await fleet.meet("desk", "laptop")
    waiting = asyncio.create_task(laptop.vote(fleet.ann, ask, "allow", wait_s=30))
    await laptop.voted(ask)
    await fleet.carry("laptop", "desk")
    assert not waiting.done()
    await fleet.carry("desk", "laptop")
    receipt = await asyncio.wait_for(waiting, 20)
    assert receipt.state == "accepted"
    assert receipt.ask.card.state == "not_picked_up"


async def test_a_waiting_agent_is_released_by_an_answer_from_elsewhere(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask()
    await fleet.meet("desk", "laptop")
    fetched = asyncio.create_task(desk.fetch(ask, wait_s=30))
    await laptop.vote(fleet.ann, ask, "answer", text="blue")
    await fleet.carry("laptop", "desk")
    assert (await asyncio.wait_for(fetched, 20)).text == "blue"


async def test_two_answers_at_once_make_one_final(fleet: Fleet) -> None:
    desk, laptop, phone = fleet["desk"], fleet["laptop"], fleet["phone"]
    bob = await fleet.person("bob", "member", "phone")
    ask = await desk.ask("approval")
    await fleet.meet_all()
    await laptop.vote(fleet.ann, ask, "allow")
    await phone.vote(bob, ask, "deny")
    await fleet.meet_all()
    assert await desk.entries(EntryType.FINAL) == 1
    for machine in fleet.machines.values():
        assert await machine.stands(ask) == ("closed", "allowed")
    lost = (await phone.view(ask, bob)).card
    assert lost.state == "lost"
    assert "by Ann on laptop" in lost.sentence
    said = [(line.who, line.text) for line in await phone.history(ask, bob)]
    assert ("Ann on laptop", "accepted") in said
    assert ("Bob on phone", "superseded") in said


async def test_an_answer_after_another_one_is_told_what_stands(fleet: Fleet) -> None:
    desk, laptop, phone = fleet["desk"], fleet["laptop"], fleet["phone"]
    bob = await fleet.person("bob", "member", "phone")
    ask = await desk.ask("approval")
    await fleet.meet_all()
    await laptop.vote(fleet.ann, ask, "deny")
    voting = asyncio.create_task(phone.vote(bob, ask, "allow", wait_s=30))
    await phone.voted(ask)
    await fleet.meet_all()
    with pytest.raises(AskClosed) as raised:
        await asyncio.wait_for(voting, 20)
    assert raised.value.final.by == "Ann"
    assert raised.value.final.machine == "laptop"
    assert str(raised.value).startswith("Denied by Ann on laptop. Your answer came later")


async def test_an_answer_after_the_deadline_is_late_and_nobodys_denial(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval", deadline_s=60)
    await fleet.meet("desk", "laptop")
    await laptop.vote(fleet.ann, ask, "allow")
    fleet.advance(60_000)
    passed = (await laptop.view(ask, fleet.ann)).card
    assert (passed.state, passed.actions, passed.needs_me) == ("deadline_passed", [], False)
    assert "desk has not confirmed" in passed.sentence
    assert "whether your answer came in time" in passed.sentence
    await laptop.sweeper.sweep()
    assert await laptop.stands(ask) == ("waiting", None)
    await fleet.carry("laptop", "desk")
    assert await desk.stands(ask) == ("closed", "expired")
    await fleet.carry("desk", "laptop")
    shown = await laptop.view(ask, fleet.ann)
    assert shown.card.state == "expired"
    assert "your answer came after it" in shown.card.sentence
    assert ("Ann on laptop", "late") in [
        (line.who, line.text) for line in await laptop.history(ask, fleet.ann)
    ]


async def test_a_taking_back_on_the_way_leaves_the_ask_open(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await fleet.meet("desk", "laptop")
    await laptop.vote(fleet.ann, ask, "allow")
    back = await laptop.take_back(fleet.ann, ask)
    assert (back.state, back.ask.card.state) == ("recorded", "taking_back")
    assert await laptop.needs(fleet.ann) == 0
    await fleet.meet("laptop", "desk")
    assert await desk.stands(ask) == ("waiting", None)
    shown = (await laptop.view(ask, fleet.ann)).card
    assert (shown.state, shown.needs_me) == ("away", True)
    assert await laptop.needs(fleet.ann) == 1
    await laptop.vote(fleet.ann, ask, "deny")
    await fleet.meet("laptop", "desk")
    assert await desk.stands(ask) == ("closed", "denied")


async def test_a_taking_back_that_overtakes_its_vote_still_counts(fleet: Fleet) -> None:
    desk, laptop, phone = fleet["desk"], fleet["laptop"], fleet["phone"]
    ask = await desk.ask("approval")
    await fleet.meet_all()
    await laptop.vote(fleet.ann, ask, "allow")
    await fleet.carry("laptop", "phone")
    await phone.take_back(fleet.ann, ask)
    await fleet.carry("phone", "desk", only="phone")
    assert await desk.stands(ask) == ("waiting", None)
    await fleet.carry("laptop", "desk")
    assert await desk.stands(ask) == ("waiting", None)
    await fleet.meet_all()
    said = [line.text for line in await laptop.history(ask, fleet.ann)]
    assert said.count("taken back") == 2


async def test_a_taking_back_races_the_hand_over(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    for handed in (False, True):
        ask = await desk.ask("approval", title=f"Deploy {handed}", call=None)
        await fleet.meet("desk", "laptop")
        await laptop.vote(fleet.ann, ask, "allow")
        await fleet.meet("desk", "laptop")
        if handed:
            assert (await desk.fetch(ask)).state == "allowed"
        # The laptop has not heard of the hand-over.
        await laptop.take_back(fleet.ann, ask)
        assert (await laptop.view(ask, fleet.ann)).card.state == "taking_back"
        await fleet.meet("desk", "laptop")
        assert await desk.stands(ask) == ("handed" if handed else "void", "allowed")
        assert (await laptop.view(ask, fleet.ann)).card.state == (
            "handed" if handed else "taken_back"
        )
        if not handed:
            told = await desk.fetch(ask)
            assert (told.state, told.reason) == ("void", "taken back")
        else:
            with pytest.raises(Conflict, match="handed over already"):
                await laptop.take_back(fleet.ann, ask)


async def test_a_third_machine_that_met_both_delivers(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask()
    await fleet.carry("desk", "phone")
    await fleet.carry("phone", "laptop")
    await laptop.vote(fleet.ann, ask, "answer", text="yes")
    fleet.advance(7 * 24 * 3_600_000)
    await fleet.carry("laptop", "phone")
    await fleet.carry("phone", "desk")
    assert (await desk.fetch(ask)).text == "yes"
    await fleet.carry("desk", "phone")
    await fleet.carry("phone", "laptop")
    assert (await laptop.view(ask, fleet.ann)).card.state == "handed"


async def test_a_home_that_was_restarted_rules_on_what_it_holds(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask()
    await fleet.meet("desk", "laptop")
    await laptop.vote(fleet.ann, ask, "answer", text="yes")
    await laptop.restart()
    assert (await laptop.view(ask, fleet.ann)).card.state == "kept"
    await desk.restart()
    await fleet.meet("desk", "laptop")
    await desk.restart()
    assert await desk.entries(EntryType.FINAL) == 1
    assert (await desk.fetch(ask)).text == "yes"


async def test_only_the_home_expires_hands_over_and_voids(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    question = await desk.ask(deadline_s=60)
    approval = await desk.ask("approval")
    await fleet.meet("desk", "laptop")
    await laptop.vote(fleet.ann, approval, "allow")
    await fleet.meet("desk", "laptop")
    before = await laptop.heads()
    fleet.advance(3 * 3_600_000)
    await laptop.sweeper.sweep()
    await laptop.answers.rule_open()
    for ask in (question, approval):
        with pytest.raises(NotAllowed, match="another machine"):
            await laptop.fetch(ask)
        with pytest.raises(NotAllowed, match="another machine"):
            await laptop.agents.withdraw(laptop.asker(), ask, reason="x", request="")
        with pytest.raises(NotAllowed, match="another machine"):
            await laptop.agents.claim(laptop.asker(), ask, take_over=True, request="")
        with pytest.raises(NotAllowed, match="another machine"):
            await laptop.agents.resolve(
                laptop.asker(), ask, token=None, outcome="x", ok=True, request=""
            )
    after = await laptop.heads()
    assert after == before
    await desk.sweeper.sweep()
    assert await desk.stands(question) == ("closed", "expired")
    assert await desk.stands(approval) == ("void", "allowed")


async def test_a_number_means_this_machines_ask_to_an_agent(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    mine, other = await desk.ask(), await laptop.ask()
    await fleet.meet("desk", "laptop")
    number = mine.rpartition("-")[2]
    assert other.endswith(f"-{number}")
    assert (await desk.fetch(number)).full_id == mine
    assert (await laptop.fetch(number)).full_id == other
    assert (await desk.reading.ask(number, None)).ask.id == mine
    # A person may mean either, so neither is taken.
    with pytest.raises(Invalid, match="several asks"):
        await desk.reading.ask(number, fleet.ann)
    with pytest.raises(NotFound):
        await laptop.fetch("77")


async def test_an_agent_sees_its_projects_rows_of_all_machines(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    mine, other = await laptop.ask(), await desk.ask()
    await fleet.meet("desk", "laptop")
    listed = {row.full_id: row.mine for row in await laptop.agents.pending(laptop.asker())}
    assert listed == {mine: True, other: False}


async def test_sessions_of_the_same_name_are_not_mixed(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await fleet.meet("desk", "laptop")
    await laptop.vote(fleet.ann, ask, "allow")
    await fleet.meet("desk", "laptop")
    await desk.fetch(ask)
    await fleet.meet("desk", "laptop")
    fleet.advance(11 * 60_000)
    # A session of the same id lives on the laptop: it renews no lease of the desk's.
    await laptop.ask(session="s")
    fleet.link("desk", "laptop")
    assert (await laptop.view(ask, fleet.ann)).card.state == "outcome_unknown"
    fleet.cut("desk", "laptop")
    silent = (await laptop.view(ask, fleet.ann)).card
    assert silent.state == "not_seen"
    assert "desk was not seen since" in silent.sentence
    # What that session raised later on its own machine does renew it.
    await desk.ask(title="Next")
    await fleet.meet("desk", "laptop")
    assert (await laptop.view(ask, fleet.ann)).card.state == "handed"


async def test_the_asks_of_a_removed_machine_are_over(fleet: Fleet) -> None:
    laptop, phone = fleet["laptop"], fleet["phone"]
    ask = await phone.ask("approval")
    await fleet.meet_all()
    await fleet.remove("phone")
    await fleet.carry("desk", "laptop")
    shown = (await laptop.view(ask, fleet.ann)).card
    assert (shown.state, shown.actions, shown.open) == ("machine_removed", [], False)
    assert "by Ann" in shown.sentence
    assert await laptop.needs(fleet.ann) == 0
    listed = [row.full_id for row in await laptop.agents.pending(laptop.asker())]
    assert listed == []
    with pytest.raises(Conflict, match="no machine of this fleet"):
        await laptop.vote(fleet.ann, ask, "deny")


async def test_who_this_machine_does_not_speak_for_answers_elsewhere(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    bob = await fleet.person("bob", "member", "phone")
    ask = await desk.ask()
    await fleet.meet_all()
    shown = (await laptop.view(ask, bob)).card
    assert (shown.state, shown.actions) == ("restricted", [])
    assert "does not speak for you" in shown.sentence
    assert await laptop.needs(bob) == 0
    assert await fleet["phone"].needs(bob) == 1
    with pytest.raises(NotAllowed, match="does not speak for you"):
        await laptop.vote(bob, ask, "decline")


async def test_a_call_that_is_not_here_cannot_be_allowed_here(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await fleet.meet("desk", "laptop")
    blob = (await laptop.row(ask)).blob
    assert blob is not None
    (laptop.home / "blobs" / blob.hex()).unlink()
    shown = (await laptop.view(ask, fleet.ann)).card
    assert shown.actions == ["deny"]
    assert "exact call is still on its way" in shown.sentence
    with pytest.raises(NotFound):
        await laptop.vote(fleet.ann, ask, "allow")
    assert (await laptop.vote(fleet.ann, ask, "deny")).state == "recorded"


async def test_a_machine_whose_log_forked_must_rejoin(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await fleet.meet("desk", "laptop")

    def fork(transaction: Transaction) -> None:
        node, own = desk.identity.key.node_id, laptop.identity.fleet
        transaction.run(
            "INSERT INTO fork VALUES (?, ?, 0, 9, ?, ?, ?, ?, 1)", own, node, *([b"side"] * 4)
        )

    await laptop.writer.run("fork", fork)
    shown = (await laptop.view(ask, fleet.ann)).card
    assert (shown.state, shown.actions) == ("must_rejoin", [])
    assert await laptop.needs(fleet.ann) == 0
    with pytest.raises(Conflict, match="must join again"):
        await laptop.vote(fleet.ann, ask, "deny")
