"""What a page counts and lists of other machines: the badge agrees with the cards."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from node.desk.far import tell_cards
from node.desk.rows import followed
from node.desk.sight import FarSession
from node.desk.views import Looking
from node.store.transaction import Transaction
from sync.log.facts import AskFacts, AskText, Quorum
from sync.log.kinds import EntryType
from sync.log.names import ask_name
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine
from web.views import AskView, Counts, SessionView


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", "laptop", "phone") as made:
        yield made


async def guarded(machine: Machine, number: int, *, role: str | None, needed: int = 1) -> str:
    """An approval as a rule with a quorum will raise it."""

    def job(transaction: Transaction) -> str:
        facts = AskFacts(
            number=number,
            kind="approval",
            agent="claude",
            session="s",
            project="shop",
            created=transaction.now,
            deadline=transaction.now + 3_600_000,
            quorum=Quorum(needed=needed, role=role),
        )
        transaction.append(EntryType.ASK, facts, AskText(title=f"Guarded {number}"))
        transaction.change("ask", ask_name(machine.identity.key.node_id, number))
        return ask_name(machine.identity.key.node_id, number)

    return await machine.writer.run("ask", job)


async def looked(machine: Machine, person: str) -> tuple[Counts, list[AskView]]:
    def read(looking: Looking) -> tuple[Counts, list[AskView]]:
        return looking.counts(), looking.shown()

    return await machine.reader.run(
        lambda connection: read(Looking(machine.context, connection, person))
    )


async def test_the_badge_counts_the_cards_that_need_the_person(fleet: Fleet) -> None:
    desk, laptop, phone = fleet["desk"], fleet["laptop"], fleet["phone"]
    people = [
        fleet.ann,
        await fleet.person("bob", "member", "phone", "laptop"),
        await fleet.person("cid", "admin", "laptop"),
        await fleet.person("dot", "viewer", "phone"),
    ]
    asks = [await guarded(desk, 50 + n, role=role) for n, role in enumerate(GUARDS)]
    two = await guarded(desk, 70, role=None, needed=2)
    asks += [await desk.ask(), await laptop.ask(), await phone.ask(deadline_s=60), two]
    await fleet.meet_all()
    await laptop.vote("bob", two, "allow")
    await fleet.meet_all()
    await check(fleet, people)
    shown = (await phone.view(two, "bob")).card
    assert (shown.state, shown.sentence) == ("counted", "Your answer counts: 1 of 2.")
    assert "1 of 2 so far" in (await desk.view(two, fleet.ann)).card.sentence
    await phone.take_back("bob", two)
    await check(fleet, people)
    await fleet.meet_all()
    await check(fleet, people)
    assert (await phone.view(two, "bob")).card.needs_me
    await laptop.vote("cid", asks[0], "allow")
    await laptop.vote(fleet.ann, two, "allow")
    fleet.advance(60_000)
    await check(fleet, people)
    await fleet.remove("phone")
    await fleet.carry("desk", "laptop")
    await check(fleet, people)


GUARDS = [None, "member", "admin", "owner", "of a newer askmesh"]


async def check(fleet: Fleet, people: list[str]) -> None:
    """Every page's badge against that page's own cards."""
    for machine in fleet.machines.values():
        for person in people:
            counts, shown = await looked(machine, person)
            wanting = [ask.short for ask in shown if ask.card.needs_me]
            assert counts.needs_me == len(wanting), (machine.home.name, person, wanting)
            opened = [ask for ask in shown if ask.card.open]
            assert counts.open == len(opened)


async def test_an_admin_may_answer_what_a_member_guards(fleet: Fleet) -> None:
    ask = await guarded(fleet["desk"], 50, role="member")
    await fleet.meet_all()
    assert await fleet["laptop"].needs(fleet.ann) == 1
    await fleet["laptop"].vote(fleet.ann, ask, "allow")
    await fleet.meet_all()
    assert await fleet["desk"].stands(ask) == ("closed", "allowed")


async def test_two_of_two_from_two_machines(fleet: Fleet) -> None:
    bob = await fleet.person("bob", "member", "phone")
    ask = await guarded(fleet["desk"], 50, role=None, needed=2)
    await fleet.meet_all()
    await fleet["laptop"].vote(fleet.ann, ask, "allow")
    await fleet["phone"].vote(bob, ask, "allow")
    await fleet.meet_all()
    assert await fleet["desk"].stands(ask) == ("closed", "allowed")
    # Each of the two may take it back, from any machine that is theirs.
    for machine, person in (("desk", fleet.ann), ("laptop", fleet.ann), ("phone", bob)):
        assert (await fleet[machine].view(ask, person)).card.actions == ["take_back"]
    await fleet["laptop"].take_back(fleet.ann, ask)
    await fleet.meet_all()
    assert await fleet["desk"].stands(ask) == ("void", "allowed")


def far_session(node: str, session: str = "s") -> FarSession:
    return FarSession(
        node=node,
        id=session,
        agent="claude",
        project="git@example.org:team/shop",
        started=1,
        last_heard=5,
        status="tests run",
        heard=9,
    )


async def test_sessions_elsewhere_are_shown_with_the_age_of_the_word(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    await desk.ask()
    await laptop.ask()
    await fleet.meet("desk", "laptop")
    laptop.seen.told = [far_session(desk.id)]

    def read(looking: Looking) -> list[SessionView]:
        return looking.sessions("s")

    mine, other = await laptop.reader.run(
        lambda connection: read(Looking(laptop.context, connection, fleet.ann))
    )
    assert (mine.machine.name, mine.open_asks) == ("laptop", 1)
    assert (other.machine.name, other.open_asks, other.heard) == ("desk", 1, 9)
    assert (other.status, other.project_name) == ("tests run", "shop")


async def test_a_far_session_that_was_heard_has_the_call_still(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask("approval")
    await fleet.meet("desk", "laptop")
    await laptop.vote(fleet.ann, ask, "allow")
    await fleet.meet("desk", "laptop")
    await desk.fetch(ask)
    await fleet.meet("desk", "laptop")
    fleet.advance(11 * 60_000)
    fleet.link("desk", "laptop")
    assert (await laptop.view(ask, fleet.ann)).card.state == "outcome_unknown"
    told = far_session(desk.id)
    heard = laptop.context.clock.now() - 60_000
    laptop.seen.told = [msgspec.structs.replace(told, last_heard=heard)]
    assert (await laptop.view(ask, fleet.ann)).card.state == "handed"


async def test_cards_are_told_anew_when_a_machine_comes_or_goes(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask, other = await desk.ask(), await laptop.ask()
    await fleet.meet("desk", "laptop")

    def job(transaction: Transaction) -> list[str]:
        tell_cards(transaction, desk.id)
        return [ref for _, _, ref in transaction.changes]

    told = await laptop.writer.run("tell", job)
    assert told == [ask]
    assert other not in told


async def test_a_page_hears_that_a_deadline_elsewhere_has_passed(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    ask = await desk.ask(deadline_s=60)
    await fleet.meet("desk", "laptop")
    assert await laptop.sweeper.sweep() == 60
    fleet.advance(60_000)
    with laptop.context.signals.of(ask) as changed:
        await laptop.sweeper.sweep()
        assert changed.is_set()
        changed.clear()
        await laptop.sweeper.sweep()
        assert not changed.is_set()


async def test_an_ask_that_was_raised_again_is_found_under_its_old_id(fleet: Fleet) -> None:
    desk = fleet["desk"]
    old = await desk.ask(title="Old")
    new = await desk.ask(title="New")
    newest = await desk.ask(title="Newest")

    def alias(transaction: Transaction) -> None:
        for one, next_one in ((old, new), (new, newest)):
            transaction.run("INSERT INTO ask_alias VALUES (?, ?)", one, next_one)

    await desk.writer.run("alias", alias)
    assert (await desk.fetch(old)).full_id == newest
    assert (await desk.fetch(old.rpartition("-")[2])).full_id == newest

    def circle(transaction: Transaction) -> None:
        transaction.run("INSERT INTO ask_alias VALUES (?, ?)", newest, old)

    await desk.writer.run("alias", circle)
    # A circle cannot come from our own joining; it must not hang a reader either.
    assert await desk.reader.run(lambda connection: followed(connection, old)) is not None


async def test_a_waiter_goes_on_waiting_on_the_new_ask(fleet: Fleet) -> None:
    desk = fleet["desk"]
    old = await desk.ask(title="Old")
    new = await desk.ask(title="New")
    waiting = asyncio.create_task(desk.fetch(old, wait_s=30))

    def alias(transaction: Transaction) -> None:
        transaction.run("INSERT INTO ask_alias VALUES (?, ?)", old, new)
        transaction.change("ask", old)

    await desk.writer.run("alias", alias)
    await desk.vote(fleet.ann, new, "answer", text="yes")
    answer = await asyncio.wait_for(waiting, 20)
    assert (answer.full_id, answer.text) == (new, "yes")


async def test_changes_of_many_machines_show_the_fleet_once(fleet: Fleet) -> None:
    """Two hundred machines that come at one moment are one change for the page, not as many."""
    desk = fleet["desk"]
    since = await desk.reading.last_number()

    def several(transaction: Transaction) -> None:
        for topic, ref in (("fleet", "one"), ("ask", "none"), ("fleet", "two"), ("ask", "none")):
            transaction.change(topic, ref)

    await desk.writer.run("several", several)
    changes = desk.reading.changes(since, fleet.ann)
    told = [await anext(changes) for _ in range(2)]
    await changes.aclose()  # type: ignore[attr-defined]
    shown = [(one.topic, one.ref, one.n - since) for one in told if one is not None]
    assert shown == [("fleet", "two", 3), ("ask", "none", 4)]
