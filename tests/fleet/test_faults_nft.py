"""Packets that a filter drops between two real machines: all, one way, the large, by chance.

The rules live in the network namespace of one host of the lab and are gone with it.
"""

import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.fleet.fleets import Machine, equal, fleet_of, linked
from tests.fleet.history import check_life
from tests.fleet.lab import Host, Lab, lab
from tests.running import until

pytestmark = pytest.mark.netns

SOON = 30.0
ENOUGH = 5
FAULTS = {
    "both ways": ("input counter drop", "output counter drop"),
    "one way": ("output counter drop",),
    "large packets only": (
        "output meta length > 600 counter drop",
        "input meta length > 600 counter drop",
    ),
    "one in five": (
        "input numgen random mod 100 < 20 counter drop",
        "output numgen random mod 100 < 20 counter drop",
    ),
}
CUTS = {"both ways", "one way"}
"""Those that the machines must notice; with the others a link may live on."""


@pytest.fixture(scope="module")
def hosts() -> Iterator[Lab]:
    with lab(2) as made:
        yield made


@pytest.fixture(scope="module")
def two_hosts(hosts: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    folder = tmp_path_factory.mktemp("nft")
    with fleet_of(folder, "desk", "laptop", hosts=hosts.hosts, mdns=True) as made:
        yield made


def filtered(host: Host, *rules: str) -> None:
    """Drop these packets of the host's cable; its loopback, where its page is, stays whole."""
    lines = ["add table inet faults"]
    for chain in ("input", "output"):
        hook = f"type filter hook {chain} priority 0; policy accept;"
        lines.append(f"add chain inet faults {chain} {{ {hook} }}")
    for rule in rules:
        chain, _, what = rule.partition(" ")
        way = "iifname" if chain == "input" else "oifname"
        lines.append(f'add rule inet faults {chain} {way} "eth0" {what}')
    nft(host, "\n".join(lines))


def nft(host: Host, commands: str) -> None:
    done = subprocess.run(
        host.command("nft", "-f", "-"),
        input=commands,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def dropped(host: Host) -> int:
    """How many packets the rules have taken."""
    listed = subprocess.run(
        host.command("nft", "list", "table", "inet", "faults"),
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return sum(int(found) for found in re.findall(r"counter packets (\d+)", listed.stdout))


def asked(machine: Machine, title: str) -> str:
    detail = "word " * 2_000
    return str(machine.node.flag(kind="question", title=title, detail=detail)["full_id"])


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_filter_drops_is_made_up_for_once_it_stops(
    two_hosts: list[Machine], fault: str
) -> None:
    desk, laptop = two_hosts
    linked(desk, laptop, seconds=SOON)
    host = laptop.node.place
    assert isinstance(host, Host)
    before = asked(desk, f"Before {fault}")
    laptop.meets(before)
    filtered(host, *FAULTS[fault])
    try:
        asks = [asked(machine, f"{fault} on {machine.name}") for machine in (desk, laptop)]
        status, receipt = laptop.person.vote(before, "answer", text="yes")
        assert status == 202
        until(lambda: dropped(host) >= ENOUGH, "packets were dropped", SOON)
        if fault in CUTS:
            until(lambda: not desk.linked(laptop) and not laptop.linked(desk), "noticed", SOON)
            assert receipt["state"] == "recorded"
            laptop.becomes(before, "kept")
            assert desk.card(before) == "waiting"
    finally:
        nft(host, "delete table inet faults")
    linked(desk, laptop, seconds=SOON)
    told = desk.node.agent("await", {"ask_id": before, "wait_s": SOON})
    assert (told["state"], told["text"]) == ("answered", "yes")
    for ask in asks:
        desk.meets(ask)
        laptop.meets(ask)
    equal(desk, laptop, seconds=SOON)
    check_life(desk.home, before, approval=False)
