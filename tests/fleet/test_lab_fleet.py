"""Three real nodes on three hosts of a switch, found by mDNS alone: cut, healed, moved.

What two machines that cannot reach each other have to say goes through the third. When the
cables are back, all of them hold the same.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sync.log.kinds import EntryType
from tests.fleet.fleets import Machine, equal, fleet_of, linked
from tests.fleet.history import check_life, entries
from tests.fleet.lab import Host, Lab, lab
from tests.running import until

pytestmark = pytest.mark.netns

SOON = 30.0


@pytest.fixture(scope="module")
def hosts() -> Iterator[Lab]:
    with lab(3) as made:
        yield made


@pytest.fixture(scope="module")
def fleet_of_module(
    hosts: Lab, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Machine]]:
    folder: Path = tmp_path_factory.mktemp("lab")
    names = ("desk", "laptop", "server")
    with fleet_of(folder, *names, hosts=hosts.hosts, mdns=True) as made:
        yield made


@pytest.fixture
def three(hosts: Lab, fleet_of_module: list[Machine]) -> list[Machine]:
    """All linked, with all cables in."""
    hosts.heal()
    linked(*fleet_of_module, seconds=SOON)
    return fleet_of_module


def host(machine: Machine) -> Host:
    assert isinstance(machine.node.place, Host)
    return machine.node.place


def asked(machine: Machine, title: str) -> str:
    return str(machine.node.flag(kind="question", title=title)["full_id"])


def answered(home: Machine, other: Machine, title: str) -> None:
    """Asked on one machine, answered on another one, picked up."""
    ask = asked(home, title)
    until(lambda: other.shows(ask), f"{other.name} shows {title}", SOON)
    assert other.person.vote(ask, "answer", text="yes")[0] == 202
    told = home.node.agent("await", {"ask_id": ask, "wait_s": SOON})
    assert (told["state"], told["text"]) == ("answered", "yes")
    check_life(home.home, ask, approval=False)


def apart(one: Machine, other: Machine) -> bool:
    return not one.linked(other) and not other.linked(one)


def test_two_that_are_cut_apart_go_on_by_the_third(hosts: Lab, three: list[Machine]) -> None:
    desk, laptop, _ = three
    hosts.cut(host(desk), host(laptop))
    until(lambda: apart(desk, laptop), "both notice", SOON)
    assert desk.sees("laptop")["trouble"]
    answered(desk, laptop, "By the third?")
    answered(laptop, desk, "And back?")
    until(lambda: desk.sees("laptop")["seen_by"] == "server", "the server tells of it", SOON)
    hosts.heal()
    linked(*three, seconds=SOON)
    equal(*three)


def test_a_cut_in_one_direction_is_one_in_both(hosts: Lab, three: list[Machine]) -> None:
    """Nothing says no here: what one of them sends is lost without a word."""
    desk, laptop, _ = three
    hosts.cut_one_way(host(desk), host(laptop))
    until(lambda: apart(desk, laptop), "both notice", SOON)
    answered(desk, laptop, "One way, by the third?")
    hosts.heal()
    linked(*three, seconds=SOON)
    answered(desk, laptop, "Both ways again?")
    equal(*three)


def test_each_goes_on_alone_and_all_converge(hosts: Lab, three: list[Machine]) -> None:
    desk, laptop, server = three
    before = asked(desk, "Before the cut?")
    laptop.meets(before)
    server.meets(before)
    hosts.cut(*(host(machine) for machine in three))
    until(lambda: apart(desk, laptop) and apart(desk, server) and apart(laptop, server),
          "all are alone", SOON)  # fmt: skip
    alone = [asked(machine, f"Alone on {machine.name}?") for machine in three]
    for machine, word in ((laptop, "from the laptop"), (server, "from the server")):
        assert machine.person.vote(before, "answer", text=word)[1]["state"] == "recorded"
        machine.becomes(before, "kept")
    hosts.heal()
    linked(*three, seconds=SOON)
    equal(*three, seconds=SOON)
    for machine in three:
        for ask in alone:
            assert machine.shows(ask)
    finals = [machine.becomes(before, "answered_here")["final"] for machine in three]
    assert finals[0] == finals[1] == finals[2]
    assert len(entries(desk.home, EntryType.FINAL, before)) == 1
    assert len(entries(desk.home, EntryType.VOTE, before)) == 2
    check_life(desk.home, before, approval=False)


def test_machines_that_start_while_cut_apart_meet_when_they_can(
    hosts: Lab, three: list[Machine]
) -> None:
    """mDNS asks at the start, and nobody hears it then."""
    hosts.cut(*(host(machine) for machine in three))
    for machine in three:
        machine.node.restart()
    desk, laptop, server = three
    assert apart(desk, laptop)
    assert apart(laptop, server)
    hosts.heal()
    linked(*three, seconds=SOON)
    answered(desk, laptop, "Met at last?")


def test_a_new_address_is_followed(hosts: Lab, three: list[Machine]) -> None:
    desk, laptop, server = three
    host(laptop).move(70)

    def there(machine: Machine) -> bool:
        row = machine.sees("laptop")
        return row["state"] == "connected" and (row["address"] or "").startswith("10.77.0.70:")

    until(lambda: there(desk) or there(server), "someone dials it where it is now", SOON)
    linked(*three, seconds=SOON)
    answered(desk, laptop, "At the new address?")
    host(laptop).move(host(laptop).number)


def test_a_pulled_cable_and_back(hosts: Lab, three: list[Machine]) -> None:
    desk, laptop, server = three
    hosts.unplug(host(server))
    until(lambda: apart(desk, server) and apart(laptop, server), "it is gone", SOON)
    kept = asked(server, "Meanwhile?")
    answered(desk, laptop, "Without the server?")
    hosts.plug(host(server))
    linked(*three, seconds=SOON)
    until(lambda: desk.shows(kept), "what it asked meanwhile has come", SOON)
    equal(*three)
