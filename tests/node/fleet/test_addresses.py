"""Addresses of other machines: what is typed, what is kept, in which order."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.fleet import addresses
from node.limits import ADDRESSES_KEPT
from node.store.transaction import Transaction
from sync.errors import Invalid, NotFound
from sync.net.ledger import Address
from tests.node.store.stores import looked, writing

A = "a" * 52


@pytest.mark.parametrize(
    ("typed", "host", "port"),
    [
        ("192.168.1.20:7717", "192.168.1.20", 7717),
        (" box.local:1 ", "box.local", 1),
        ("[fe80::1%eth0]:65535", "fe80::1%eth0", 65535),
    ],
)
def test_an_address_reads_as_it_is_written(typed: str, host: str, port: int) -> None:
    assert addresses.parse(typed) == (host, port)
    assert addresses.parse(addresses.written(host, port)) == (host, port)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "box",
        "box:",
        ":7717",
        "box:0",
        "box:65536",
        "box:-1",
        "box:٣",
        "fe80::1:7717",
        "[box]:1",
        "a b:1",
        "b/x:1",
        "http://box:1",
        "x" * 254 + ":1",
        "box:99999999999999999999",
    ],
)
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(Invalid):
        addresses.parse(typed)


@given(st.text(max_size=60))
def test_no_text_breaks_the_reading(text: str) -> None:
    try:
        host, port = addresses.parse(text)
    except Invalid:
        return
    assert host
    assert 0 < port < 65536


@pytest.mark.parametrize("count", [ADDRESSES_KEPT + 5])
async def test_what_was_given_stays_and_the_rest_is_bounded(tmp_path: Path, count: int) -> None:
    async with writing(tmp_path / "home") as kept:

        def job(transaction: Transaction) -> list[Address]:
            addresses.give(transaction, A, "10.0.0.1:7717")
            for number in range(count):
                told = [Address(host=f"10.1.0.{number}", port=7717, source="told")]
                addresses.told(transaction, A, told)
            good = Address(host="10.2.0.1", port=7717, source="mdns")
            addresses.reached(transaction, A, good, version="1", by=A)
            addresses.told(transaction, A, [good])
            return addresses.known(transaction.connection, A)

        found = await kept.writer.run("addresses", job)
    assert found[0].host == "10.2.0.1"
    assert found[0].source == "good"
    assert found[1].host == "10.0.0.1"
    assert len(found) <= ADDRESSES_KEPT
    (rows,) = looked(tmp_path / "home", "SELECT count(*) FROM address")[0]
    assert rows == ADDRESSES_KEPT + 1


async def test_a_given_address_can_be_dropped_once(tmp_path: Path) -> None:
    async with writing(tmp_path / "home") as kept:

        def job(transaction: Transaction) -> list[str]:
            addresses.give(transaction, A, "[fd00::1]:7717")
            there = addresses.given(transaction.connection, A)
            addresses.drop(transaction, A, "[fd00::1]:7717")
            return there + addresses.given(transaction.connection, A)

        assert await kept.writer.run("addresses", job) == ["[fd00::1]:7717"]
        with pytest.raises(NotFound):
            await kept.writer.run(
                "drop", lambda transaction: addresses.drop(transaction, A, "[fd00::1]:7717")
            )


async def test_addresses_another_node_made_up_are_left_out(tmp_path: Path) -> None:
    async with writing(tmp_path / "home") as kept:
        told = [
            Address(host="10.0.0.1", port=0, source="told"),
            Address(host="a b", port=1, source="told"),
            Address(host="", port=1, source="told"),
            Address(host="10.0.0.2", port=70000, source="told"),
            Address(host="10.0.0.3", port=7717, source="told"),
        ]
        fresh = await kept.writer.run(
            "fresh", lambda transaction: addresses.fresh(transaction.connection, A, told)
        )
    assert [address.host for address in fresh] == ["10.0.0.3"]


async def test_the_latest_word_of_a_machine_counts(tmp_path: Path) -> None:
    async with writing(tmp_path / "home") as kept:

        def job(transaction: Transaction) -> None:
            addresses.sighted(transaction, A, 20, by="us", version="0.2.0")
            addresses.sighted(transaction, A, 10, by="them", version="0.1.0")
            addresses.sighted(transaction, A, 30, by="them", version="")

        await kept.writer.run("seen", job)
        assert looked(kept.home, "SELECT at, by, version FROM seen") == [(30, "them", "0.2.0")]
