"""Accounts on hold over real stores: what is refused where, what is kept, what comes after."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from node.desk import accounts
from node.desk.gate import GateDesk
from node.desk.persons import conflicts, everyone
from node.desk.protocols import GateHold, GateVerdict
from node.desk.rules_store import RulesStore
from node.desk.standing import StandingDesk, banner
from node.gate.call import make_call
from node.limits import WORDS_PER_HOUR
from node.store.rebuild import compare
from node.store.transaction import Transaction
from sync.decide import word
from sync.decide.standing import strictest
from sync.errors import AccountHeld, Conflict, Invalid, NotAllowed, NotFound, OnHold, TooMany
from sync.log.facts import RulingFacts, StandingFacts
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine, viewer
from tests.sync.decide.accounts import private, public, raw_word
from web.account_views import BannerView, StandingView, WordTaken

PAY = "https://pay.example/x"


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Ann's desk and Bob's laptop; the operator `billing` is registered."""
    async with fleet_of(tmp_path, "desk", "laptop", own="desk") as made:
        desk = StandingDesk(made["desk"].context)
        await desk.add_operator(viewer(made.ann), "billing", public("billing"))
        await made.person("bob", "member", "laptop")
        yield made


async def tell(
    machine: Machine, serial: int, level: str, person: str | None = None, **more: object
) -> WordTaken:
    """The operator's system brings a word to a machine."""
    raw = raw_word(serial, level, person, fleet=machine.identity.fleet.hex(), **more)
    signature = private("billing").sign(word.PREFIX + raw)
    return await StandingDesk(machine.context).standing_word(public("billing"), raw, signature)


async def shown(machine: Machine, person: str | None) -> BannerView | None:
    return await machine.reader.run(lambda connection: banner(connection, person))


async def view(machine: Machine, person: str) -> StandingView:
    return await StandingDesk(machine.context).standing(viewer(person))


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
    assert "came while the account was on hold; answer again" in card.sentence
    await laptop.vote("bob", ask, "deny")
    await fleet.meet_all()
    assert await desk.stands(ask) == ("closed", "denied")


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


async def test_the_tables_can_be_derived_again_and_pages_hear_of_it(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    topics: set[str] = set()
    laptop.noticed = topics.update
    await tell(desk, 1, "grace", remedy=PAY)
    await fleet.meet("desk", "laptop")
    assert "node" in topics
    assert compare(laptop.home) == []


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
