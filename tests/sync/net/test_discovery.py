"""mDNS over loopback: finding, pairing offers, and what is not believed."""

import asyncio
import itertools
import os
from collections.abc import Sequence

import pytest
from zeroconf import IPVersion, ServiceStateChange
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from sync.log.names import node_name
from sync.net import discovery as module
from sync.net import interfaces
from sync.net.discovery import SID_BYTES, TYPE, Announced, Discovery, Offered, _cut, _offer
from sync.net.interfaces import Interface
from sync.net.ledger import Address
from tests.sync.net.machines import HERE, until

OFTEN = (0.5, 0.6)
SID = bytes(range(SID_BYTES))
LAN = Interface(name="eth0", host="192.168.7.1", prefix=24)
_ids = itertools.count(1)


class Finder:
    """A discovery on loopback and what it saw. Ids are fresh: other tests announce as well."""

    def __init__(self, *, every: tuple[float, float] = OFTEN) -> None:
        self.node = os.urandom(28) + next(_ids).to_bytes(4, "big")
        self.seen: dict[bytes, Sequence[Address]] = {}
        self.mdns = Discovery(self.node, self._saw, random=os.urandom, bind=HERE, every=every)

    def _saw(self, node: bytes, addresses: Sequence[Address]) -> None:
        self.seen[node] = addresses


async def test_two_find_each_other_and_not_themselves() -> None:
    one, other = Finder(), Finder()
    one.mdns.announce(Announced(port=1001))
    other.mdns.announce(Announced(port=1002))
    one.mdns.start()
    other.mdns.start()
    await until(lambda: other.node in one.seen and one.node in other.seen, "both were found")
    assert one.seen[other.node] == [Address(host=HERE, port=1002, source="mdns")]
    assert one.node not in one.seen
    assert one.mdns.state == other.mdns.state == "on"
    await asyncio.gather(one.mdns.stop(), other.mdns.stop())
    assert one.mdns.state == "off"


async def test_an_offer_shows_while_it_stands() -> None:
    shows, looks = Finder(), Finder()
    shows.mdns.announce(Announced(port=1001, sid=SID, pairing_port=2001, name="Küche"))
    shows.mdns.start()
    found: list[Offered] = []
    for _ in range(5):
        if not found:
            found = [one for one in await looks.mdns.offers(2.0) if one.sid == SID]
    assert [(one.name, one.addresses[0].port) for one in found] == [("Küche", 2001)]
    shows.mdns.announce(Announced(port=1001))
    looks.mdns.announce(Announced(port=1002))
    await until(lambda: not looks.mdns._offers, "the offer is gone")
    await asyncio.gather(shows.mdns.stop(), looks.mdns.stop())


async def test_who_is_alone_tells_and_asks_nothing() -> None:
    alone = Finder()
    alone.mdns.start()
    await asyncio.sleep(0)
    assert alone.mdns._engine is None
    assert alone.mdns.state == "off"
    await alone.mdns.offers(0.3)
    await until(lambda: alone.mdns._engine is None, "it is quiet again")
    await alone.mdns.stop()


async def test_no_network_is_a_sentence_and_heals(monkeypatch: pytest.MonkeyPatch) -> None:
    there = interfaces.read()
    monkeypatch.setattr(interfaces, "read", list)
    finder = Finder()
    finder.mdns.announce(Announced(port=1001))
    finder.mdns.start()
    await until(lambda: finder.mdns.state not in ("off", "on"), "it fails")
    assert "there is no network" in finder.mdns.state
    assert finder.mdns.state.endswith(".")
    monkeypatch.setattr(interfaces, "read", lambda: there)
    await until(lambda: finder.mdns.state == "on", "it works")
    await finder.mdns.stop()


async def test_an_engine_that_fails_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise OSError(98, "Address already in use")

    monkeypatch.setattr(module, "AsyncZeroconf", broken)
    finder = Finder(every=(60, 60))
    finder.mdns.announce(Announced(port=1001))
    finder.mdns.start()
    await until(lambda: "Address already in use" in finder.mdns.state, "it says why")
    await finder.mdns.stop()


def info(node: bytes | str, *, host: str = HERE, port: int = 5, **told: str) -> AsyncServiceInfo:
    name = node if isinstance(node, str) else node_name(node)
    return AsyncServiceInfo(
        TYPE,
        f"{(name or 'nobody')[:16]}.{TYPE}",
        parsed_addresses=[host],
        port=port,
        properties={"v": "1", "id": name, **told},
        server="x.local.",
    )


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> Finder:
    """One on a home network that hears only what a test gives it."""
    finder = Finder()
    finder.mdns._near = [LAN]
    del monkeypatch
    return finder


def test_only_addresses_of_our_network_are_passed_on(quiet: Finder) -> None:
    for host in ("8.8.8.8", "192.168.8.1", "127.0.0.1"):
        quiet.mdns._heard("n", info(b"n" * 32, host=host))
    assert quiet.seen == {}
    quiet.mdns._heard("n", info(b"n" * 32, host="192.168.7.9"))
    assert [one.host for one in quiet.seen[b"n" * 32]] == ["192.168.7.9"]


@pytest.mark.parametrize("name", ["", "x" * 52, "A" * 52, "ä" * 60, "mfqwcylb"])
def test_what_is_no_node_id_is_ignored(quiet: Finder, name: str) -> None:
    quiet.mdns._heard("n", info(name, host="192.168.7.9"))
    assert quiet.seen == {}


def test_ourselves_are_ignored(quiet: Finder) -> None:
    quiet.mdns._heard("n", info(quiet.node, host="192.168.7.9"))
    assert quiet.seen == {}


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"pair": "", "pp": "5"},
        {"pair": "zz" * SID_BYTES, "pp": "5"},
        {"pair": "00" * (SID_BYTES + 1), "pp": "5"},
        {"pair": "00" * SID_BYTES, "pp": "0"},
        {"pair": "00" * SID_BYTES, "pp": "65536"},
        {"pair": "00" * SID_BYTES, "pp": "-1"},
        {"pair": "00" * SID_BYTES, "pp": "many"},
    ],
)
def test_a_malformed_offer_is_none(told: dict[str, str]) -> None:
    assert _offer({"id": "x" * 52, **told}, [HERE]) is None


def test_a_name_is_made_safe_to_show() -> None:
    told = {"id": "abcdefghij", "pair": "00" * SID_BYTES, "pp": "5"}
    shown = _offer({**told, "name": "\x1b[31mred\u202e" + "x" * 500}, [HERE])
    assert shown is not None
    assert shown.name.startswith("[31mred")
    assert shown.name.isprintable()
    assert len(shown.name) <= 64
    nameless = _offer(told, [HERE])
    assert nameless is not None
    assert nameless.name == "abcdefgh"


@pytest.mark.parametrize("name", ["", "box", "ü" * 200, "🙂" * 100])
def test_every_name_fits_an_announcement(name: str) -> None:
    finder = Finder()
    finder.mdns._near = [LAN]
    made = finder.mdns._info(Announced(port=1, sid=SID, pairing_port=2, name=name))
    assert (made.decoded_properties["name"] or "") == _cut(name)
    assert all(len(key) + 1 + len(value or b"") <= 255 for key, value in made.properties.items())


async def test_a_flood_of_announcements_is_bounded(
    quiet: Finder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SERVICES_KEPT", 10)
    looked: list[str] = []

    async def look(_zeroconf: object, name: str) -> None:
        looked.append(name)

    monkeypatch.setattr(quiet.mdns, "_look", look)
    engine = AsyncZeroconf(interfaces=[HERE], ip_version=IPVersion.V4Only)
    for n in range(500):
        quiet.mdns._changed(engine.zeroconf, TYPE, f"n{n}.{TYPE}", ServiceStateChange.Added)
    await asyncio.gather(*quiet.mdns._resolving.values())
    assert len(looked) == 10
    quiet.mdns._changed(engine.zeroconf, TYPE, f"n3.{TYPE}", ServiceStateChange.Removed)
    quiet.mdns._changed(engine.zeroconf, TYPE, f"later.{TYPE}", ServiceStateChange.Added)
    await asyncio.gather(*quiet.mdns._resolving.values())
    assert looked[-1] == f"later.{TYPE}"
    await engine.async_close()
