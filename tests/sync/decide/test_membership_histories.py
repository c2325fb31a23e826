"""Random histories of several machines, in any order of arrival."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import msgspec
from hypothesis import event, given
from hypothesis import strategies as st

from sync.decide.membership import Membership, as_of, settle
from sync.decide.settling import Settling
from sync.decide.statements import Stated, order
from sync.log import facts as say
from sync.log.chain import Head
from tests.sync.decide.histories import (
    FOUNDER,
    Machine,
    founded,
    joined,
    key_of,
    member,
    node_of,
    person,
    removed,
    rules,
    speaks,
)

MACHINES = ("home", "lap", "desk", "mole", "new")
PERSONS = ("ann", "bob", "cid", "eve")
ROLES = ("owner", "admin", "member", "viewer", "guardian")


class Step(NamedTuple):
    """What one machine does: it hears another, or says something."""

    machine: int
    what: str
    who: str
    of: str
    number: int
    backdated: bool


STEPS = st.lists(
    st.builds(
        Step,
        machine=st.integers(0, 3),
        what=st.sampled_from(
            ["hear", "member", "removed", "person", "speaks", "silent", "rules", "own"]
        ),
        who=st.sampled_from(PERSONS),
        of=st.sampled_from(MACHINES),
        number=st.integers(0, 9),
        backdated=st.booleans(),
    ),
    min_size=4,
    max_size=24,
)


def facts_of(step: Step, fleet: Membership, speaker: str) -> say.Statement:
    """The facts of a step that says something."""
    if step.what == "member":
        return member(step.of, speaker)
    if step.what == "removed":
        return removed(step.of, speaker, {0: step.number, 1: step.number})
    if step.what == "own":
        return say.CertificateFacts(certificate=bytes([step.number]), at=1)
    if step.what == "person":
        known = fleet.persons.get(step.who)
        made = person(step.who, ROLES[step.number % 5], by=speaker, ended=step.number == 9)
        return _following(made, known.heads if known else (), step.number)
    if step.what == "rules":
        heads = tuple(one.hash for one in fleet.rules if one.in_force)
        return _following(rules(f"v{step.number}", speaker), heads, step.number)
    pair = fleet.speaks_for.get((node_of(step.of), step.who))
    said = speaks(step.of, step.who, by=speaker, on=step.what == "speaks")
    return _following(said, pair.heads if pair else (), step.number)


def _following(facts: say.Statement, heads: tuple[bytes, ...], number: int) -> say.Statement:
    if not heads:
        return facts
    also = [] if number % 3 == 0 else list(heads[1:])
    return msgspec.structs.replace(facts, replaces=heads[0], also=also)


class Lives:
    """Four machines of one fleet: two of owners, an admin's, and a viewer's that is hostile."""

    def __init__(self) -> None:
        home = founded()
        home.say(person("bob", "owner", by="ann"))
        home.say(person("cid", "admin", by="ann"))
        home.say(person("eve", "viewer", by="ann"))
        for name, who in (("lap", "bob"), ("desk", "cid"), ("mole", "eve")):
            joined(home, name, for_person=who)
        self.machines = [home, *(Machine(name) for name in MACHINES[1:4])]
        for machine in self.machines[1:]:
            machine.hear(home)
        self.start = frozenset(home.known)

    def live(self, steps: list[Step], speaker: Callable[[int, Step], str]) -> list[Stated]:
        """Let them all do their steps; return every statement that was made."""
        for step in steps:
            machine = self.machines[step.machine]
            if step.what == "hear":
                machine.hear(self.machines[step.number % 4])
                continue
            facts = facts_of(step, machine.fleet(), speaker(step.machine, step))
            old = sorted(self.start)[-1:] if step.backdated else None
            machine.say(facts, heads=old)
        everything: dict[bytes, Stated] = {}
        for machine in self.machines:
            everything |= machine.known
        return list(everything.values())


OWN = ("ann", "bob", "cid", "eve")


def as_oneself(machine: int, step: Step) -> str:
    """Mostly as whom the machine speaks for, sometimes as another."""
    return step.who if step.number == 8 else OWN[machine]


@given(steps=STEPS, data=st.data())
def test_the_order_of_arrival_makes_no_difference(steps: list[Step], data: st.DataObject) -> None:
    lives = Lives()
    everything = lives.live(steps, as_oneself)
    fleet = settle(everything, founder=FOUNDER)
    twice = data.draw(st.permutations([*everything, *everything[::3]]))
    assert settle(twice, founder=FOUNDER) == fleet
    assert fleet.pending == frozenset()
    removals = sum(node.removed is not None for node in fleet.nodes.values())
    event(f"removed machines: {removals}")
    part = twice[: data.draw(st.integers(0, len(everything)))]
    assert settle(data.draw(st.permutations(part)), founder=FOUNDER) == settle(
        part, founder=FOUNDER
    )


@given(steps=STEPS)
def test_as_of_its_newest_statements_a_fleet_is_what_it_is(steps: list[Step]) -> None:
    lives = Lives()
    everything = lives.live(steps, as_oneself)
    fleet = settle(everything, founder=FOUNDER)
    then = as_of(everything, fleet.heads, founder=FOUNDER)
    assert then is not None
    assert then.heads == fleet.heads
    assert (then.persons, then.speaks_for, then.rules) == (
        fleet.persons,
        fleet.speaks_for,
        fleet.rules,
    )
    # A machine that a removed one let in beyond its cut is in no statement that counts.
    for node, then_state in then.nodes.items():
        assert fleet.nodes[node] == then_state
    assert all(fleet.nodes[node].removed for node in fleet.nodes.keys() - then.nodes.keys())


@given(steps=STEPS)
def test_nothing_undoes_a_removal(steps: list[Step]) -> None:
    lives = Lives()
    everything = lives.live(steps, as_oneself)
    fleet = settle(everything, founder=FOUNDER)
    out = _removed(everything)
    assert all(state.removed for node, state in fleet.nodes.items() if node in out)
    for machine in lives.machines:
        for node, cut in _removed(list(machine.known.values())).items():
            assert node in out
            assert all(head.seq <= cut[log].seq for log, head in out[node].items())
    assert not any(pair.live for (node, _), pair in fleet.speaks_for.items() if node in out)


def _removed(statements: list[Stated]) -> dict[bytes, dict[int, Head]]:
    """Every removed node with its cut, without those that are out because of another."""
    fleet = Settling(order(statements), FOUNDER).fleet
    return {node: removed.cut for node, removed in fleet.removed.items()}


@given(steps=STEPS)
def test_what_is_beyond_a_cut_counts_nowhere(steps: list[Step]) -> None:
    lives = Lives()
    everything = {one.hash: one for one in lives.live(steps, as_oneself)}
    fleet = settle(everything.values(), founder=FOUNDER)
    counting = [version.hash for version in fleet.rules]
    for known in fleet.persons.values():
        counting += known.heads
    for pair in fleet.speaks_for.values():
        counting += pair.heads
    for one in (everything[hash_] for hash_ in counting):
        assert fleet.counts(one.author, 0, one.seq)


def as_anybody(machine: int, step: Step) -> str:
    """The hostile machine claims to act for whomever."""
    return step.who if machine == 3 else OWN[machine]


@given(steps=STEPS)
def test_who_has_no_right_changes_nothing(steps: list[Step]) -> None:
    """Not by claiming to be another, not by naming old heads, not after hearing anything."""
    lives = Lives()
    hostile = [
        step
        for step in steps
        # Its own certificate, its own leaving and its person's own silence are its right;
        # nobody gives it more here.
        if not (step.machine == 3 and (step.what in ("own", "silent") or step.of == "mole"))
        and not (step.machine != 3 and (step.what == "person" or step.of == "mole"))
        and not (step.machine != 3 and step.what in ("speaks", "silent"))
    ]
    everything = lives.live(hostile, as_anybody)
    mole = node_of("mole")
    honest = [one for one in everything if one.author != mole]
    assert settle(everything, founder=FOUNDER) == settle(honest, founder=FOUNDER)
    assert any(step.machine == 3 and step.what != "hear" for step in hostile) or len(honest) == len(
        everything
    )


@given(
    noise=st.lists(
        st.builds(
            Stated,
            hash=st.binary(min_size=1, max_size=2),
            author=st.sampled_from([node_of(name) for name in MACHINES[1:]]),
            seq=st.integers(0, 5),
            type=st.just(2),
            facts=st.builds(
                say.PersonFacts,
                heads=st.lists(st.binary(min_size=1, max_size=2), max_size=3),
                person=st.sampled_from(PERSONS),
                name=st.text(max_size=3),
                role=st.text(max_size=3),
                also=st.lists(st.binary(max_size=2), max_size=2),
                by=st.none() | st.sampled_from(PERSONS),
                at=st.just(1),
            ),
        ),
        max_size=30,
    ),
    forked=st.dictionaries(
        st.binary(min_size=1, max_size=2),
        st.tuples(st.sampled_from([node_of(name) for name in MACHINES[1:]]), st.integers(0, 6)),
        max_size=4,
    ),
)
def test_no_heap_of_nonsense_raises_or_hangs(
    noise: list[Stated], forked: dict[bytes, tuple[bytes, int]]
) -> None:
    """Circles, forks, repeated numbers: what cannot be is left out, the same in any order."""
    whole = [*founded().known.values(), *{one.hash: one for one in noise}.values()]
    fleet = settle(whole, founder=FOUNDER, forked=forked)
    assert fleet == settle(whole[::-1], founder=FOUNDER, forked=forked)
    assert fleet.nodes[FOUNDER].public_key == key_of("home")


def test_a_long_plain_history_takes_time_in_proportion_to_its_length() -> None:
    """Counted in steps, not in seconds: twice the history must not take four times as many."""

    def steps(length: int) -> int:
        home = founded()
        lap = joined(home, "lap", for_person="ann")
        last: Stated | None = None
        for number in range(length):
            by, other = (home, lap) if number % 2 else (lap, home)
            last = by.say(
                rules(f"v{number}", "ann", replaces=last),
                heads=[last.hash] if last else None,
            )
            other.known[last.hash] = last
        return _lines_of(lambda: settle(home.known.values(), founder=FOUNDER))

    assert steps(200) < 2.5 * steps(100)


def _lines_of(call: Callable[[], object]) -> int:
    count = 0

    def trace(_frame: object, event_name: str, _argument: object) -> object:
        nonlocal count
        count += event_name == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        call()
    finally:
        sys.settrace(before)
    return count
