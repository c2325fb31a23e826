"""The pairing port against strangers: what costs the code, what does not, and who is heard."""

import asyncio
import contextlib
import socket

import aiohttp
import pytest

from sync.errors import PairingFailed
from sync.limits import PAIR_CONNECTIONS, PAIR_MESSAGE_BYTES
from sync.net.pair_dial import _open_context
from sync.net.pair_exchange import End
from sync.net.pair_listener import Times
from sync.net.pair_talk import PATH
from sync.wire.pairing_words import Kind
from tests.sync.log.entries import key
from tests.sync.net.machines import HERE, until
from tests.sync.net.pairings import Types, shows, stranger
from tests.sync.wire.pairs import CODE, joiner, quick

HASTY = Times(message_s=1.5, handshake_s=1.0)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x00",
        b"\xff" * 100,
        bytes([Kind.ANSWER]),
        bytes([Kind.ANSWER]) + bytes(32) + b"{}",
        bytes([Kind.ANSWER]) + bytes(32) + b"[" * 10_000,
        bytes([Kind.CONFIRM]) + bytes(64),
        bytes([Kind.JOINED]) + bytes(64),
        bytes([Kind.REFUSED]) + bytes(64) + b'{"reason":"wrong"}',
        bytes([Kind.ANSWER]) + bytes(PAIR_MESSAGE_BYTES - 1),
        bytes([Kind.ANSWER]) + bytes(PAIR_MESSAGE_BYTES),
    ],
    ids=lambda raw: f"{raw[:1].hex()}-{len(raw)}",
)
async def test_garbage_is_sent_away_and_the_code_stays_good(raw: bytes) -> None:
    async with shows() as (shown, port):
        async with stranger(port) as web_socket:
            assert (await web_socket.receive_bytes())[0] == Kind.OFFER
            await web_socket.send_bytes(raw)
            while not web_socket.closed:
                await web_socket.receive()
        assert shown.ends == []
        await Types().dial(port)
        assert (await shown.ended()).end is End.PAIRED


async def test_text_is_sent_away_too() -> None:
    async with shows() as (shown, port):
        async with stranger(port) as web_socket:
            await web_socket.receive_bytes()
            await web_socket.send_str("hello")
            while not web_socket.closed:
                await web_socket.receive()
        await Types().dial(port)
        assert (await shown.ended()).confirmed


async def test_what_comes_after_a_good_answer_ends_the_code_whatever_it_is() -> None:
    async with shows() as (shown, port):
        async with stranger(port) as web_socket:
            second = joiner()
            step = second.heard(await web_socket.receive_bytes())
            assert step.stretch
            await web_socket.send_bytes(second.answer(quick(CODE, step.stretch)))
            # The key is not what scrypt makes of the code: a guess like any other.
            assert (await web_socket.receive_bytes())[0] == Kind.REFUSED
        assert (await shown.ended()).end is End.FAILED
        assert shown.admitted == []


@pytest.mark.parametrize("how", ["nothing", "tls", "offer"])
async def test_who_holds_the_line_silently_is_cut_off_and_the_next_is_served(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next waits for longer than it would for a machine that is off."""
    monkeypatch.setattr("sync.net.reach.CONNECT_S", 0.75)
    async with shows(times=HASTY) as (shown, port), contextlib.AsyncExitStack() as stack:
        if how == "nothing":
            stack.enter_context(socket.create_connection((HERE, port)))
        elif how == "tls":
            _, writer = await asyncio.open_connection(HERE, port, ssl=_open_context())
            stack.callback(writer.close)
        else:
            await stack.enter_async_context(stranger(port))
        await Types().dial(port)
        assert (await shown.ended()).end is End.PAIRED


async def test_one_connection_is_served_at_a_time() -> None:
    async with shows() as (shown, port):
        async with stranger(port) as web_socket:
            await web_socket.receive_bytes()
            dialling = asyncio.create_task(Types().dial(port))
            done, _ = await asyncio.wait([dialling], timeout=0.3)
            assert not done
            assert shown.admitted == []
        await dialling
        assert (await shown.ended()).end is End.PAIRED


async def knock(port: int) -> bool:
    """Whether somebody who connects is heard."""
    try:
        async with stranger(port) as web_socket:
            return (await web_socket.receive()).type is aiohttp.WSMsgType.BINARY
    except (aiohttp.ClientError, OSError):
        return False


async def test_a_flood_silences_the_port_for_a_while_and_the_code_stays_good() -> None:
    times = Times(message_s=2.0, handshake_s=2.0, window_s=2.0)
    async with shows(times=times) as (shown, port):
        assert [await knock(port) for _ in range(PAIR_CONNECTIONS)] == [True] * PAIR_CONNECTIONS
        assert not await knock(port)
        with pytest.raises(PairingFailed, match="tried too often") as error:
            await Types().dial(port)
        assert "Wait a minute" in error.value.hint
        assert shown.ends == []
        listener = shown.listener
        loop = asyncio.get_running_loop()
        await until(lambda: loop.time() > listener._quiet_until, "the port listens again")
        await Types().dial(port)
        assert (await shown.ended()).end is End.PAIRED


async def test_a_code_runs_out_while_somebody_holds_the_line() -> None:
    async with shows(times=Times(code_s=0.3)) as (shown, port), stranger(port) as web_socket:
        await web_socket.receive_bytes()
        assert (await shown.ended()).end is End.EXPIRED
        while not web_socket.closed:
            await web_socket.receive()


async def test_who_is_slow_beyond_the_time_of_the_code_is_not_let_in() -> None:
    async with shows() as (shown, port):
        shown.listener._over = True
        with pytest.raises(PairingFailed):
            await Types().dial(port)
        assert not shown.deciding.is_set()
        assert shown.admitted == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 404), ("POST", PATH, 404), ("GET", PATH, 426), ("GET", "/askmesh/v1", 404)],
)
async def test_anything_but_the_one_web_socket_is_refused(
    method: str, path: str, status: int
) -> None:
    async with shows() as (shown, port):
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, f"https://{HERE}:{port}{path}", ssl=_open_context()) as reply,
        ):
            assert reply.status == status
            assert await reply.read() == b""
        await Types().dial(port)
        assert (await shown.ended()).candidate is not None


async def test_the_port_speaks_tls_1_3_and_shows_the_nodes_certificate() -> None:
    async with shows() as (_, port):
        _, writer = await asyncio.open_connection(HERE, port, ssl=_open_context())
        connection = writer.get_extra_info("ssl_object")
        assert connection.version() == "TLSv1.3"
        assert key(1).public in connection.getpeercert(binary_form=True)
        writer.close()
