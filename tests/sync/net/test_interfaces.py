"""Which of our addresses others are told, and which announced ones are believed."""

import pytest

from sync.net.interfaces import Interface, near, on_link, read, told

LO = Interface(name="lo", host="127.0.0.1", prefix=8)
LO6 = Interface(name="lo", host="::1", prefix=128)
LAN = Interface(name="eth0", host="192.168.1.20", prefix=24)
LAN6 = Interface(name="eth0", host="fd00::20", prefix=64)
LAN_LOCAL = Interface(name="eth0", host="fe80::20", prefix=64)
WIFI = Interface(name="wlan0", host="10.0.0.7", prefix=16)
DOCKER = Interface(name="docker0", host="172.17.0.1", prefix=16)
BRIDGE = Interface(name="br-4f1a", host="172.18.0.1", prefix=16)
VETH = Interface(name="veth12", host="169.254.7.7", prefix=16)
VPN = Interface(name="tailscale0", host="100.64.0.9", prefix=32)
ALL = [LO, LO6, LAN, LAN6, LAN_LOCAL, WIFI, DOCKER, BRIDGE, VETH, VPN]


def test_containers_tunnels_and_loopback_are_not_announced() -> None:
    assert near(ALL) == [LAN, LAN6, WIFI]


def test_but_they_are_where_nothing_else_is_there() -> None:
    assert near([LO, LO6, DOCKER]) == [DOCKER]
    assert near([LO, VPN]) == [VPN]
    assert near([LO, LO6]) == [LO, LO6]
    assert near([LO, LAN_LOCAL]) == [LAN_LOCAL]
    assert near([]) == []


def test_a_bind_address_is_the_only_one() -> None:
    assert near(ALL, bind="10.0.0.7") == [WIFI]
    assert near(ALL, bind="127.0.0.1") == [LO]
    assert near(ALL, bind="8.8.8.8") == []
    assert near(ALL, bind="0.0.0.0") == near(ALL, bind="::") == near(ALL)  # noqa: S104


def test_given_interfaces_are_the_only_ones() -> None:
    assert near(ALL, only=["wlan0"]) == [WIFI]
    assert near(ALL, only=["docker0", "lo"]) == [DOCKER]
    assert told(ALL, only=["wlan0"]) == ["10.0.0.7"]


def test_members_are_told_tunnels_too() -> None:
    assert told(ALL) == ["192.168.1.20", "fd00::20", "10.0.0.7", "100.64.0.9"]
    assert told(ALL, bind="10.0.0.7") == ["10.0.0.7"]


@pytest.mark.parametrize(
    ("host", "believed"),
    [
        ("192.168.1.99", True),
        ("192.168.2.99", False),
        ("10.0.200.1", True),
        ("fd00::99", True),
        ("fd01::99", False),
        ("fe80::99", True),
        ("fe80::99%eth0", True),
        ("8.8.8.8", False),
        ("127.0.0.1", False),
        ("224.0.0.251", False),
        ("ff02::fb", False),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("no address", False),
        ("", False),
    ],
)
def test_only_addresses_of_our_own_networks_are_believed(host: str, *, believed: bool) -> None:
    assert on_link(host, near(ALL)) is believed


def test_this_machine_has_at_least_itself() -> None:
    assert any(one.address.is_loopback for one in read())
