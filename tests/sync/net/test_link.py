"""One link: what a session wants is carried out in order, and no peer can hold it up."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import WSMsgType, web

from sync.errors import BadEntry, StoreFull
from sync.log.vector import Wanted
from sync.net import link as module
from sync.net.contract import Ended
from sync.net.ledger import Member
from sync.net.link import BROKEN, DUPLICATE, SILENT, TOO_SLOW, UNREADABLE, Link
from sync.net.listener import Listener
from sync.net.reach import Dialled, reach
from sync.net.tls import Trust
from sync.wire.actions import (
    Action,
    Carried,
    Close,
    Farewell,
    Heard,
    Keep,
    KeepBlob,
    Opened,
    Read,
    ReadBlob,
    Send,
)
from tests.sync.log.entries import key
from tests.sync.net.ledgers import MemoryLedger
from tests.sync.net.machines import HERE, at, keyring, member, until
from tests.sync.net.scripted import HELLO, Script

WANTED = Wanted(author=key(1).node_id, log=0, first=1, last=3)


class Owner:
    """Notes what a link tells."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def opened(self, link: Link) -> None:
        self.told.append(f"opened {link.member.name}")

    def heard(self, link: Link, raw: bytes, signature: bytes) -> None:
        del link
        self.told.append(f"heard {signature!r} {raw!r}")

    def carried(self, link: Link, raw: bytes, signature: bytes) -> None:
        del link
        self.told.append(f"carried {signature!r} {raw!r}")

    def troubled(self, link: Link) -> None:
        self.told.append(f"trouble {link.trouble}")


class Bench:
    """A link of machine 1 under test, and the bare WebSocket of machine 2 at its other end."""

    def __init__(self) -> None:
        self.session = Script()
        self.owner = Owner()
        self.ledger = MemoryLedger(key(1))
        self.link: Link | None = None
        self.ended: Ended | None = None
        self.running = asyncio.Event()
        self.peer: Dialled | None = None

    async def take(self, who: Member, socket: web.WebSocketResponse, where: str) -> None:
        self.link = Link(
            socket,
            self.session,
            self.ledger,
            self.owner,
            who,
            dialler=who.node,
            where=where,
            local=HERE,
        )
        self.running.set()
        self.ended = await self.link.run()

    @property
    def under_test(self) -> Link:
        assert self.link is not None
        return self.link

    async def send(self, frame: bytes) -> None:
        assert self.peer is not None
        await self.peer.socket.send_bytes(frame)

    async def next(self) -> bytes:
        assert self.peer is not None
        message = await asyncio.wait_for(self.peer.socket.receive(), 5)
        assert message.type is WSMsgType.BINARY, message
        assert isinstance(message.data, bytes)
        return message.data

    async def closed(self) -> tuple[int, str]:
        """Code and reason with which the link was closed."""
        assert self.peer is not None
        while True:
            message = await asyncio.wait_for(self.peer.socket.receive(), 5)
            if message.type is not WSMsgType.BINARY:
                break
        assert message.type is WSMsgType.CLOSE, message
        return int(message.data), str(message.extra)

    async def end(self) -> Ended:
        await until(lambda: self.ended, "the link ended")
        assert self.ended is not None
        return self.ended


@asynccontextmanager
async def bench(on: Callable[[bytes], list[Action]] | None = None) -> AsyncIterator[Bench]:
    made = Bench()
    made.session = Script(on)
    trust = Trust(keyring(1))
    trust.set([member(2)])
    listener = Listener(trust, made.take, lambda *_: None, bind=HERE, port=0)
    port = await listener.open()
    try:
        made.peer, failures = await reach(keyring(2), member(1), [at(port)])
        assert made.peer is not None, failures
        await made.running.wait()
        assert await made.next() == HELLO.frame
        yield made
    finally:
        if made.peer is not None:
            await made.peer.close()
        await until(lambda: made.ended, "the link ended")
        await listener.close()
        assert made.session.ended == 1, "a session is told once that its link is gone"


async def test_frames_go_to_the_session_and_its_frames_go_out_in_order() -> None:
    replies: list[Action] = [Send(frame=b"%d" % n) for n in range(50)]
    async with bench(lambda _: replies) as made:
        await made.send(b"go")
        assert [await made.next() for _ in range(50)] == [b"%d" % n for n in range(50)]
        assert made.session.frames == [b"go"]


async def test_everything_a_session_can_want_is_done() -> None:
    wishes: dict[bytes, list[Action]] = {
        b"keep": [Keep(entries=tuple(MemoryLedger(key(2)).append(3)))],
        b"read": [Read(wanted=WANTED, entries=2, size=10**6)],
        b"blob": [ReadBlob(name=b"n"), KeepBlob(name=b"x", data=b"y")],
        b"tell": [
            Opened(),
            Heard(raw=b"r", signature=b"s"),
            Carried(raw=b"R", signature=b"S"),
            Farewell(proof=()),
        ],
    }
    async with bench(lambda frame: wishes[frame]) as made:
        made.ledger.append(5)
        await made.send(b"keep")
        assert await made.next() == b"ack"
        assert made.session.keeps[0].trouble is None
        assert len(made.ledger.logs[key(2).node_id, 0]) == 3
        await made.send(b"read")
        assert await made.next() == b"entries 2"
        await made.send(b"blob")
        await until(lambda: made.session.blobs == [None], "the blob was looked for")
        await made.send(b"tell")
        await until(lambda: made.ledger.proofs == [()], "the farewell was passed on")
        assert made.owner.told == ["opened m2", "heard b's' b'r'", "carried b'S' b'R'"]
        assert made.under_test.opened_at is not None


async def test_what_the_mesh_sends_goes_out() -> None:
    async with bench() as made:
        link = made.under_test
        link.push(made.ledger.append(2))
        link.presence(b"p", b"s")
        link.letter(b"l", b"s")
        link.tick()
        assert [await made.next() for _ in range(3)] == [b"push 2", b"sp", b"sl"]
        assert made.session.ticks == 1


async def test_figures_are_the_session_s() -> None:
    async with bench() as made:
        figures = made.under_test.figures()
        assert (figures.round_trip_ms, figures.behind_us, figures.behind_them) == (1.5, 2, 3)
        assert (figures.version, figures.skew_ms, figures.trouble) == ("9.9", 4, None)
        assert figures.last_heard is None
        await made.send(b"x")
        await until(lambda: made.session.frames, "it came")
        assert made.under_test.figures().last_heard == made.ledger.clock


async def test_a_full_disk_keeps_the_link_and_acknowledges_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "STORE_RETRY_S", 0.02)
    entries = tuple(MemoryLedger(key(2)).append(1))
    async with bench(lambda frame: [Keep(entries=entries)] if frame == b"keep" else []) as made:
        made.ledger.failing = StoreFull()
        await made.send(b"keep")
        await until(lambda: made.under_test.figures().trouble, "the trouble shows")
        assert made.under_test.figures().trouble == StoreFull().sentence
        await made.send(b"other")
        await until(lambda: b"other" in made.session.frames, "the link lives")
        assert made.session.keeps == []
        made.ledger.failing = None
        assert await made.next() == b"ack"
        assert made.under_test.figures().trouble is None
        assert made.owner.told == [f"trouble {StoreFull().sentence}", "trouble None"]


async def test_storing_slowly_does_not_keep_the_peer_from_reading() -> None:
    def on(frame: bytes) -> list[Action]:
        if frame == b"keep":
            return [Keep(entries=())]
        return [Read(wanted=WANTED, entries=1, size=1)]

    async with bench(on) as made:
        made.ledger.append(1)
        made.ledger.gate.clear()
        await made.send(b"keep")
        await made.send(b"read")
        assert await made.next() == b"entries 1"
        made.ledger.gate.set()
        assert await made.next() == b"ack"


async def test_a_peer_that_asks_without_end_is_not_read_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LINK_WORK", 5)
    async with bench(lambda _: [Keep(entries=())]) as made:
        made.ledger.gate.clear()
        for _ in range(40):
            await made.send(b"keep")
        await until(lambda: len(made.session.frames) == 5, "it read as many as it may")
        await asyncio.sleep(0.05)
        assert len(made.session.frames) == 5
        made.ledger.gate.set()
        await until(lambda: len(made.session.keeps) == 40, "all were done in the end")


async def test_a_peer_that_takes_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GOODBYE_S", 0.1)
    monkeypatch.setattr(module, "WRITE_BYTES", 4 * 1024 * 1024)
    async with bench() as made:
        for _ in range(200):
            made.under_test.presence(bytes(100_000), b"")
        ended = await made.end()
        assert ended.code == TOO_SLOW
        assert ended.reason == "m2 takes too slowly what it is sent."


async def test_goodbye_is_said_before_the_end() -> None:
    async with bench() as made:
        made.under_test.goodbye()
        assert await made.next() == b"goodbye"
        assert (await made.closed())[0] == 1001
        assert (await made.end()).reason is None


async def test_a_removed_peer_gets_the_farewell_and_nothing_of_it_comes_in() -> None:
    async with bench(lambda _: [Keep(entries=())]) as made:
        made.under_test.mute()
        await made.send(b"keep")
        made.under_test.dismiss(made.ledger.append(1))
        assert await made.next() == b"farewell 1"
        await made.closed()
        assert made.session.frames == []
        assert made.ledger.keeps == 0


async def test_the_session_s_word_ends_the_link_on_both_sides() -> None:
    async with bench(lambda _: [Send(frame=b"last"), Close(code=4001, reason="Why.")]) as made:
        await made.send(b"x")
        assert await made.next() == b"last"
        assert await made.closed() == (4001, "Why.")
        assert await made.end() == Ended(code=4001, reason="Why.")


async def test_a_peer_that_is_silent_after_tls_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "ATTEMPT_S", 0.0)
    async with bench() as made:
        made.under_test.tick()
        assert (await made.end()).code == SILENT


@pytest.mark.parametrize("fault", [BadEntry("It is bad."), RuntimeError("a bug")])
async def test_a_session_that_fails_ends_its_link_only(fault: Exception) -> None:
    def on(_: bytes) -> list[Action]:
        raise fault

    async with bench(on) as made:
        await made.send(b"x")
        ended = await made.end()
        assert ended.code == UNREADABLE
        assert ended.reason
        assert "bug" not in ended.reason


async def test_text_is_what_no_askmesh_sends() -> None:
    async with bench() as made:
        assert made.peer is not None
        await made.peer.socket.send_str("hello")
        assert (await made.end()).code == UNREADABLE


async def test_a_broken_connection_is_noticed_at_once() -> None:
    async with bench() as made:
        assert made.peer is not None
        transport = made.peer.socket._writer.transport
        assert transport is not None
        transport.abort()
        assert await made.end() == Ended(code=BROKEN, reason="The link broke.")


@pytest.mark.parametrize(
    ("code", "said", "reason"),
    [
        (4001, b"It is so.", "It closed the link: It is so."),
        (4001, b"", "It closed the link."),
        (4001, b"\x1b[2Jred \xe2\x80\xae", "It closed the link: [2Jred "),
        (DUPLICATE, b"two of them", None),
    ],
)
async def test_the_peer_s_reason_is_shown_as_its_own(
    code: int, said: bytes, reason: str | None
) -> None:
    async with bench() as made:
        assert made.peer is not None
        await made.peer.socket.close(code=code, message=said)
        assert await made.end() == Ended(code=code, reason=reason)
