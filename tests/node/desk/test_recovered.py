"""The recovery words, used on one machine: what every other machine of the fleet makes of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.desk import holding, passphrase, persons
from node.desk.reading import banners
from node.store.hold import Sign
from node.store.rebuild import compare
from node.store.transaction import Transaction
from sync.decide import recovery
from sync.errors import NotAllowed
from sync.log.facts import PersonFacts, read
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine, viewer

PASSPHRASE = "four words are enough"


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a try costs is held elsewhere."""
    monkeypatch.setattr(passphrase, "_COST", 2)


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Ann's desk and laptop; Bob answers on the laptop as well."""
    async with fleet_of(tmp_path, "desk", "laptop", own="desk") as made:
        await made.give("laptop", made.ann)
        await made.person("bob", "member", "laptop")
        yield made


async def session(machine: Machine, person: str) -> str:
    made = await machine.writer.run(
        "session", lambda job: machine.sign_ins.open_session(job, person, "page", "test")
    )
    return made.secret


async def with_passphrase(machine: Machine) -> list[str]:
    return [row[0] for row in await machine.reader.run(persons.with_passphrase)]


async def told(machine: Machine) -> list[str]:
    now = machine.context.clock.now()
    return await machine.reader.run(lambda connection: banners(connection, now))


async def say(machine: Machine, fleet: Fleet, recovered: bytes, at: int = 7) -> None:
    """A version of Ann that carries this, from some machine of hers."""

    def job(transaction: Transaction) -> None:
        (head,) = transaction.row("SELECT head FROM person WHERE id = ?", fleet.ann)
        transaction.append(
            EntryType.PERSON,
            PersonFacts(
                person=fleet.ann, name="Ann", role="owner", replaces=head, by=fleet.ann,
                recovered=recovered, at=at,
            ),
        )  # fmt: skip

    await machine.writer.run("say", job)


async def test_every_machine_ends_its_sessions_and_approvals_once(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    sessions = [await session(laptop, fleet.ann), await session(laptop, "bob")]
    for person in (fleet.ann, "bob"):
        await laptop.sign_ins.set_passphrase(viewer(person), f"{PASSPHRASE} {person}", old=None)
    approval, question = await laptop.ask("approval"), await laptop.ask("question")
    wish = await laptop.sign_ins.request(where="an attic")
    await laptop.sign_ins.approve(viewer("bob"), wish.id, str(wish.digits))
    await desk.sign_ins.by_recovery(fleet.words, where="test")
    assert await laptop.sign_ins.viewer(sessions[0])
    fleet.advance(1)
    await fleet.meet_all()
    assert [await laptop.sign_ins.viewer(one) for one in sessions] == [None, None]
    assert await with_passphrase(laptop) == ["bob"]
    assert await laptop.stands(approval) == ("closed", "withdrawn")
    assert await laptop.stands(question) == ("waiting", None)
    closed = (await laptop.view(approval, fleet.ann)).card.sentence
    assert closed == "Withdrawn: the recovery words were used"
    assert "recovery words were used" in (await told(laptop))[0]
    with pytest.raises(NotAllowed, match="void"):
        await laptop.sign_ins.collect(wish.id, str(wish.digits))
    again = await session(laptop, fleet.ann)
    approval = await laptop.ask("approval", session="b")
    await fleet.state((EntryType.PERSON, PersonFacts(person="cid", name="Cid", role="member",
                                                     by=fleet.ann, at=1)))  # fmt: skip
    await fleet.meet_all()
    assert await laptop.sign_ins.viewer(again)
    assert await laptop.stands(approval) == ("waiting", None)
    assert compare(laptop.home) == []


async def test_only_the_words_of_the_fleet_say_it_and_only_in_that_entry(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    secret = await session(laptop, "bob")
    here = desk.identity
    other = recovery.sign(
        here.key, fleet=here.fleet, author=here.key.node_id, person=fleet.ann, at=7
    )
    await say(desk, fleet, other)
    await say(desk, fleet, b"")
    await say(desk, fleet, bytes(64), at=2**63 - 1)
    await desk.sign_ins.by_recovery(fleet.words, where="test")
    (raw,) = await desk.reader.run(
        lambda one: one.execute(
            "SELECT facts FROM entry WHERE type = ? ORDER BY n DESC LIMIT 1",
            (EntryType.PERSON.value,),
        ).fetchone()
    )
    assert b"recovered" in raw
    assert await told(laptop) == []
    assert await laptop.sign_ins.viewer(secret)
    await fleet.meet_all()
    assert await laptop.sign_ins.viewer(secret) is None
    # Somebody else says the same once more, in an entry of their own.
    secret = await session(desk, fleet.ann)
    facts = read(PersonFacts, raw)
    assert facts.recovered
    await say(laptop, fleet, facts.recovered, at=facts.at)
    await fleet.meet_all()
    assert await desk.sign_ins.viewer(secret)


async def test_who_is_let_in_later_has_nothing_to_end(fleet: Fleet, tmp_path: Path) -> None:
    await fleet["desk"].sign_ins.by_recovery(fleet.words, where="test")
    attic = await fleet.add(tmp_path, "attic")
    await fleet.give("attic", fleet.ann)
    approval = await attic.ask("approval")
    await fleet.meet_all()
    assert await attic.stands(approval) == ("waiting", None)
    assert await told(attic) == []


async def test_a_machine_on_hold_ends_its_approvals_when_it_decides_again(fleet: Fleet) -> None:
    laptop = fleet["laptop"]
    approval, secret = await laptop.ask("approval"), await session(laptop, "bob")
    await laptop.writer.run("hold", lambda job: holding.begin(job, Sign.BEHIND))
    await fleet["desk"].sign_ins.by_recovery(fleet.words, where="test")
    await fleet.meet_all()
    assert await laptop.sign_ins.viewer(secret) is None
    assert await laptop.stands(approval) == ("waiting", None)
    await laptop.writer.run("known", holding.end)
    assert await laptop.stands(approval) == ("closed", "withdrawn")


def test_what_cannot_be_signed_holds_not() -> None:
    facts = PersonFacts(person="ann", name="Ann", role="owner", recovered=b"x", at=2**70)
    assert not recovery.holds(facts, fleet=b"f", author=b"a", key=b"short")
    facts = PersonFacts(person="ann", name="Ann", role="owner", recovered=b"x", at=1)
    assert not recovery.holds(facts, fleet=b"f", author=b"a", key=b"short")
