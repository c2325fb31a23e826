"""What people and machines may be called, and that who has a bad name of old can be managed."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.desk import passphrase, persons
from node.desk.standing import StandingDesk
from node.fleet import machines, people
from node.fleet.invitations import Invitations
from sync.decide.visible import visible_line
from sync.errors import AskmeshError, Conflict, Invalid, NotAllowed, NotFound
from sync.log.entry import NodeKey
from sync.log.facts import MemberFacts, PersonFacts
from sync.log.kinds import EntryType
from sync.log.names import node_name
from sync.net.certificate import certificate_of
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import TOKEN, Machine, viewer

HIDDEN = "Bob\u202e\u200b"
OF_AN_ID = "q" * 16


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a try costs is held elsewhere."""
    monkeypatch.setattr(passphrase, "_COST", 2)


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", own="desk") as made:
        yield made


def door(machine: Machine) -> Invitations:
    return Invitations(machine.context, machine.sign_ins, machine.sign_ins.tries)


async def of_old(fleet: Fleet, person: str, name: str) -> str:
    """Someone whom an older or a hostile node named."""
    facts = PersonFacts(person=person, name=name, role="member", by=fleet.ann, at=1)
    await fleet.state((EntryType.PERSON, facts))
    return person


async def machine_of_old(fleet: Fleet, name: str) -> str:
    key = NodeKey(Ed25519PrivateKey.generate())
    facts = MemberFacts(
        node_key=key.public, certificate=certificate_of(key), machine=name, by=fleet.ann, at=1
    )
    await fleet.state((EntryType.MEMBER, facts))
    return node_name(key.node_id)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (HIDDEN, r"U\+202E"),
        ("Bob\nAnn", r"U\+000A"),
        (" ", "empty"),
        ("x" * 65, "65 characters"),
        ("ann", "looks like Ann"),
        ("\u0410nn", "looks like Ann"),
        ("Ann ", "There is a Ann already"),
        (OF_AN_ID, "form of an id"),
    ],
)
async def test_nobody_is_invited_or_comes_by_such_a_name(
    fleet: Fleet, name: str, said: str
) -> None:
    desk = fleet["desk"]
    with pytest.raises(AskmeshError, match=said):
        await door(desk).invite(viewer(fleet.ann), name=name, role="member")
    with pytest.raises(AskmeshError, match=said):
        await desk.writer.run(
            "guest", lambda job: people.guest(job, viewer(fleet.ann), name, "member")
        )
    if not name.strip():
        return  # Whoever is invited and gives no name keeps the one of the invitation.
    made = await door(desk).invite(viewer(fleet.ann), name="Bob", role="member")
    with pytest.raises(AskmeshError, match=said):
        await door(desk).use(
            str(made.code), name=name, passphrase="four words are enough", where="test"
        )
    # Nothing of it was stored, and the code is good for another name.
    session = await door(desk).use(
        str(made.code), name="Jose\u0301", passphrase="four words are enough", where="test"
    )
    assert session.viewer.name == "José"


async def test_the_first_person_is_called_by_the_same_rule(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "desk", {}, None)
    try:
        for name in (HIDDEN, "", OF_AN_ID):
            with pytest.raises(Invalid):
                await machine.sign_ins.first(TOKEN, name=name, passphrase=None, where="test")
        made = await machine.sign_ins.first(TOKEN, name=" Ann\u00a0B ", passphrase=None, where="t")
        assert made.viewer.name == "Ann B"
    finally:
        await machine.close()


@pytest.mark.parametrize("name", [HIDDEN, "\x1b[2J", "\u200b", ""])
async def test_a_person_with_a_bad_name_of_old_is_managed(fleet: Fleet, name: str) -> None:
    desk = fleet["desk"]
    bob = await of_old(fleet, OF_AN_ID, name)
    for typed in (bob, visible_line(name)) if name else (bob,):
        found = await desk.reader.run(lambda one, typed=typed: persons.find(one, typed))  # type: ignore[misc]
        assert found.id == bob
    changed = await desk.writer.run(
        "role", lambda job: people.set_role(job, viewer(fleet.ann), bob, "viewer")
    )
    assert changed.role.value == "viewer"
    gone = await desk.writer.run("remove", lambda job: people.remove(job, viewer(fleet.ann), bob))
    assert gone.ended


async def test_an_id_names_nobody_who_is_only_called_so(fleet: Fleet) -> None:
    desk = fleet["desk"]
    impostor = await of_old(fleet, OF_AN_ID, fleet.ann)

    def find(typed: str) -> Any:  # noqa: ANN401 -- a job for the reader
        return desk.reader.run(lambda connection: persons.find(connection, typed))

    assert (await find(fleet.ann)).id == fleet.ann
    assert (await find(impostor)).id == impostor


async def test_who_is_not_found_is_told_what_there_is(fleet: Fleet) -> None:
    desk = fleet["desk"]
    await of_old(fleet, OF_AN_ID, HIDDEN)

    def find(typed: str) -> Any:  # noqa: ANN401 -- a job for the reader
        return desk.reader.run(lambda connection: persons.find(connection, typed))

    with pytest.raises(NotFound, match="no person “Zoe”") as caught:
        await find("Zoe")
    assert caught.value.hint == f"In this fleet: Ann, {visible_line(HIDDEN)}."
    with pytest.raises(Invalid, match=r"^No person was named\.$"):
        await find(" ")
    await of_old(fleet, "r" * 16, "ANN")
    with pytest.raises(Invalid, match=rf"Several people are called “ann”: .*{fleet.ann}"):
        await find("ann")


async def test_machines_with_bad_names_of_old_are_found(fleet: Fleet) -> None:
    desk = fleet["desk"]
    hidden = await machine_of_old(fleet, "la\u202eptop")
    impostor = await machine_of_old(fleet, desk.id)

    def find(typed: str) -> Any:  # noqa: ANN401 -- a job for the reader
        return desk.reader.run(lambda connection: machines.find(connection, typed))

    for typed in (hidden, hidden[:8], "la⟨U+202E⟩ptop"):
        assert (await find(typed)).id == hidden
    assert (await find(desk.id)).id == desk.id
    assert (await find(impostor)).id == impostor
    with pytest.raises(Invalid, match=r"^No machine was named\.$"):
        await find("")
    with pytest.raises(NotFound, match="no machine “attic”"):
        await find("attic")


async def test_a_machine_is_renamed_by_whoevers_it_is_and_all_hear_of_it(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk", "laptop", own="desk") as fleet:
        desk, laptop = fleet["desk"], fleet["laptop"]
        fleet.link("desk", "laptop")
        bob = await fleet.person("bob", "member", "laptop")
        eve = await fleet.person("eve", "viewer", "laptop")

        def rename(machine: Machine, who: str, node: str, name: str) -> Any:  # noqa: ANN401 -- a job
            return machine.writer.run(
                "rename", lambda job: machines.rename(job, viewer(who), node, name)
            )

        for who in (eve, fleet.ann):
            with pytest.raises(NotAllowed, match="Only who may answer"):
                await rename(laptop, who, laptop.id, "attic")
        with pytest.raises(Conflict, match="itself what it is called"):
            await rename(desk, fleet.ann, "laptop", "attic")
        for name, said in (
            ("DESK", "looks like desk"),
            ("laptop", "is called laptop already"),
            ("at\u202etic", r"U\+202E"),
            (desk.id, "form of an id"),
        ):
            with pytest.raises(AskmeshError, match=said):
                await rename(laptop, bob, laptop.id, name)
        assert await rename(laptop, bob, "laptop", " The  attic") == "The attic"
        await fleet.meet_all()
        for machine in (desk, laptop):
            found = await machine.reader.run(lambda one: machines.find(one, "the attic"))
            assert found.id == laptop.id
        with pytest.raises(NotFound):
            await desk.reader.run(lambda one: machines.find(one, "laptop"))


async def test_operators_are_named_by_the_same_rule(fleet: Fleet) -> None:
    desk = StandingDesk(fleet["desk"].context)
    view = await desk.add_operator(viewer(fleet.ann), " Billing ", b"k" * 32)
    assert [one.name for one in view.operators] == ["Billing"]
    with pytest.raises(Conflict, match="operator's name billing looks like Billing"):
        await desk.add_operator(viewer(fleet.ann), "billing", b"l" * 32)
    with pytest.raises(Invalid, match=r"U\+200B"):
        await desk.add_operator(viewer(fleet.ann), "bil\u200bling", b"l" * 32)
    await desk.add_operator(viewer(fleet.ann), "Billing", b"k" * 32)
