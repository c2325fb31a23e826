"""Links between hosts on a real switch, found by mDNS alone: cut, healed, moved, frozen."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.lab import Host, Lab, lab
from tests.running import until

pytestmark = pytest.mark.netns

MESH = Path(__file__).with_name("lab_mesh.py")
OFTEN = 2.0
SOON = 25.0


class Peer:
    """A mesh on a host, and what it last said of its links."""

    def __init__(self, host: Host, everyone: Lab) -> None:
        self.host = host
        others = [str(one.number) for one in everyone.hosts if one is not host]
        self.links: dict[str, dict[str, Any]] = {}
        self.process = host.start(
            sys.executable, "-I", str(MESH), str(host.number), str(OFTEN), *others,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.links = json.loads(line).get("links", self.links)

    def linked(self, other: "Peer") -> bool:
        """Whether it has a link to the other."""
        return self.links.get(str(other.host.number), {}).get("state") == "connected"

    def at(self, other: "Peer") -> str:
        """Where the link goes to, without the port."""
        where: str = self.links.get(str(other.host.number), {}).get("at") or ""
        return where.rpartition(":")[0]

    def sighted(self, other: "Peer") -> bool:
        """Whether the network has told it where the other is."""
        return self.links.get(str(other.host.number), {}).get("sighted") is True

    def trouble(self, other: "Peer") -> str:
        """Why not."""
        return self.links.get(str(other.host.number), {}).get("trouble") or ""


@pytest.fixture
def hosts() -> Iterator[Lab]:
    with lab(3) as made:
        yield made


def all_linked(peers: list[Peer]) -> bool:
    return all(one.linked(other) for one in peers for other in peers if one is not other)


@pytest.fixture
def peers(hosts: Lab) -> list[Peer]:
    """Three that are linked."""
    made = [Peer(host, hosts) for host in hosts.hosts]
    until(lambda: all_linked(made), "all are linked", SOON)
    return made


def test_a_cut_is_noticed_on_both_sides_and_heals(hosts: Lab, peers: list[Peer]) -> None:
    one, two, three = peers
    until(lambda: one.sighted(two), "it is told where the other is", SOON)
    hosts.cut(one.host, two.host)
    until(lambda: not one.linked(two) and not two.linked(one), "both notice", SOON)
    until(lambda: "does not answer" in one.trouble(two), "it says why", SOON)
    assert one.linked(three)
    assert two.linked(three)
    hosts.heal()
    until(lambda: all_linked(peers), "all are linked again", SOON)


def test_a_one_way_cut_ends_the_link_and_heals(hosts: Lab, peers: list[Peer]) -> None:
    one, two, three = peers
    hosts.cut_one_way(one.host, two.host)
    until(lambda: not one.linked(two) and not two.linked(one), "both notice", SOON)
    assert three.linked(one)
    assert three.linked(two)
    hosts.heal()
    until(lambda: all_linked(peers), "all are linked again", SOON)


def test_an_address_change_is_followed(hosts: Lab, peers: list[Peer]) -> None:
    one, two, three = peers
    two.host.move(60)
    until(lambda: one.at(two) == three.at(two) == two.host.address, "linked where it is now", SOON)
    until(lambda: all_linked(peers), "all are linked", SOON)


def test_a_frozen_machine_is_noticed_and_comes_back(peers: list[Peer]) -> None:
    one, two, three = peers
    two.process.send_signal(signal.SIGSTOP)
    until(lambda: not one.linked(two) and not three.linked(two), "it is missed", SOON)
    two.process.send_signal(signal.SIGCONT)
    until(lambda: all_linked(peers), "all are linked again", SOON)


def test_a_killed_machine_is_seen_as_gone_and_a_new_one_as_back(
    hosts: Lab, peers: list[Peer]
) -> None:
    one, two, three = peers
    # A link may be the other side's doing. Who was never told where a machine is can only say so.
    until(lambda: one.sighted(two), "it is told where the other is", SOON)
    two.process.kill()
    until(lambda: not one.linked(two) and not three.linked(two), "it is missed", SOON)
    until(lambda: "refuses connections" in one.trouble(two), "it says why", SOON)
    back = Peer(two.host, hosts)
    until(lambda: all_linked([one, back, three]), "all are linked again", SOON)


def test_a_pulled_cable_heals(hosts: Lab, peers: list[Peer]) -> None:
    one, two, three = peers
    hosts.unplug(one.host)
    until(lambda: not one.linked(two) and not three.linked(one), "it is missed", SOON)
    hosts.plug(one.host)
    until(lambda: all_linked(peers), "all are linked again", SOON)


def test_peers_started_while_cut_off_meet_after_it_heals(hosts: Lab) -> None:
    hosts.cut(*hosts.hosts[:2])
    made = [Peer(host, hosts) for host in hosts.hosts]
    one, two, three = made
    until(lambda: three.linked(one) and three.linked(two), "the third sees both", SOON)
    assert not one.linked(two)
    hosts.heal()
    until(lambda: all_linked(made), "all are linked", SOON)
