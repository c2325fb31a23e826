"""What persons are called for, on every machine alike; and that silence never means yes."""

import sqlite3
from functools import partial
from pathlib import Path

import msgspec
import pytest

from node.desk import attention_desk
from node.desk.attention_desk import AttentionBook, view_of
from node.desk.raising import NewAsk, record
from node.store.transaction import Transaction
from sync.decide.ask import Kind
from sync.errors import Invalid, NotAllowed, NotFound, TooMany
from sync.limits import CLOCK_AHEAD_MS, DAY_MS, HOUR_MS, MUTE_MAX_MS
from sync.log.attention_facts import QuietHours as SignedQuiet
from sync.log.attention_facts import SubscriptionFacts
from sync.log.facts import VoteFacts, read
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import LIMITS, Machine, viewer
from web.attention_views import AttentionView, QuietHours, Subscribing


def book(machine: Machine) -> AttentionBook:
    return AttentionBook(machine.context)


async def mute(machine: Machine, person: str, milliseconds: int | None) -> AttentionView:
    until = None if milliseconds is None else machine.context.clock.now() + milliseconds
    return await book(machine).mute(viewer(person), until)


async def subscribe(there: Machine, person: str, agent: str, **more: object) -> AttentionView:
    wanted = msgspec.convert({"agent": agent, "on": False, **more}, Subscribing)
    return await book(there).subscribe(viewer(person), wanted)


async def escalating(machine: Machine, milliseconds: int, role: str = "admin") -> str:
    """An ask that goes on to others; a rule says so, for what a gate raises."""

    def job(transaction: Transaction) -> str:
        ask = NewAsk(kind=Kind.QUESTION, title="Now?", escalate_ms=milliseconds, escalate_to=role)
        return record(transaction, machine.asker(), ask, LIMITS).id

    return await machine.writer.run("ask", job)


async def said_of(fleet: Fleet, machine: str, person: str) -> AttentionView:
    def look(connection: sqlite3.Connection) -> AttentionView:
        return view_of(connection, person, fleet[machine].context.clock.now())

    return await fleet[machine].reader.run(look)


async def test_a_mute_is_quiet_everywhere_and_ends_by_itself(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        desk, laptop = fleet["desk"], fleet["laptop"]
        ask = await desk.ask()
        await fleet.meet_all()
        assert await laptop.needs(fleet.ann) == 1
        shown = await mute(laptop, fleet.ann, HOUR_MS)
        assert (shown.state, shown.until) == ("muted", laptop.context.clock.now() + HOUR_MS)
        await fleet.meet_all()
        for machine in (desk, laptop):
            card = (await machine.view(ask, fleet.ann)).card
            assert await machine.needs(fleet.ann) == 0
            assert (card.needs_me, card.attention, card.open) == (False, "muted", True)
            assert card.actions == ["answer", "decline"]
            assert "You are muted" in card.sentence
            await machine.sweeper.sweep()
        told: list[set[str]] = []
        desk.noticed = told.append
        fleet.advance(HOUR_MS)
        await desk.sweeper.sweep()
        assert {"attention"} in told
        for machine in (desk, laptop):
            assert await machine.needs(fleet.ann) == 1
            assert (await machine.view(ask, fleet.ann)).card.attention == "called"


async def test_the_last_word_counts_whoever_heard_it_first(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        await mute(fleet["desk"], fleet.ann, HOUR_MS)
        fleet.advance(1000)
        await mute(fleet["laptop"], fleet.ann, None)
        await fleet.meet_all()
        for machine in ("desk", "laptop"):
            assert (await said_of(fleet, machine, fleet.ann)).state == "called"


async def test_only_a_machine_that_speaks_for_someone_says_what_calls_them(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk", "laptop", own="desk") as fleet:
        laptop = fleet["laptop"]
        with pytest.raises(NotAllowed, match="does not speak for you"):
            await mute(laptop, fleet.ann, HOUR_MS)
        now = laptop.context.clock.now()
        lie = SubscriptionFacts(person=fleet.ann, field="mute", until=now + HOUR_MS, at=now)
        await laptop.writer.run(
            "lie", lambda transaction: transaction.append(EntryType.SUBSCRIPTION, lie)
        )
        await fleet.meet_all()
        for machine in ("desk", "laptop"):
            assert (await said_of(fleet, machine, fleet.ann)).state == "called"
        # Once it may speak for her, what it says counts; and a removed one has said it.
        await fleet.give("laptop", fleet.ann)
        await fleet.meet_all()
        assert (await said_of(fleet, "desk", fleet.ann)).state == "muted"
        await fleet.remove("laptop")
        assert (await said_of(fleet, "desk", fleet.ann)).state == "muted"


async def test_a_stamp_of_a_clock_far_ahead_waits(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        desk, laptop = fleet["desk"], fleet["laptop"]
        laptop.times.advance(CLOCK_AHEAD_MS + 60_000)
        await mute(laptop, fleet.ann, 2 * HOUR_MS)
        await fleet.carry("laptop", "desk")
        assert (await said_of(fleet, "desk", fleet.ann)).state == "called"
        desk.times.advance(60_001)
        await desk.sweeper.sweep()
        assert (await said_of(fleet, "desk", fleet.ann)).state == "muted"


async def test_silence_never_means_yes(tmp_path: Path) -> None:
    """Muting, quiet hours and unsubscribing close, allow and deny nothing."""
    async with fleet_of(tmp_path, "desk") as fleet:
        desk = fleet["desk"]
        asks = [await desk.ask("approval", deadline_s=3600), await desk.ask(deadline_s=3600)]
        await mute(desk, fleet.ann, DAY_MS)
        await subscribe(desk, fleet.ann, "*")
        every = QuietHours(days=list(range(7)), start="00:00", end="23:59", zone="UTC")
        await book(desk).set_quiet(viewer(fleet.ann), every)
        await desk.sweeper.sweep()
        kinds = (EntryType.VOTE, EntryType.RULING, EntryType.FINAL, EntryType.HANDOVER)
        assert [await desk.entries(kind) for kind in kinds] == [0, 0, 0, 0]
        assert [await desk.stands(ask) for ask in asks] == [("waiting", None)] * 2
        late = await desk.ask("approval", session="t")
        fetched = await desk.fetch(late, session="t")
        assert (fetched.state, fetched.reach) == ("waiting", 1)
        assert "nobody who may answer is called" in (fetched.reach_reason or "")
        fleet.advance(HOUR_MS)
        await desk.sweeper.sweep()
        assert [await desk.stands(ask) for ask in asks] == [("closed", "expired")] * 2
        # Whoever looks answers as ever, and the answer is what decides.
        receipt = await desk.vote(fleet.ann, late, "deny")
        assert receipt.state == "accepted"
        assert (await desk.stands(late))[1] == "denied"


async def test_where_nobody_is_called_agent_and_card_say_so(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk", "laptop", own="desk") as fleet:
        desk = fleet["desk"]
        await fleet.person("bob", "member", "laptop")
        await mute(desk, fleet.ann, HOUR_MS)
        ask = await desk.ask()
        assert (await desk.fetch(ask)).reach_reason is None
        await subscribe(fleet["laptop"], "bob", "cl*")
        await fleet.meet_all()
        reason = (await desk.fetch(ask)).reach_reason or ""
        assert "Ann muted everything for a while" in reason
        assert "Bob did not subscribe to this agent" in reason
        for machine, person in (("desk", fleet.ann), ("laptop", "bob")):
            card = (await fleet[machine].view(ask, person)).card
            assert "Nobody who may answer is called for it now." in card.sentence


async def test_an_escalation_calls_over_mute_and_subscription(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        desk, laptop = fleet["desk"], fleet["laptop"]
        await subscribe(desk, fleet.ann, "*")
        await mute(desk, fleet.ann, DAY_MS)
        ask = await escalating(desk, HOUR_MS)
        unknown = await escalating(desk, 1, "tsar")
        await fleet.meet_all()
        await laptop.sweeper.sweep()
        assert await laptop.needs(fleet.ann) == 0
        told: list[set[str]] = []
        laptop.noticed = told.append
        fleet.advance(HOUR_MS)
        assert await laptop.sweeper.sweep() > 0
        assert {"ask"} in told
        for machine in (desk, laptop):
            card = (await machine.view(ask, fleet.ann)).card
            assert (card.needs_me, card.attention) == (True, "escalated")
            assert not (await machine.view(unknown, fleet.ann)).card.needs_me
            assert await machine.needs(fleet.ann) == 1
        assert await desk.stands(ask) == ("waiting", None)


async def test_badge_and_cards_agree_whatever_was_said(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk") as fleet:
        desk = fleet["desk"]
        asks = [await desk.ask(session=str(number)) for number in range(3)]
        asks.append(await escalating(desk, 1))
        fleet.advance(10)
        steps = [
            partial(subscribe, desk, fleet.ann, "claude"),
            partial(subscribe, desk, fleet.ann, "claude", project="shop", on=True),
            partial(subscribe, desk, fleet.ann, "claude", project="shop", on=None),
            partial(subscribe, desk, fleet.ann, "*", machine="desk", on=True),
            partial(mute, desk, fleet.ann, HOUR_MS),
            partial(mute, desk, fleet.ann, None),
        ]
        counted = []
        for step in steps:
            await step()
            cards = [(await desk.view(ask, fleet.ann)).card.needs_me for ask in asks]
            assert sum(cards) == await desk.needs(fleet.ann)
            counted.append(sum(cards))
        assert counted == [1, 4, 1, 4, 1, 4]


async def test_what_cannot_be_meant_is_refused_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_desk, "SUBSCRIPTIONS", 3)
    async with fleet_of(tmp_path, "desk") as fleet:
        desk = fleet["desk"]
        for wrong in (-1, 0, MUTE_MAX_MS + 1):
            with pytest.raises(Invalid, match="A mute ends after now"):
                await mute(desk, fleet.ann, wrong)
        nowhere = QuietHours(days=[0], start="22:00", end="07:00", zone="../etc/passwd")
        with pytest.raises(Invalid, match="knows no time zone"):
            await book(desk).set_quiet(viewer(fleet.ann), nowhere)
        never = QuietHours(days=[0], start="07:00", end="07:00", zone="UTC")
        with pytest.raises(Invalid, match="would be none, or all"):
            await book(desk).set_quiet(viewer(fleet.ann), never)
        with pytest.raises(NotFound, match="No machine"):
            await subscribe(desk, fleet.ann, "claude", machine="moon")
        with pytest.raises(Invalid):
            await subscribe(desk, fleet.ann, "  ")
        with pytest.raises(NotAllowed):
            await mute(desk, "nobody", HOUR_MS)
        for number in range(3):
            await subscribe(desk, fleet.ann, f"agent-{number}")
        with pytest.raises(TooMany):
            await subscribe(desk, fleet.ann, "one more")
        await subscribe(desk, fleet.ann, "agent-0", on=None)
        shown = await subscribe(desk, fleet.ann, "one more")
        assert len(shown.subscriptions) == 3


async def test_hours_in_a_zone_that_is_not_known_here_are_not_quiet(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk") as fleet:
        desk = fleet["desk"]
        hours = SignedQuiet(zone="Mars/Base", days=list(range(7)), start=0, end=1439)
        said = SubscriptionFacts(person=fleet.ann, field="quiet", quiet=hours, at=1)
        await desk.writer.run(
            "said", lambda transaction: transaction.append(EntryType.SUBSCRIPTION, said)
        )
        shown = await said_of(fleet, "desk", fleet.ann)
        assert shown.state == "called"
        assert shown.quiet is not None
        assert not shown.quiet.known


async def test_a_vote_says_on_which_place_it_was_given_and_no_secret(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk") as fleet:
        desk = fleet["desk"]
        await desk.vote(fleet.ann, await desk.ask(), "answer", text="yes")
        (facts,) = await desk.reader.run(
            lambda connection: connection.execute(
                "SELECT facts FROM entry WHERE type = ?", (EntryType.VOTE,)
            ).fetchone()
        )
        assert read(VoteFacts, facts).session == "page x"
