"""The listener: loopback only, both addresses or none, bounded, quiet."""

import asyncio
import contextlib
import logging
import socket
import struct

import pytest

from tests.running import free_port
from tests.web.double import SECRET, DeskDouble
from tests.web.wire import Served, serving, until
from web.app import make_app
from web.errors import PortTaken
from web.events import Pace
from web.listener import ADDRESSES, PageListener, bound


def listener_on(port: int) -> PageListener:
    return PageListener(make_app(DeskDouble(), port=port), port)


@pytest.mark.parametrize(("family", "address"), ADDRESSES)
async def test_a_port_that_another_program_has_on_either_address(
    family: socket.AddressFamily, address: str
) -> None:
    port = free_port()
    with socket.socket(family, socket.SOCK_STREAM) as other:
        try:
            other.bind((address, port))
        except OSError:
            pytest.skip("this machine has no IPv6 on loopback")
        other.listen()
        with pytest.raises(PortTaken, match=str(port)):
            await listener_on(port).open()
    for found in bound(port):
        found.close()  # nothing was left behind on the other address


async def test_it_listens_on_loopback_alone(served: Served) -> None:
    addresses = {
        found.getsockname()[0] for server in served.listener._servers for found in server.sockets
    }
    assert "127.0.0.1" in addresses
    assert addresses <= {"127.0.0.1", "::1"}


async def test_the_other_names_of_the_page(served: Served) -> None:
    for host in (f"localhost:{served.port}", f"[::1]:{served.port}"):
        headers = served.headers(Host=host, Origin=f"http://{host}")
        assert (await served.send("GET", "/api/state", headers=headers)).status == 200


async def test_a_connection_too_many_is_told_so(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.listener.CONNECTIONS", 1)
    first = await served.open("GET", "/healthz", served.headers())
    assert first.reply.status == 200
    second = await served.raw(b"GET / HTTP/1.1\r\n\r\n")
    assert second.reply.status == 429
    first.writer.close()
    server = served.listener._runner.server
    assert server is not None
    await until(lambda: not server.connections)
    assert (await served.send("GET", "/healthz")).status == 200


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n"])
async def test_who_says_nothing_whole_is_dropped(said: bytes) -> None:
    async with serving(arrive_s=0.05) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(said)
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), 20) == b""
        writer.close()


async def test_who_was_heard_is_kept() -> None:
    async with serving(arrive_s=0.05, pace=Pace(beat_s=0.02)) as served:
        stream = await served.open("GET", "/api/events?since=1", served.headers())
        for _ in range(6):  # for longer than the silent are waited for
            await stream.event()
        served.desk.changes_to_send.put_nowait(None)
        while (await stream.event())[0] != "reset":
            pass


@pytest.mark.parametrize(
    "line",
    [
        b"Cookie: %s\x00",
        b"Cookie %s",
        b"Content-Length: %s",
        b"Cookie: " + b"x" * 9000 + b"%s",
    ],
)
async def test_what_cannot_be_read_is_not_quoted_in_the_log(
    served: Served, caplog: pytest.LogCaptureFixture, line: bytes
) -> None:
    secret = SECRET.encode()
    request = b"GET /api/state HTTP/1.1\r\nHost: x\r\n" + line.replace(b"%s", secret) + b"\r\n\r\n"
    stream = await served.raw(request)
    assert stream.reply.status == 400
    assert SECRET not in caplog.text


async def test_who_hangs_up_before_being_told_to_go_on_is_no_fault(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    request = b"POST /api/asks HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n"
    server = served.listener._runner.server
    assert server is not None
    for _ in range(20):
        # In one turn of the loop: the request is read when the caller is gone already.
        with socket.create_connection(("127.0.0.1", served.port)) as caller:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            caller.send(request * 3)
    await until(lambda: not server.connections)
    assert (await served.send("GET", "/healthz")).status == 200
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR] == []


async def test_closing_twice_is_closing_once(served: Served) -> None:
    await served.listener.close()
    await served.listener.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", served.port)
