"""People as persons act on them: invitations, roles, removing, whose machine, consents."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node import limits
from node.desk import passphrase
from node.fleet import people, people_shown
from node.fleet.invitations import Invitations
from node.fleet.people import Guest
from sync.errors import AskmeshError, Conflict, Invalid, NotAllowed, NotFound, TooMany
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine, viewer
from web.people_views import PeopleView

PASSPHRASE = "four words are enough"
OTHER = "another four words"


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a try costs is held elsewhere."""
    monkeypatch.setattr(passphrase, "_COST", 2)


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", "laptop", own="desk") as made:
        made.link("desk", "laptop")
        yield made


def door(machine: Machine) -> Invitations:
    return Invitations(machine.context, machine.sign_ins, machine.sign_ins.tries)


async def seen(machine: Machine, person: str) -> PeopleView:
    fleet, now = machine.identity.fleet, machine.context.clock.now()
    return await machine.reader.run(
        lambda connection: people_shown.view(connection, viewer(person), fleet=fleet, now=now)
    )


async def act(machine: Machine, job: object, *words: object, **more: object) -> object:
    """One of `people`'s changes, by whoever comes first among the words."""
    person, *rest = words
    return await machine.writer.run(
        "act",
        lambda transaction: job(transaction, viewer(str(person)), *rest, **more),  # type: ignore[operator]
    )


async def used(machine: Machine, code: str, words: str = PASSPHRASE) -> str:
    made = await door(machine).use(code, name=None, passphrase=words, where="test")
    return made.viewer.person


async def invited(machine: Machine, by: str, name: str = "Bob", role: str = "member") -> str:
    """Whoever was invited to this machine, and came."""
    made = await door(machine).invite(viewer(by), name=name, role=role)
    return await used(machine, str(made.code), f"words of {name} for this")


def rows(view: PeopleView) -> dict[str, tuple[str, bool, int]]:
    return {one.name: (one.role, one.ended, len(one.machines)) for one in view.people}


# --- invitations to this machine --------------------------------------------------------


async def test_who_is_invited_signs_in_here_and_may_answer(fleet: Fleet) -> None:
    desk = fleet["desk"]
    made = await door(desk).invite(viewer(fleet.ann), name="  Bob   B ", role="member")
    assert (made.name, made.expires) == ("Bob B", desk.context.clock.now() + limits.INVITATION_MS)
    (row,) = (await seen(desk, fleet.ann)).invitations
    assert (row.name, row.role, row.by, row.id) == ("Bob B", "member", "Ann", made.id)
    bob = await used(desk, str(made.code).lower().replace("-", " "))
    assert rows(await seen(desk, bob)) == {
        "Ann": ("owner", False, 1),
        "Bob B": ("member", False, 1),
    }
    assert (await seen(desk, fleet.ann)).invitations == []
    ask = await desk.ask()
    await desk.vote(bob, ask, "answer", text="yes")
    assert await desk.stands(ask) == ("closed", "answered")
    again = await desk.sign_ins.by_passphrase(PASSPHRASE, kind="terminal", where="test")
    assert again.viewer.person == bob


async def test_a_code_lets_one_person_in_once(fleet: Fleet) -> None:
    desk = fleet["desk"]
    made = await door(desk).invite(viewer(fleet.ann), name="Bob", role="member")
    await used(desk, str(made.code))
    with pytest.raises(NotAllowed, match="not right"):
        await used(desk, str(made.code))


async def test_a_code_is_over_after_half_an_hour_and_once_it_was_withdrawn(fleet: Fleet) -> None:
    desk = fleet["desk"]
    late = await door(desk).invite(viewer(fleet.ann), name="Bob", role="member")
    fleet.advance(limits.INVITATION_MS)
    with pytest.raises(NotAllowed):
        await used(desk, str(late.code))
    back = await door(desk).invite(viewer(fleet.ann), name="Bob", role="member")
    await door(desk).withdraw(viewer(fleet.ann), str(back.id))
    with pytest.raises(NotAllowed):
        await used(desk, str(back.code))
    assert len((await seen(desk, fleet.ann)).people) == 1
    with pytest.raises(NotFound, match="No such invitation"):
        await door(desk).withdraw(viewer(fleet.ann), str(back.id))


async def test_a_few_wrong_tries_burn_one_invitation_and_no_other(fleet: Fleet) -> None:
    desk = fleet["desk"]
    first, second = [
        await door(desk).invite(viewer(fleet.ann), name=name, role="member")
        for name in ("Bob", "Cid")
    ]
    for _ in range(limits.INVITATION_TRIES):
        with pytest.raises(NotAllowed):
            await used(desk, f"{first.id}aaaaaaaaaaaaaaaa")
    with pytest.raises(NotAllowed):
        await used(desk, str(first.code))
    assert [one.id for one in (await seen(desk, fleet.ann)).invitations] == [second.id]
    await used(desk, str(second.code))
    with contextlib.suppress(NotAllowed):
        await used(desk, "wxyz")
    with pytest.raises(TooMany):
        await used(desk, "wxyz")


async def test_the_code_is_stored_as_a_hash_only(fleet: Fleet) -> None:
    desk = fleet["desk"]
    made = await door(desk).invite(viewer(fleet.ann), name="Bob", role="member")
    secret = str(made.code).replace("-", "").lower()[4:]
    found = await desk.reader.run(lambda one: [*one.iterdump()])
    assert "invitation" in " ".join(found)
    assert all(secret not in line.lower() for line in found)


async def test_an_admin_invites_members_and_an_owner_says_whose_machine_it_is(fleet: Fleet) -> None:
    desk = fleet["desk"]
    admin = await invited(desk, fleet.ann, "Eve", "admin")
    for role in ("owner", "admin"):
        with pytest.raises(NotAllowed, match="Only an owner"):
            await door(desk).invite(viewer(admin), name="Bob", role=role)
    bob = await invited(desk, admin)
    assert rows(await seen(desk, admin))["Bob"] == ("member", False, 0)
    ask = await desk.ask()
    with pytest.raises(AskmeshError):
        await desk.vote(bob, ask, "answer", text="yes")
    await act(desk, people.assign, fleet.ann, "desk", "Bob")
    await desk.vote(bob, ask, "answer", text="yes")
    for other in (bob, await invited(desk, fleet.ann, "Vic", "viewer")):
        assert (await seen(desk, other)).may_invite == []
        with pytest.raises(NotAllowed):
            await door(desk).invite(viewer(other), name="Dan", role="viewer")


async def test_an_invitation_falls_with_the_right_of_who_made_it(fleet: Fleet) -> None:
    desk = fleet["desk"]
    admin = await invited(desk, fleet.ann, "Eve", "admin")
    made = await door(desk).invite(viewer(admin), name="Bob", role="member")
    await act(desk, people.set_role, fleet.ann, "Eve", "member")
    with pytest.raises(NotAllowed, match="invited you"):
        await used(desk, str(made.code))
    assert "Bob" not in rows(await seen(desk, fleet.ann))


@pytest.mark.parametrize(
    ("name", "role", "error"),
    [
        ("Ann", "member", Conflict),
        (" ", "member", Invalid),
        ("x" * 999, "member", Invalid),
        ("Bob", "king", Invalid),
    ],
)
async def test_what_is_no_invitation(
    fleet: Fleet, name: str, role: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await door(fleet["desk"]).invite(viewer(fleet.ann), name=name, role=role)


async def test_a_wrong_passphrase_uses_no_code_up(fleet: Fleet) -> None:
    desk = fleet["desk"]
    made = await door(desk).invite(viewer(fleet.ann), name="Bob", role="member")
    with pytest.raises(Invalid, match="characters"):
        await used(desk, str(made.code), "short")
    await used(desk, str(made.code))


async def test_of_several_with_one_passphrase_each_says_who_they_are(fleet: Fleet) -> None:
    desk = fleet["desk"]
    found = {}
    for name in ("Bob", "Cid"):
        made = await door(desk).invite(viewer(fleet.ann), name=name, role="member")
        found[name] = await used(desk, str(made.code))
    with pytest.raises(Invalid, match="Several people"):
        await desk.sign_ins.by_passphrase(PASSPHRASE, kind="page", where="test")
    for name, person in found.items():
        made_by = await desk.sign_ins.by_passphrase(
            PASSPHRASE, kind="page", where="test", who=name.lower()
        )
        assert made_by.viewer.person == person
    with pytest.raises(NotAllowed):
        await desk.sign_ins.by_passphrase(OTHER, kind="page", where="test", who="Bob")


# --- roles, removing --------------------------------------------------------------------


async def test_a_role_is_changed_everywhere_and_by_whom_it_may(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    bob = await invited(desk, fleet.ann)
    await act(desk, people.set_role, fleet.ann, "bob", "admin")
    await fleet.meet_all()
    assert rows(await seen(laptop, fleet.ann))["Bob"][0] == "admin"
    view = {one.name: one.roles for one in (await seen(desk, bob)).people}
    assert view == {"Ann": [], "Bob": []}, "an admin changes members and viewers only"
    with pytest.raises(NotAllowed):
        await act(desk, people.set_role, bob, "Bob", "member")
    with pytest.raises(NotAllowed):
        await act(desk, people.remove, bob, "Ann")
    with pytest.raises(Conflict, match="admin already"):
        await act(desk, people.set_role, fleet.ann, bob, "admin")
    with pytest.raises(NotFound, match="no person “Zoe”"):
        await act(desk, people.set_role, fleet.ann, "Zoe", "admin")
    with pytest.raises(NotAllowed, match="does not speak for you"):
        await act(laptop, people.set_role, fleet.ann, bob, "viewer")


async def test_the_last_owner_is_told_why_they_stay(fleet: Fleet) -> None:
    desk = fleet["desk"]
    for job, words in (
        (people.remove, ("Ann",)),
        (people.set_role, ("Ann", "admin")),
        (people.release, ("desk", "Ann")),
    ):
        with pytest.raises(Conflict, match="only owner"):
            await act(desk, job, fleet.ann, *words)
    await invited(desk, fleet.ann, "Bob", "owner")
    await act(desk, people.remove, fleet.ann, "Ann")
    assert rows(await seen(desk, fleet.ann))["Ann"] == ("owner", True, 0)


async def test_the_last_owner_is_shown_as_such_until_another_has_a_machine(fleet: Fleet) -> None:
    desk = fleet["desk"]
    await invited(desk, fleet.ann)
    ann, bob = (await seen(desk, fleet.ann)).people
    assert (ann.last_owner, ann.roles, ann.removable) == (True, [], False)
    assert (bob.last_owner, bob.removable, bob.places) == (False, True, 1)
    assert [one.places is None for one in (await seen(desk, bob.id)).people] == [True, False]
    await act(desk, people.set_role, fleet.ann, "Bob", "owner")
    rows = (await seen(desk, bob.id)).people
    assert [(one.last_owner, one.removable) for one in rows] == [(False, True)] * 2


async def test_who_is_removed_has_no_session_and_no_vote_anywhere(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    coming = Guest(name="Bob", role="member", by=fleet.ann)
    await desk.writer.run("guest", lambda job: people.bring_in(job, coming, "bobsid", laptop.id))
    await fleet.meet_all()
    made = await laptop.writer.run(
        "session", lambda job: laptop.sign_ins.open_session(job, "bobsid", "page", "test")
    )
    assert await laptop.sign_ins.viewer(made.secret)
    ask = await desk.ask()
    await fleet.meet_all()
    fleet.cut("desk", "laptop")
    await laptop.vote("bobsid", ask, "answer", text="yes")
    await act(desk, people.remove, fleet.ann, "Bob")
    await fleet.meet_all()
    assert await laptop.sign_ins.viewer(made.secret) is None
    assert await desk.stands(ask) == ("waiting", None)
    with pytest.raises(AskmeshError):
        await laptop.vote("bobsid", ask, "answer", text="yes")
    assert rows(await seen(laptop, fleet.ann))["Bob"] == ("member", True, 0)
    left = await laptop.reader.run(
        lambda one: one.execute("SELECT * FROM person_session").fetchall()
    )
    assert left == []


async def test_two_changes_at_once_are_shown_and_settled(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    await fleet.give("laptop", fleet.ann)
    await fleet.meet_all()
    bob = await invited(desk, fleet.ann)
    await fleet.meet_all()
    await act(desk, people.set_role, fleet.ann, "Bob", "admin")
    await act(laptop, people.set_role, fleet.ann, "Bob", "viewer")
    await fleet.meet_all()
    split = {one.name: (one.role, one.split) for one in (await seen(desk, fleet.ann)).people}
    assert split["Bob"] == ("viewer", True)
    await act(desk, people.set_role, fleet.ann, bob, "viewer")
    await fleet.meet_all()
    split = {one.name: (one.role, one.split) for one in (await seen(laptop, fleet.ann)).people}
    assert split["Bob"] == ("viewer", False)


# --- whose machine, consents ------------------------------------------------------------


async def named(fleet: Fleet) -> str:
    """Bob answers at the desk; an owner has said that the laptop is his too."""
    bob = await invited(fleet["desk"], fleet.ann)
    assert await act(fleet["desk"], people.assign, fleet.ann, "laptop", "Bob") is False
    await fleet.meet_all()
    return bob


@pytest.mark.parametrize("accept", [True, False])
async def test_a_further_machine_waits_for_their_consent(fleet: Fleet, accept: bool) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    bob = await named(fleet)
    (row,) = (await seen(desk, bob)).consents
    assert (row.machine.name, row.name, row.by, row.yours) == ("laptop", "Bob", "Ann", True)
    assert [one.yours for one in (await seen(desk, fleet.ann)).consents] == [False]
    with pytest.raises(NotFound):
        await act(desk, people.consent, fleet.ann, "laptop", accept=True)
    with pytest.raises(NotAllowed, match="does not speak for you"):
        await act(laptop, people.consent, bob, "laptop", accept=True)
    with pytest.raises(Conflict, match="waits for Bob"):
        await act(desk, people.assign, fleet.ann, "laptop", "Bob")
    await act(desk, people.consent, bob, "laptop", accept=accept)
    await fleet.meet_all()
    assert (await seen(laptop, bob)).consents == []
    assert rows(await seen(laptop, bob))["Bob"] == ("member", False, 2 if accept else 1)
    with pytest.raises(NotFound):
        await act(desk, people.consent, bob, "laptop", accept=True)


async def test_a_machine_is_somebodys_no_longer_by_them_or_an_owner(fleet: Fleet) -> None:
    desk = fleet["desk"]
    bob = await named(fleet)
    await act(desk, people.consent, bob, "laptop", accept=True)
    eve = await invited(desk, fleet.ann, "Eve", "admin")
    with pytest.raises(NotAllowed, match="Only an owner"):
        await act(desk, people.release, eve, "laptop", "Bob")
    await act(desk, people.release, bob, "laptop", "Bob")
    assert rows(await seen(desk, bob))["Bob"] == ("member", False, 1)
    with pytest.raises(Conflict, match="does not speak for Bob"):
        await act(desk, people.release, fleet.ann, "laptop", "Bob")


# --- a new machine for someone new ------------------------------------------------------


async def guest_on_laptop(fleet: Fleet) -> None:
    coming = Guest(name="Bob", role="member", by=fleet.ann)
    node = fleet["laptop"].id
    await fleet["desk"].writer.run(
        "guest", lambda job: people.bring_in(job, coming, "bobsid", node)
    )
    await fleet.meet_all()


async def test_an_owner_types_the_digits_for_someone_new_on_their_machine(fleet: Fleet) -> None:
    await guest_on_laptop(fleet)
    desk, laptop = fleet["desk"], fleet["laptop"]
    made = await laptop.sign_ins.request(where="Firefox")
    (listed,) = await desk.sign_ins.waiting()
    await desk.sign_ins.approve(viewer(fleet.ann), listed.id, str(made.digits), guest="bob")
    session = await laptop.sign_ins.collect(made.id, str(made.digits))
    assert session is not None
    assert session.viewer.person == "bobsid"
    assert rows(await seen(laptop, "bobsid"))["Ann"][2] == 1, "it did not become the owner's"
    await laptop.sign_ins.end(session.viewer, session.viewer.session_id)
    made = await laptop.sign_ins.request(where="Firefox")
    (listed,) = await desk.sign_ins.waiting()
    with pytest.raises(NotAllowed, match="signed in before"):
        await desk.sign_ins.approve(viewer(fleet.ann), listed.id, str(made.digits), guest="Bob")
    assert await laptop.sign_ins.collect(made.id, str(made.digits)) is None


async def test_nobody_but_an_owner_does_and_only_for_their_only_machine(fleet: Fleet) -> None:
    await guest_on_laptop(fleet)
    desk, laptop = fleet["desk"], fleet["laptop"]
    eve = await invited(desk, fleet.ann, "Eve", "admin")
    cid = await invited(desk, fleet.ann, "Cid", "member")
    await fleet.meet_all()
    made = await laptop.sign_ins.request(where="Firefox")
    (listed,) = await desk.sign_ins.waiting()
    for by, whom in ((eve, "Bob"), (cid, "Bob"), (fleet.ann, "Cid"), (fleet.ann, "Ann")):
        with pytest.raises(NotAllowed):
            await desk.sign_ins.approve(viewer(by), listed.id, str(made.digits), guest=whom)
    assert await laptop.sign_ins.collect(made.id, str(made.digits)) is None
