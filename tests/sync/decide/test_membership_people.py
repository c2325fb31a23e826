"""Whose machine it is by their own consent, and that a fleet never runs out of owners."""

import pytest

from sync.decide.membership import Membership, as_of, settle
from sync.decide.statements import Stated
from sync.log import facts as say
from tests.sync.decide.histories import (
    FOUNDER,
    Machine,
    consent,
    founded,
    joined,
    member,
    node_of,
    of_role,
    person,
    removed,
    rules,
    speaks,
)

THIRD = node_of("third")


def named(role: str = "member") -> tuple[Machine, Machine, Stated]:
    """`bob` has `lap`; an owner has said that `third` is his as well."""
    home, lap = of_role(role)
    home.say(member("third", "ann"))
    naming = home.say(speaks("third", "bob", by="ann"))
    lap.hear(home)
    return home, lap, naming


def waiting(fleet: Membership) -> list[tuple[bytes, str, bytes]]:
    return [(one.node, one.person, one.named) for one in fleet.waiting]


# --- consents ---------------------------------------------------------------------------


def test_a_further_machine_speaks_only_once_its_person_consents_from_one_they_have() -> None:
    home, lap, naming = named()
    assert not home.fleet().speaks(THIRD, "bob")
    assert waiting(home.fleet()) == [(THIRD, "bob", naming.hash)]
    agreed = lap.say(consent("third", "bob", naming))
    home.hear(lap)
    assert home.fleet().speaks(THIRD, "bob")
    assert home.fleet().waiting == ()
    assert home.fleet().speaks_for[THIRD, "bob"].heads == (agreed.hash,)


def test_the_two_may_arrive_in_any_order() -> None:
    _, lap, naming = named()
    agreed = lap.say(consent("third", "bob", naming))
    every = list(lap.known.values())
    for order in (every, every[::-1], [*every[:-2], agreed, naming]):
        assert settle(order, founder=FOUNDER).speaks(THIRD, "bob")
    alone = [one for one in lap.known.values() if one is not naming]
    fleet = settle(alone, founder=FOUNDER)
    assert agreed.hash in fleet.pending
    assert not fleet.speaks(THIRD, "bob")


def test_a_consent_made_without_knowing_of_the_naming_is_of_no_effect() -> None:
    home, lap = of_role("member")
    home.say(member("third", "ann"))
    lap.hear(home)
    naming = home.say(speaks("third", "bob", by="ann"))
    lap.say(consent("third", "bob", naming))
    home.hear(lap)
    assert not home.fleet().speaks(THIRD, "bob")


def test_nobody_else_consents_for_them() -> None:
    home, lap, naming = named()
    third = Machine("third")
    third.hear(home)
    third.say(consent("third", "bob", naming))
    home.say(consent("third", "bob", naming))
    home.hear(third)
    assert not home.fleet().speaks(THIRD, "bob"), "neither that machine itself nor an owner's"
    lap.say(consent("third", "ann", naming))
    home.hear(lap)
    assert not home.fleet().speaks(THIRD, "ann")


def test_a_consent_is_of_one_naming_of_one_machine() -> None:
    home, lap, naming = named()
    home.say(member("fourth", "ann"))
    again = home.say(speaks("fourth", "bob", by="ann"))
    lap.hear(home)
    lap.say(consent("fourth", "bob", naming))
    lap.say(consent("third", "bob", again))
    assert waiting(lap.fleet()) == [
        (THIRD, "bob", naming.hash),
        (node_of("fourth"), "bob", again.hash),
    ]
    agreed = lap.say(consent("third", "bob", naming))
    home.hear(lap)
    home.say(speaks("third", "bob", by="ann", on=False, replaces=agreed))
    home.say(speaks("third", "bob", by="ann"))
    lap.hear(home)
    lap.say(consent("third", "bob", naming))
    assert not lap.fleet().speaks(THIRD, "bob"), "an old naming, taken back since"
    assert len(lap.fleet().waiting) == 2


def test_who_refuses_is_asked_no_more_and_can_be_named_again() -> None:
    home, lap, naming = named()
    lap.say(speaks("third", "bob", by="bob", on=False))
    home.hear(lap)
    assert home.fleet().waiting == ()
    lap.say(consent("third", "bob", naming))
    assert not lap.fleet().speaks(THIRD, "bob")
    anew = home.say(speaks("third", "bob", by="ann"))
    lap.hear(home)
    lap.say(consent("third", "bob", anew))
    assert lap.fleet().speaks(THIRD, "bob")


def test_a_consent_that_crossed_a_no_does_not_count() -> None:
    home, lap, naming = named()
    home.say(speaks("third", "bob", by="ann", on=False))
    lap.say(consent("third", "bob", naming))
    home.hear(lap)
    pair = home.fleet().speaks_for[THIRD, "bob"]
    assert (pair.live, pair.split) == (False, True)


@pytest.mark.parametrize("ending", ["ended", "removed", "silenced"])
def test_who_may_not_speak_for_them_any_more_consents_to_nothing(ending: str) -> None:
    home, lap, naming = named()
    if ending == "ended":
        home.say(person("bob", "member", by="ann", ended=True))
    elif ending == "removed":
        home.say(removed("lap", "ann", {0: 0}))
    else:
        home.say(speaks("lap", "bob", by="ann", on=False))
    lap.hear(home)
    lap.say(consent("third", "bob", naming))
    home.hear(lap)
    assert not home.fleet().speaks(THIRD, "bob")


def test_a_consent_beyond_the_cut_of_a_removal_falls() -> None:
    home, lap, naming = named()
    lap.say(consent("third", "bob", naming))
    assert lap.fleet().speaks(THIRD, "bob")
    home.say(removed("lap", "ann", {0: 0}))
    home.hear(lap)
    assert not home.fleet().speaks(THIRD, "bob")


def test_an_owner_who_claims_not_to_know_of_their_machine_gives_them_none() -> None:
    home, lap = of_role("owner")
    home.say(person("cid", "member", by="ann"))
    home.say(member("third", "ann"))
    home.say(member("evil", "ann"))
    lap.hear(home)
    first = home.say(speaks("third", "cid", by="ann"))
    lap.say(speaks("evil", "cid", by="bob"))
    home.hear(lap)
    fleet = home.fleet()
    assert not fleet.speaks(node_of("evil"), "cid")
    assert not fleet.speaks(THIRD, "cid"), "which of the two is theirs nobody can tell"
    assert all(fleet.speaks_for[node_of(one), "cid"].split for one in ("third", "evil"))
    home.say(speaks("third", "cid", by="ann", replaces=first))
    assert home.fleet().speaks(THIRD, "cid")
    assert not home.fleet().speaks(node_of("evil"), "cid")


def test_nor_once_the_machine_they_had_is_gone() -> None:
    home, lap = of_role("owner")
    home.say(person("cid", "member", by="ann"))
    home.say(member("evil", "ann"))
    third = joined(home, "third")
    lap.hear(home)
    home.say(speaks("third", "cid", by="ann"))
    home.say(member("fourth", "ann"))
    naming = home.say(speaks("fourth", "cid", by="ann"))
    third.hear(home)
    third.say(consent("fourth", "cid", naming))
    home.hear(third)
    home.say(removed("third", "ann", {0: 9}))
    lap.say(speaks("evil", "cid", by="bob"))
    home.hear(lap)
    assert home.fleet().speaks(node_of("fourth"), "cid"), "agreed to while nobody knew better"
    assert not home.fleet().speaks(node_of("evil"), "cid")


def test_machines_of_before_there_were_consents_go_on_speaking() -> None:
    home, lap = of_role("member")
    home.say(member("third", "ann"))
    home.say(speaks("third", "bob", by="ann"))
    lap.hear(home)
    lap.say(speaks("third", "bob", by="bob"))
    assert lap.fleet().speaks(THIRD, "bob")
    assert lap.fleet().waiting == ()


# --- the last owner ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "last",
    [
        person("ann", "admin", by="ann"),
        person("ann", "owner", by="ann", ended=True),
        person("ann", "a role of a newer askmesh", by="ann"),
        speaks("home", "ann", by="ann", on=False),
    ],
)
@pytest.mark.parametrize("other", ["nobody", "an admin", "an owner without a machine"])
def test_the_last_owner_stays(last: say.Statement, other: str) -> None:
    home = founded()
    if other == "an admin":
        home.say(person("bob", "admin", by="ann"))
        joined(home, "lap", for_person="bob")
    elif other != "nobody":
        home.say(person("bob", "owner", by="ann"))
    home.say(last)
    fleet = home.fleet()
    assert (fleet.persons["ann"].role, fleet.persons["ann"].ended) == ("owner", False)
    assert fleet.speaks(home.id, "ann")


def test_one_of_two_owners_may_go() -> None:
    home, lap = of_role("owner")
    home.say(person("ann", "viewer", by="ann", ended=True))
    lap.hear(home)
    assert lap.fleet().persons["ann"].ended
    lower(lap, "bob", "bob")
    assert lap.fleet().persons["bob"].role == "owner"


def lower(machine: Machine, name: str, by: str, *, ended: bool = False) -> Stated:
    """The next version of a person, as the page states it."""
    head = machine.known[machine.fleet().persons[name].heads[0]]
    return machine.say(person(name, "member", by=by, ended=ended, replaces=head))


def owners(fleet: Membership) -> set[str]:
    return {one.id for one in fleet.persons.values() if one.role == "owner" and not one.ended}


@pytest.mark.parametrize("ended", [False, True])
def test_two_owners_who_lower_each_other_both_stay_until_one_settles_it(ended: bool) -> None:
    home, lap = of_role("owner")
    lower(home, "bob", "ann", ended=ended)
    mine = lower(lap, "ann", "bob", ended=ended)
    home.hear(lap)
    lap.hear(home)
    fleet = home.fleet()
    assert owners(fleet) == {"ann", "bob"}
    assert fleet.persons["ann"].split
    home.say(person("ann", "owner", by="ann", replaces=mine))
    lap.hear(home)
    fleet = lap.fleet()
    assert owners(fleet) == {"ann"}, "an owner again by her word, so his lowering counts"
    assert not fleet.persons["bob"].split
    lap.say(person("ann", "viewer", by="bob"))
    assert owners(lap.fleet()) == {"ann"}


def test_of_two_who_stay_one_may_lower_the_other() -> None:
    home, lap = of_role("owner")
    first = lower(home, "bob", "ann")
    lower(lap, "ann", "bob")
    home.hear(lap)
    home.say(person("bob", "viewer", by="ann", replaces=first))
    assert owners(home.fleet()) == {"ann"}


def test_two_owners_who_both_step_down_both_stay() -> None:
    home, lap = of_role("owner")
    lower(home, "ann", "ann")
    lower(lap, "bob", "bob")
    home.hear(lap)
    assert owners(home.fleet()) == {"ann", "bob"}


def test_three_owners_in_a_ring_stay_and_who_was_lowered_before_does_not() -> None:
    home, lap = of_role("owner")
    home.say(person("cid", "owner", by="ann"))
    home.say(person("dan", "owner", by="ann"))
    third, fourth = (
        joined(home, "third", for_person="cid"),
        joined(home, "fourth", for_person="dan"),
    )
    lower(home, "dan", "ann")
    lap.hear(home)
    third.hear(home)
    lower(home, "bob", "ann")
    lower(lap, "cid", "bob")
    lower(third, "ann", "cid")
    fourth.hear(home, lap, third)
    assert owners(fourth.fleet()) == {"ann", "bob", "cid"}


def test_where_an_owner_is_left_the_stricter_counts() -> None:
    home, lap = of_role("owner")
    home.say(person("cid", "owner", by="ann"))
    third = joined(home, "third", for_person="cid")
    lap.hear(home)
    lower(home, "bob", "ann")
    lower(lap, "ann", "bob")
    third.hear(home, lap)
    assert owners(third.fleet()) == {"cid"}


def test_an_owner_who_was_lowered_cannot_undo_it_once_their_machine_is_removed() -> None:
    home, lap = of_role("owner")
    lower(home, "bob", "ann")
    home.say(removed("lap", "ann"))
    lower(lap, "ann", "bob")
    home.hear(lap)
    assert owners(home.fleet()) == {"ann"}


def test_what_they_said_is_judged_alike_as_of_any_time() -> None:
    home, lap = of_role("owner")
    first = lower(home, "bob", "ann")
    lower(lap, "ann", "bob")
    home.hear(lap)
    then = as_of(home.known.values(), [first.hash], founder=FOUNDER)
    assert then is not None
    assert owners(then) == {"ann"}
    assert settle(reversed(home.known.values()), founder=FOUNDER) == home.fleet()
    home.say(rules("one", "ann"))
    assert [one.version for one in home.fleet().rules] == ["one"]
