"""The fleet as its statements settle: the beginning, rights, removals."""

import msgspec
import pytest

from sync.decide.membership import Membership, settle
from sync.decide.people import Role
from sync.decide.statements import Stated
from sync.log import facts as say
from tests.sync.decide.histories import (
    FOUNDER,
    Machine,
    founded,
    genesis,
    joined,
    member,
    node_of,
    of_role,
    person,
    removed,
    rules,
    speaks,
)

ROLES = [role.value for role in Role]


# --- the beginning ----------------------------------------------------------------------


def test_a_fleet_begins_with_a_machine_and_its_owner() -> None:
    fleet = founded().fleet()
    assert [node.name for node in fleet.nodes.values()] == ["home"]
    assert fleet.person("ann") is not None
    assert fleet.speaks(FOUNDER, "ann")
    assert fleet.pending == frozenset()
    assert len(fleet.heads) == 1


def test_nothing_is_a_fleet_without_its_genesis() -> None:
    home = Machine("home")
    home.say(person("ann"))
    home.say(speaks("home", "ann"))
    assert home.fleet() == msgspec.structs.replace(Membership(), pending=frozenset())


@pytest.mark.parametrize(
    "facts",
    [
        person("eve"),
        speaks("home", "ann"),
        speaks("lap", "ann"),
        genesis("home"),
        person("eve", by="nobody"),
        member("eve", "nobody"),
        rules("r", "nobody"),
        removed("lap", "nobody"),
    ],
)
def test_the_words_without_a_person_hold_only_at_the_beginning(facts: say.Statement) -> None:
    home = founded()
    joined(home, "lap")
    before = home.fleet()
    home.say(facts)
    assert told(home.fleet()) == told(before)


@pytest.mark.parametrize("author", ["lap", "stranger"])
def test_a_second_genesis_changes_nothing(author: str) -> None:
    home = founded()
    home.say(member("lap", "ann"))
    before = home.fleet()
    other = Machine(author)
    other.say(genesis(author), heads=[])
    home.hear(other)
    assert told(home.fleet()) == told(before)
    assert settle(home.known.values()) == Membership()


def told(fleet: Membership) -> Membership:
    """What there is but for which statements were the last."""
    return msgspec.structs.replace(fleet, heads=(), pending=frozenset(), waiting=())


# --- rights -----------------------------------------------------------------------------

ACTS: dict[str, tuple[say.Statement, set[str]]] = {
    "let a machine in": (member("new", "bob"), {"owner", "admin"}),
    "remove a machine": (removed("third", "bob"), {"owner", "admin"}),
    "remove an owner's machine": (removed("home", "bob"), {"owner"}),
    "apply rules": (rules("v", "bob"), {"owner", "admin"}),
    "make an owner": (person("new", "owner", by="bob"), {"owner"}),
    "make an admin": (person("new", "admin", by="bob"), {"owner"}),
    "make a member": (person("new", "member", by="bob"), {"owner", "admin"}),
    "make a viewer": (person("new", "viewer", by="bob"), {"owner", "admin"}),
    "make a role of a newer askmesh": (person("new", "guardian", by="bob"), {"owner"}),
    "raise oneself": (person("bob", "owner", by="bob"), {"owner"}),
    "lower an owner": (person("ann", "viewer", by="bob"), {"owner"}),
    "end someone": (person("cid", "member", by="bob", ended=True), {"owner"}),
    "speak for another": (speaks("third", "cid", by="bob"), {"owner"}),
    "speak for an owner": (speaks("third", "ann", by="bob"), set()),
    "speak for oneself": (speaks("third", "bob", by="bob"), {"owner", "admin"}),
    "silence oneself": (speaks("lap", "bob", by="bob", on=False), set(ROLES)),
    "silence another": (speaks("home", "ann", by="bob", on=False), {"owner"}),
    "act as another": (rules("v", "ann"), set()),
    "leave": (removed("lap", None), set(ROLES)),
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("act", ACTS)
def test_every_act_by_every_role(act: str, role: str) -> None:
    home, lap = of_role(role)
    home.say(member("third", "ann"))
    home.say(person("cid", "member", by="ann"))
    lap.hear(home)
    before = home.fleet()
    facts, allowed = ACTS[act]
    lap.say(facts)
    home.hear(lap)
    # A machine's naming alone is no change yet: see the consent below.
    assert (told(home.fleet()) != told(before)) is (role in allowed)


@pytest.mark.parametrize("act", ACTS)
def test_who_is_ended_or_silenced_or_removed_may_nothing(act: str) -> None:
    for change in (
        person("bob", "owner", by="ann", ended=True),
        speaks("lap", "bob", by="ann", on=False),
        removed("lap", "ann"),
    ):
        home, lap = of_role("owner")
        home.say(member("third", "ann"))
        home.say(person("cid", "member", by="ann"))
        home.say(change)
        lap.hear(home)
        before = home.fleet()
        lap.say(ACTS[act][0])
        home.hear(lap)
        if act == "leave" and not isinstance(change, say.RemovedFacts):
            continue
        assert told(home.fleet()) == told(before)


def test_a_new_machine_speaks_for_nobody_until_an_owner_says_so() -> None:
    home = founded()
    lap = joined(home, "lap")
    assert not home.fleet().speaks(lap.id, "ann")
    lap.say(speaks("lap", "ann", by="ann"))
    home.hear(lap)
    assert not home.fleet().speaks(lap.id, "ann")
    home.say(speaks("lap", "ann", by="ann"))
    assert home.fleet().speaks(lap.id, "ann")


def test_who_has_a_machine_agrees_from_it_to_another_one() -> None:
    home, lap = of_role("member")
    home.say(member("third", "ann"))
    lap.hear(home)
    third = node_of("third")
    lap.say(speaks("third", "bob", by="bob"))
    home.hear(lap)
    assert not home.fleet().speaks(third, "bob"), "a member alone"
    home.say(speaks("third", "bob", by="ann"))
    assert not home.fleet().speaks(third, "bob"), "an owner alone"
    lap.hear(home)
    lap.say(speaks("third", "bob", by="bob"))
    home.hear(lap)
    assert home.fleet().speaks(third, "bob"), "both"
    (head,) = home.fleet().speaks_for[third, "bob"].heads
    home.say(speaks("third", "bob", by="ann", on=False, replaces=home.known[head]))
    lap.hear(home)
    lap.say(speaks("third", "bob", by="bob", replaces=lap.known[lap.fleet().heads[0]]))
    home.hear(lap)
    assert not home.fleet().speaks(third, "bob"), "an owner's no stands"


def test_who_has_no_machine_any_more_is_given_one_by_an_owner() -> None:
    home, lap = of_role("member")
    home.say(member("third", "ann"))
    home.say(removed("lap", "ann", {0: 9}))
    assert not home.fleet().speaks(lap.id, "bob")
    home.say(speaks("third", "bob", by="ann"))
    assert home.fleet().speaks(node_of("third"), "bob")


def test_a_certificate_is_its_own_nodes() -> None:
    home, lap = of_role("viewer")
    lap.say(say.CertificateFacts(certificate=b"new", at=7))
    home.hear(lap)
    certificates = {node.name: node.certificate for node in home.fleet().nodes.values()}
    assert certificates == {"home": b"cert", "lap": b"new"}


# --- removal ----------------------------------------------------------------------------


def test_a_removed_machine_says_nothing_more_and_never_comes_back() -> None:
    home, lap = of_role("owner")
    lap.say(rules("kept", "bob"))
    home.hear(lap)
    home.say(removed("lap", "ann", {0: 1, 1: 5}))
    lap.say(rules("beyond", "bob"))
    lap.say(member("friend", "bob"))
    friend = Machine("friend")
    friend.hear(lap)
    friend.say(say.CertificateFacts(certificate=b"mine", at=7))
    home.hear(lap, friend)
    home.say(member("lap", "ann"))
    fleet = home.fleet()
    assert [version.version for version in fleet.rules] == ["kept"]
    node = fleet.nodes[lap.id]
    assert node.removed is not None
    assert (node.removed.by, node.removed.on) == ("ann", home.id)
    assert {log: head.seq for log, head in node.cut.items()} == {0: 1, 1: 5}
    assert [fleet.counts(lap.id, log, seq) for log, seq in ((0, 1), (0, 2), (1, 5), (1, 6))] == [
        True, False, True, False
    ]  # fmt: skip
    assert fleet.nodes[friend.id].removed == node.removed
    assert not fleet.counts(friend.id, 0, 1)
    assert not fleet.counts(node_of("nobody"), 0, 1)


def test_what_rests_on_what_a_cut_took_is_gone_too() -> None:
    home, lap = of_role("owner")
    lap.say(person("eve", "owner", by="bob"))
    lap.say(member("friend", "bob"))
    lap.say(speaks("friend", "eve", by="bob"))
    friend = Machine("friend")
    friend.hear(lap)
    friend.say(rules("evil", "eve"))
    friend.say(person("ann", "viewer", by="eve"))
    late = Machine("home")
    late.hear(home, friend)
    assert late.fleet().persons["ann"].role == "viewer", "they were owners then"
    home.say(removed("lap", "ann"))
    home.hear(friend)
    fleet = home.fleet()
    assert fleet.persons.keys() == {"ann", "bob"}
    assert fleet.persons["ann"].role == "owner"
    assert fleet.rules == ()


def of_three() -> tuple[Machine, Machine, Machine]:
    """The owner's machine, `bob`'s and `cid`'s; `cid` may remove machines too."""
    home, lap = of_role("owner")
    home.say(person("cid", "admin", by="ann"))
    third = joined(home, "third", for_person="cid")
    lap.hear(home)
    return home, lap, third


def test_a_version_that_followed_one_that_a_cut_took_follows_what_was_before() -> None:
    home, lap, third = of_three()
    first = home.say(rules("one", "ann"))
    lap.hear(home)
    second = lap.say(rules("two", "bob", replaces=first))
    home.hear(lap)
    home.say(rules("three", "ann", replaces=second))
    home.say(removed("lap", "ann"))
    assert home.fleet().nodes[lap.id].cut[0].seq == 1, "what the remover knew stands"
    assert [one.version for one in home.fleet().rules] == ["one", "two", "three"]
    home, lap, third = of_three()
    home.say(person("bob", "admin", by="ann", replaces=_only_version(home, "bob")))
    first = home.say(rules("one", "ann"))
    for machine in (lap, third):
        machine.hear(home)
    second = lap.say(rules("two", "bob", replaces=first))
    home.hear(lap)
    home.say(rules("three", "ann", replaces=second))
    third.say(removed("lap", "cid"))
    home.hear(third)
    assert home.fleet().nodes[lap.id].removed is not None
    assert [(one.version, one.in_force) for one in home.fleet().rules] == [
        ("one", False),
        ("three", True),
    ]


def _only_version(machine: Machine, name: str) -> Stated:
    (head,) = machine.fleet().persons[name].heads
    return machine.known[head]


def test_who_was_let_in_by_a_right_that_fell_is_in_no_fleet() -> None:
    """Nobody of those is removed themselves; the right they used was never given."""
    home, lap, third = of_three()
    lap.say(person("cid", "owner", by="bob", replaces=_only_version(lap, "cid")))
    lap.say(person("dan", "admin", by="bob"))
    third.hear(lap)
    third.say(person("eve", "admin", by="cid"))
    third.say(member("eves", "cid"))
    third.say(speaks("eves", "eve", by="cid"))
    eves = Machine("eves")
    eves.hear(third)
    eves.say(member("last", "eve"))
    late = Machine("home")
    late.hear(home, eves)
    assert node_of("last") in late.fleet().nodes
    home.say(removed("lap", "ann"))
    home.hear(eves)
    fleet = home.fleet()
    assert fleet.persons.keys() == {"ann", "bob", "cid"}
    assert fleet.nodes[eves.id].removed is None, "an admin may let a machine in"
    assert node_of("last") not in fleet.nodes
    assert not fleet.counts(node_of("last"), 0, 1)


def test_a_cut_below_what_the_remover_knew_takes_nothing_back() -> None:
    """Else who may remove the first machine could undo the fleet with it."""
    home, lap = of_role("owner")
    lap.say(removed("home", "bob", {0: 0}))
    fleet = lap.fleet()
    assert fleet.nodes[home.id].removed is not None
    assert fleet.persons.keys() == {"ann", "bob"}
    assert fleet.nodes[lap.id].removed is None
    assert fleet.nodes[home.id].cut[0].seq == home.seq
    assert not fleet.speaks(home.id, "ann")
    assert fleet.speaks(lap.id, "bob")


def test_two_who_remove_each_other_are_both_removed() -> None:
    home, lap = of_role("owner")
    home.say(removed("lap", "ann"))
    lap.say(removed("home", "bob", {0: 3}))
    home.hear(lap)
    lap.hear(home)
    assert home.fleet() == lap.fleet()
    assert all(node.removed is not None for node in home.fleet().nodes.values())


@pytest.mark.parametrize("first", ["home", "third"])
@pytest.mark.parametrize("cuts", [({0: 1}, {0: 3}), ({0: 3}, {0: 1}), ({0: 2}, {})])
def test_of_several_cuts_the_lowest_counts(
    cuts: tuple[dict[int, int], dict[int, int]], first: str
) -> None:
    home, lap, third = of_three()
    home.say(person("bob", "admin", by="ann", replaces=_only_version(home, "bob")))
    for machine in (lap, third):
        machine.hear(home)
    for number in range(4):
        lap.say(rules(str(number), "bob"))
    # Who has said something more comes later in the settled order.
    (third if first == "home" else home).say(say.CertificateFacts(certificate=b"x", at=1))
    home.say(removed("lap", "ann", cuts[0]))
    third.say(removed("lap", "cid", cuts[1]))
    home.hear(lap, third)
    lowest = min(cut.get(0, 0) for cut in cuts)
    assert [version.version for version in home.fleet().rules] == [
        str(number) for number in range(lowest)
    ]


def test_the_only_machine_of_the_owners_does_not_leave_the_others_behind() -> None:
    home, lap = of_role("admin")
    gone = home.say(removed("home", "ann"))
    lap.hear(home)
    assert lap.fleet().nodes[home.id].removed is None
    home.say(removed("lap", "ann"), heads=[gone.hash])
    home.say(removed("home", "ann"))
    assert home.fleet().nodes[home.id].removed is not None


def test_who_leaves_ends_its_log_with_that() -> None:
    home, lap = of_role("admin")
    lap.say(rules("before", "bob"))
    leaving = lap.say(removed("lap", "bob", {0: 99, 1: 7}))
    lap.say(rules("after", "bob"), heads=[leaving.hash])
    home.hear(lap)
    fleet = home.fleet()
    assert [version.version for version in fleet.rules] == ["before"]
    assert {log: head.seq for log, head in fleet.nodes[lap.id].cut.items()} == {0: 2, 1: 7}
    removal = fleet.nodes[lap.id].removed
    assert removal is not None
    assert removal.on == lap.id
