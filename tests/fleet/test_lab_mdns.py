"""Real mDNS between hosts on a real switch: found, cut, healed, moved, gone."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.lab import Host, Lab, lab
from tests.running import until

pytestmark = pytest.mark.netns

PEER = Path(__file__).with_name("lab_peer.py")
OFTEN = 2.0
"""Seconds between two announcements here: 30 to 60 in the product."""
SOON = 12.0


class Peer:
    """A process on a host that announces and looks."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.seen: dict[int, list[str]] = {}
        self.state = ""
        self.process = host.start(
            sys.executable, "-I", str(PEER), str(host.number), str(OFTEN), stdout=subprocess.PIPE
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            told = json.loads(line)
            self.state = told.get("state", self.state)
            if "seen" in told:
                assert told["port"] == 7000 + told["seen"]
                self.seen[told["seen"]] = told["hosts"]

    def sees(self, *others: "Peer") -> bool:
        """Whether it has seen all of these where they are now."""
        return all(other.host.address in self.seen.get(other.host.number, []) for other in others)


@pytest.fixture
def hosts() -> Iterator[Lab]:
    with lab(3) as made:
        yield made


def test_each_finds_the_others_in_seconds(hosts: Lab) -> None:
    peers = [Peer(host) for host in hosts.hosts]
    until(lambda: all(one.sees(other) for one in peers for other in peers if one is not other),
          "each sees each", SOON)  # fmt: skip
    until(lambda: {peer.state for peer in peers} == {"on"}, "all say so")
    assert not any(peer.host.number in peer.seen for peer in peers)


def test_those_that_started_while_cut_off_meet_after_it_heals(hosts: Lab) -> None:
    """mDNS asks only at its start: only asking and telling again brings them together."""
    first, second, third = hosts.hosts
    hosts.cut(first, second)
    one, two, three = Peer(first), Peer(second), Peer(third)
    until(lambda: three.sees(one, two) and one.sees(three) and two.sees(three), "the third", SOON)
    end = time.monotonic() + 2 * OFTEN
    until(lambda: time.monotonic() > end, "what starting sends has been sent")
    assert not one.sees(two)
    assert not two.sees(one)
    hosts.heal()
    until(lambda: one.sees(two) and two.sees(one), "they meet", SOON)


def test_a_changed_address_is_followed(hosts: Lab) -> None:
    one, two, three = (Peer(host) for host in hosts.hosts)
    until(lambda: one.sees(two) and two.sees(one, three), "all", SOON)
    hosts.hosts[1].move(50)
    until(lambda: one.sees(two) and three.sees(two), "the new address", SOON)
    assert "10.77.0.50" in one.seen[2]
    assert two.sees(one)


def test_a_pulled_cable_is_no_fault_and_a_plugged_one_heals(hosts: Lab) -> None:
    hosts.unplug(hosts.hosts[0])
    one, two = Peer(hosts.hosts[0]), Peer(hosts.hosts[1])
    until(lambda: one.state and two.state == "on", "both run", SOON)
    assert one.process.poll() is None
    hosts.plug(hosts.hosts[0])
    until(lambda: one.sees(two) and two.sees(one), "they meet", SOON)


def test_the_lab_leaves_nothing_behind() -> None:
    with lab(2) as made:
        process = made.hosts[0].start("sleep", "1000")
        names = [made.switch, *(host.name for host in made.hosts)]
    assert process.poll() is not None
    listed = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True)
    assert not any(name in listed.stdout for name in names)
