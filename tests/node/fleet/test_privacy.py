"""What leaves this machine follows from what runs."""

import msgspec
import pytest

from node.fleet.privacy import Running, lines

ALONE = Running(
    web_port=7718, port=None, announces=False, mdns_wanted=True, machines=[], pairing=False
)


def open_ways(running: Running) -> list[str]:
    return [line.to for line in lines(running) if line.on]


def test_a_machine_alone_shows_its_page_and_nothing_else() -> None:
    assert open_ways(ALONE) == ["browsers on this machine (127.0.0.1:7718), signed in"]


@pytest.mark.parametrize(
    ("change", "to"),
    [
        ({"machines": ["desk", "phone"]}, "the machines desk, phone"),
        ({"announces": True}, "everyone on the local networks (mDNS)"),
        ({"pairing": True}, "whoever connects to the pairing port in those ten minutes"),
    ],
)
def test_each_way_out_shows_while_it_is_open(change: dict[str, object], to: str) -> None:
    now = msgspec.structs.replace(ALONE, **change)
    assert set(open_ways(now)) - set(open_ways(ALONE)) == {to}


def test_every_way_says_how_it_is_shut_or_why_it_is() -> None:
    for running in (ALONE, msgspec.structs.replace(ALONE, mdns_wanted=False)):
        assert all(line.how and line.to and line.what for line in lines(running))
    off = msgspec.structs.replace(ALONE, mdns_wanted=False)
    assert any("--no-mdns" in line.how for line in lines(off))
