"""The peer port: what a stranger costs, and what is said about who does not get in."""

import asyncio
import contextlib
import gc
import logging
import socket
import ssl
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import aiohttp
import pytest
from aiohttp import WSMsgType, web

from sync.limits import FRAME_BYTES, HANDSHAKES_PENDING
from sync.net import listener as module
from sync.net import reach as dial
from sync.net.faults import Fault
from sync.net.ledger import Address, Member
from sync.net.listener import BURST, LINKS_EACH, PATH, Listener
from sync.net.reach import Dialled, reach
from sync.net.tls import Trust
from tests.sync.net.machines import HERE, at, keyring, member, until


class Door:
    """A listener of machine 1 that lets 2 and 3 in and echoes."""

    def __init__(self, port: int = 0, bind: str | None = HERE) -> None:
        self.trust = Trust(keyring(1))
        self.trust.set([member(2), member(3)])
        self.taken: list[str] = []
        self.refused: list[str] = []
        self.left = 0
        self.listener = Listener(self.trust, self.take, self.refuse, bind=bind, port=port)

    async def take(self, who: Member, ws: web.WebSocketResponse, where: str) -> None:
        self.taken.append(f"{who.name} {where.rpartition(':')[0]}")
        async for message in ws:
            if message.type is WSMsgType.BINARY:
                await ws.send_bytes(message.data)
        self.left += 1

    def refuse(self, host: str, why: str) -> None:
        self.refused.append(f"{host}: {why}")


@asynccontextmanager
async def door(port: int = 0, bind: str | None = HERE) -> AsyncIterator[tuple[Door, int]]:
    opened = Door(port, bind)
    try:
        yield opened, await opened.listener.open()
    finally:
        await opened.listener.close()


async def dialled(number: int, port: int, *, towards: int = 1) -> Dialled:
    won, failures = await reach(keyring(number), member(towards), [at(port)])
    assert won is not None, failures
    return won


async def faults(number: int, addresses: list[Address], *, towards: int = 1) -> list[Fault]:
    won, failures = await reach(keyring(number), member(towards), addresses)
    assert won is None
    return [failure.fault for failure in failures]


async def test_members_are_let_in_and_known_by_their_certificate() -> None:
    async with door() as (opened, port):
        for number in (2, 3):
            won = await dialled(number, port)
            await won.socket.send_bytes(b"hello")
            assert (await won.socket.receive()).data == b"hello"
            await won.socket.close()
            await won.close()
        assert opened.taken == [f"m2 {HERE}", f"m3 {HERE}"]
        await until(lambda: opened.left == 2, "both links ended")


async def test_a_stranger_and_a_removed_one_are_told_apart_in_words() -> None:
    async with door() as (opened, port):
        assert await faults(4, [at(port)]) == [Fault.NOT_KNOWN]
        opened.trust.set([member(3)])
        assert await faults(2, [at(port)]) == [Fault.NOT_KNOWN]
        assert opened.taken == []
        assert set(opened.refused) == {f"{HERE}: It is not a machine of this fleet."}


async def test_another_machine_at_the_address_is_noticed() -> None:
    async with door() as (_, port):
        assert await faults(2, [at(port)], towards=5) == [Fault.OTHER_MACHINE]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "It does not speak TLS as askmesh does."),
        (b"", "It ended before it had shown who it is."),
        (bytes(300), "It does not speak TLS 1.3."),
    ],
    ids=["http", "nothing", "zeros"],
)
async def test_what_a_stranger_says_ends_in_a_sentence(said: bytes, reason: str) -> None:
    async with door() as (opened, port):
        reader, writer = await asyncio.open_connection(HERE, port)
        writer.write(said)
        writer.write_eof()
        await reader.read()
        writer.close()
        await until(lambda: opened.refused, "it was refused")
        assert opened.refused in ([f"{HERE}: {reason}"], [f"{HERE}: {reason}"] * 2) or not said[0]
        assert opened.taken == []


async def test_only_one_path_and_only_a_web_socket() -> None:
    async with door() as (opened, port):
        context = keyring(2).client(keyring(1).certificate)
        async with aiohttp.ClientSession() as session:
            for path, status in ((PATH, 426), ("/", 404), ("/api/state", 404), (f"{PATH}/x", 404)):
                async with session.get(f"https://{HERE}:{port}{path}", ssl=context) as reply:
                    assert reply.status == status
            async with session.post(f"https://{HERE}:{port}{PATH}", ssl=context) as reply:
                assert reply.status == 404
        assert opened.taken == []


async def test_a_taken_port_gives_another_one(caplog: pytest.LogCaptureFixture) -> None:
    async with door() as (_, port):
        with caplog.at_level(logging.WARNING, "askmesh.link"):
            async with door(port) as (second, other):
                assert other != port
                assert second.listener.port == other
                await (await dialled(2, other)).close()
        assert str(port) in caplog.text


async def test_without_a_bind_address_both_families_are_served() -> None:
    async with door(bind=None) as (_, port):
        await (await dialled(2, port)).close()
        if socket.has_ipv6:
            won, failures = await reach(keyring(2), member(1), [at(port, "::1")])
            assert won is not None, failures
            await won.close()


@contextmanager
def idle_connections(port: int, count: int) -> Iterator[list[socket.socket]]:
    opened = [socket.create_connection((HERE, port)) for _ in range(count)]
    try:
        yield opened
    finally:
        for one in opened:
            one.close()


async def test_silent_strangers_do_not_keep_a_member_out() -> None:
    """More than all places are held open; the oldest makes room."""
    async with door() as (opened, port):
        with idle_connections(port, HANDSHAKES_PENDING + 4):
            won = await dialled(2, port)
            assert opened.listener.pending <= HANDSHAKES_PENDING
            await won.close()


async def test_an_address_that_floods_is_not_listened_to() -> None:
    async with door() as (opened, port):
        closed = 0
        for _ in range(BURST + 10):
            reader, writer = await asyncio.open_connection(HERE, port)
            writer.write(b"x" * 20)
            with_end = asyncio.create_task(reader.read())
            done, _ = await asyncio.wait([with_end], timeout=5)
            closed += len(done)
            writer.close()
        assert closed == BURST + 10
        assert len(opened.refused) < BURST + 10, "the last ones never came to a handshake"


async def test_a_connection_that_asks_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HANDSHAKE_S", 0.2)
    async with door() as (opened, port):
        reader, writer = await asyncio.open_connection(
            HERE, port, ssl=keyring(2).client(keyring(1).certificate)
        )
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            assert await asyncio.wait_for(reader.read(), 5) == b""
        writer.close()
        assert not opened.listener._unasked


async def test_a_handshake_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HANDSHAKE_S", 0.2)
    async with door() as (opened, port):
        with idle_connections(port, 1):
            await until(lambda: opened.refused, "it was given up")
            assert not opened.listener.pending


async def test_one_member_cannot_take_all_places() -> None:
    async with door() as (opened, port):
        links = [await dialled(2, port) for _ in range(LINKS_EACH)]
        assert await faults(2, [at(port)]) == [Fault.BUSY]
        await (await dialled(3, port)).close()
        for link in links:
            await link.close()
        await until(lambda: opened.left == LINKS_EACH + 1, "all ended")
        await (await dialled(2, port)).close()


async def test_a_message_may_be_as_large_as_a_frame_and_no_larger() -> None:
    async with door() as (_, port):
        won = await dialled(2, port)
        await won.socket.send_bytes(bytes(FRAME_BYTES))
        assert len((await won.socket.receive()).data) == FRAME_BYTES
        await won.socket.send_bytes(bytes(FRAME_BYTES + 1))
        assert (await won.socket.receive()).type is WSMsgType.CLOSE
        await won.close()


# --- dialling ------------------------------------------------------------------------------


async def answering(said: bytes) -> asyncio.Server:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(said)
        writer.close()

    return await asyncio.start_server(answer, HERE, 0)


def port_of(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])


async def test_each_way_to_fail_has_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dial, "ATTEMPT_S", 0.5)
    plain = await answering(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    shut = await answering(b"")
    silent = socket.create_server((HERE, 0))
    cases = {
        at(1): Fault.REFUSED,
        at(port_of(plain)): Fault.NOT_ASKMESH,
        at(port_of(shut)): Fault.BROKEN,
        at(silent.getsockname()[1]): Fault.TIME_OUT,
        at(1, "no such name"): Fault.NO_NAME,
        at(1, "fe80::1"): Fault.NO_ROUTE,
    }
    sentences = set()
    for address, fault in cases.items():
        won, failures = await reach(keyring(2), member(1), [address])
        assert won is None
        assert [failure.fault for failure in failures] == [fault], address
        sentences.add(failures[0].sentence.replace(str(address.port), "PORT"))
    assert len(sentences) == len(cases)
    silent.close()
    for server in (plain, shut):
        server.close()
        await server.wait_closed()


async def test_no_address_at_all_has_words_too() -> None:
    assert await faults(2, []) == [Fault.NO_ADDRESS]


async def test_a_tls_web_server_is_not_askmesh() -> None:
    app = web.Application()
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, HERE, 0, ssl_context=keyring(1).server([member(2).certificate]))
    await site.start()
    try:
        port = runner.addresses[0][1]
        assert await faults(2, [at(port)]) == [Fault.NOT_ASKMESH]
    finally:
        await runner.cleanup()


async def test_a_redirect_is_not_followed() -> None:
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(request.path)
        raise web.HTTPFound("/elsewhere")

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, HERE, 0, ssl_context=keyring(1).server([member(2).certificate]))
    await site.start()
    try:
        assert await faults(2, [at(runner.addresses[0][1])]) == [Fault.NOT_ASKMESH]
        assert asked == [PATH]
    finally:
        await runner.cleanup()


async def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://{HERE}:1")
    async with door() as (_, port):
        await (await dialled(2, port)).close()


async def test_the_address_that_answers_wins_over_those_that_hang() -> None:
    hanging = [socket.create_server((HERE, 0)) for _ in range(3)]
    async with door() as (opened, port):
        addresses = [at(one.getsockname()[1]) for one in hanging]
        start = asyncio.get_running_loop().time()
        won, failures = await reach(keyring(2), member(1), [*addresses, at(port)], stagger=0.05)
        assert won is not None
        assert won.address == at(port)
        assert failures == []
        assert asyncio.get_running_loop().time() - start < 2, "nobody waited for the others"
        assert opened.taken == [f"m2 {HERE}"]
        await won.close()
    for one in hanging:
        one.close()


async def test_a_failed_address_gives_way_at_once() -> None:
    async with door() as (_, port):
        start = asyncio.get_running_loop().time()
        won, failures = await reach(keyring(2), member(1), [at(1), at(port)], stagger=30)
        assert won is not None
        assert [failure.fault for failure in failures] == [Fault.REFUSED]
        assert asyncio.get_running_loop().time() - start < 5
        await won.close()


async def test_of_two_that_answer_one_stays() -> None:
    async with door() as (one, first), door() as (other, second):
        won, _ = await reach(keyring(2), member(1), [at(first), at(second)], stagger=0)
        assert won is not None
        await until(lambda: one.left + other.left == len(one.taken) + len(other.taken) - 1, "one")
        await won.close()


async def test_a_dial_that_is_given_up_leaves_nothing_open() -> None:
    silent = socket.create_server((HERE, 0))
    silent.settimeout(5)
    task = asyncio.create_task(reach(keyring(2), member(1), [at(silent.getsockname()[1])]))
    connection, _ = await asyncio.to_thread(silent.accept)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    connection.settimeout(5)

    def drained() -> bool:
        while connection.recv(1000):
            pass
        return True

    assert await asyncio.to_thread(drained)
    connection.close()
    silent.close()


@pytest.mark.parametrize("turns", range(12))
def test_a_port_that_closes_while_someone_comes_in_leaves_nothing_open(
    turns: int, caplog: pytest.LogCaptureFixture
) -> None:
    """However far the one who dials has come, in turns of the loop."""

    async def close_then() -> None:
        opened = Door()
        port = await opened.listener.open()
        coming = asyncio.create_task(reach(keyring(2), member(1), [at(port)]))
        while not opened.listener.pending:  # noqa: ASYNC110 -- the very turn is meant
            await asyncio.sleep(0)
        for _ in range(turns):
            await asyncio.sleep(0)
        await opened.listener.close()
        won, _ = await coming
        if won is not None:
            await won.close()

    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        asyncio.run(close_then())
        gc.collect()
    assert [str(one.message) for one in left] == []
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR] == []
