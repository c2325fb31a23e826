"""What an author states in several histories of its log: siblings, in any order of arrival."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.decide import statements
from sync.decide.membership import Membership, as_of, settle
from sync.decide.statements import Forked, Stated, order
from tests.sync.decide.histories import FOUNDER, Machine, founded, joined, node_of, removed, rules


def twins() -> tuple[Machine, Machine, Machine, Forked]:
    """The founder's machine, a copy of it, a machine that hears both, and the fork."""
    home = founded()
    lap = joined(home, "lap", for_person="ann")
    joined(home, "mole")
    copy = Machine("home")
    copy.hear(home)
    copy.seq = home.seq
    return home, copy, lap, {b"other side": (home.id, home.seq + 1)}


def settled(known: Machine, forked: Forked) -> Membership:
    return settle(known.known.values(), founder=FOUNDER, forked=forked)


def test_a_removal_in_one_history_stands_beside_all_of_the_other() -> None:
    home, copy, lap, forked = twins()
    home.say(removed("mole", "ann"))
    for number in range(5):
        copy.say(rules(f"v{number}", "ann"))
    lap.hear(home, copy)
    fleet = settled(lap, forked)
    assert fleet.pending == frozenset()
    assert fleet.nodes[node_of("mole")].removed is not None


def test_versions_of_two_histories_are_siblings_until_one_names_both() -> None:
    home, copy, lap, forked = twins()
    one = home.say(rules("one", "ann"))
    two = copy.say(rules("two", "ann"))
    lap.hear(home, copy)
    fleet = settled(lap, forked)
    assert {version.version for version in fleet.rules if version.in_force} == {"one", "two"}
    assert {one.hash, two.hash} <= set(fleet.heads)
    lap.say(rules("three", "ann", replaces=one, also=[two]), heads=fleet.heads)
    now = settled(lap, forked)
    assert [version.version for version in now.rules if version.in_force] == ["three"]


def test_who_hears_the_other_history_before_its_own_next_word_does_not_wait_for_itself() -> None:
    """A lower number may come after a higher one of the other history."""
    home, copy, lap, forked = twins()
    for number in range(3):
        home.say(rules(f"v{number}", "ann"))
    copy.hear(home)
    last = copy.say(rules("last", "ann"), heads=settled(home, forked).heads)
    lap.hear(home, copy)
    fleet = settled(lap, forked)
    assert fleet.pending == frozenset()
    assert last.hash in fleet.heads


def test_of_a_removed_machine_only_what_its_remover_knew_counts_beyond_the_fork() -> None:
    """Whoever keeps its key can write any number below the cut."""
    home = founded()
    lap = joined(home, "lap", for_person="ann")
    copy = Machine("lap")
    copy.hear(lap)
    copy.seq = lap.seq
    forked = {b"other side": (lap.id, lap.seq + 1)}
    known = [lap.say(rules(f"v{number}", "ann")) for number in range(5)]
    home.hear(lap)
    home.say(removed("lap", "ann", {0: lap.seq}), heads=settled(home, forked).heads)
    late = copy.say(rules("late", "ann"))
    home.hear(copy)
    counting = {version.hash for version in settled(home, forked).rules}
    assert late.hash not in counting
    assert {one.hash for one in known} <= counting


def test_a_flood_beyond_a_fork_takes_no_removal_back_and_stops_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(statements, "BEYOND_FORK", 4)
    home, copy, lap, forked = twins()
    for number in range(6):
        home.say(rules(f"v{number}", "ann"))
    home.say(removed("mole", "ann"))
    for number in range(6):
        copy.say(rules(f"w{number}", "ann"), heads=[])
    lap.hear(home, copy)
    # It names one that is not among those that are kept.
    after = lap.say(rules("after", "ann"), heads=[list(home.known)[-1], list(home.known)[-2]])
    fleet = settled(lap, forked)
    assert fleet.pending == frozenset()
    assert after.hash in fleet.heads
    assert fleet.nodes[node_of("mole")].removed is not None
    ordered = order(lap.known.values(), forked)
    assert sum(ordered.beyond(one) for one in ordered.all) == 4


STEPS = st.lists(
    st.tuples(
        st.integers(0, 2), st.sampled_from(["hear", "rules", "mole", "lap"]), st.integers(0, 2)
    ),
    max_size=14,
)


@given(steps=STEPS, data=st.data())
def test_two_histories_come_to_the_same_in_any_order(
    steps: list[tuple[int, str, int]], data: st.DataObject
) -> None:
    home, copy, lap, forked = twins()
    machines = [home, copy, lap]
    for which, what, other in steps:
        machine = machines[which]
        heads = settled(machine, forked).heads
        if what == "hear":
            machine.hear(machines[other])
        elif what == "rules":
            machine.say(rules(f"{which} {machine.seq}", "ann"), heads=heads)
        else:
            machine.say(removed(what, "ann", at=machine.seq), heads=heads)
    everything: dict[bytes, Stated] = home.known | copy.known | lap.known
    fleet = settle(everything.values(), founder=FOUNDER, forked=forked)
    mixed = data.draw(st.permutations([*everything.values(), *list(everything.values())[::3]]))
    assert settle(mixed, founder=FOUNDER, forked=forked) == fleet
    assert fleet.pending == frozenset()
    then = as_of(everything.values(), fleet.heads, founder=FOUNDER, forked=forked)
    assert then is not None
    assert then.heads == fleet.heads
