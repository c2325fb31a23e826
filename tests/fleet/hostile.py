"""A peer that a test makes do anything: it links with a real key and sends raw frames."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

import msgspec
from aiohttp import WSMsgType

from node.identity import load_key
from node.store.derive import fleet_of
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry, NodeKey, decode, seal
from sync.net.certificate import certificate_of
from sync.net.ledger import Address, Member
from sync.net.reach import Dialled, reach
from sync.net.tls import Keyring
from sync.wire import frames
from tests.fleet.fleets import Machine
from tests.fleet.history import reading, rows
from tests.running import until

Result = TypeVar("Result")
SALT = b"s" * 16


class Rogue:
    """A link to `target`, as whoever holds `key`, on a loop of its own."""

    def __init__(self, target: Machine, key: NodeKey) -> None:
        self.key = key
        self.target = target
        self.fleet = reading(target.home, fleet_of)
        self.heard: list[frames.Frame] = []
        self.closed: tuple[int, str] | None = None
        self.refused: str | None = None
        self._link: Dialled | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        self._do(self._dial())
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    # --- what it does -----------------------------------------------------------------------

    def hello(self, **changes: object) -> frames.Hello:
        """Its greeting."""
        made = frames.Hello(
            least=1,
            most=1,
            fleet=self.fleet,
            node=self.key.node_id,
            boot="b",
            version="9.9.9",
            machine="rogue",
            now=1,
            digest=bytes(32),
        )
        return msgspec.structs.replace(made, **changes)

    def send(self, *sent: frames.Frame | bytes) -> bool:
        """Send frames; False: the other side has closed meanwhile."""
        return self._do(self._send(sent))

    def of(self, kind: type[frames.Frame]) -> list[Any]:
        """What came of one kind."""
        return [frame for frame in list(self.heard) if isinstance(frame, kind)]

    def is_sent_away(self, seconds: float = 20.0) -> tuple[int, str]:
        """Wait until the other side closes; its code and reason."""
        closed: tuple[int, str] = until(lambda: self.closed, "the link is closed", seconds)
        return closed

    def entry(self, head: Head, kind: int, facts: bytes = b'{"new":1}', hlc: int = 1) -> Entry:
        """The next entry of its own log."""
        return seal(
            self.key,
            fleet=self.fleet,
            seq=head.seq + 1,
            prev=head.hash,
            hlc=hlc,
            entry_type=kind,
            facts=facts,
            text=SALT + b"{}",
        )

    def head(self, log: int) -> Head:
        """How far its log is held by the target."""
        found = rows(
            self.target.home,
            "SELECT seq, hash FROM head WHERE author = ? AND log = ?",
            self.key.node_id,
            log,
        )
        return Head(seq=found[0][0], hash=found[0][1]) if found else EMPTY

    # --- on its loop ------------------------------------------------------------------------

    async def _dial(self) -> None:
        node = self.target.node
        certificate = certificate_of(load_key(self.target.home))
        member = Member(node=load_key(node.home).node_id, certificate=certificate, name=node.name)
        address = Address(host="127.0.0.1", port=node.peer_port, source="given")
        self._link, failures = await reach(Keyring(self.key), member, [address])
        if self._link is None:
            self.refused = str(failures[0])
        else:
            self._reading = asyncio.create_task(self._read(self._link))

    async def _read(self, link: Dialled) -> None:
        while True:
            message = await link.socket.receive()
            if message.type is WSMsgType.BINARY:
                frame = frames.decode_frame(message.data)
                if frame is not None:
                    self.heard.append(frame)
            elif message.type is WSMsgType.CLOSE:
                self.closed = (int(message.data), str(message.extra))
            else:
                self.closed = self.closed or (0, "cut")
                return

    async def _send(self, sent: tuple[frames.Frame | bytes, ...]) -> bool:
        assert self._link is not None, self.refused
        try:
            for frame in sent:
                raw = frame if isinstance(frame, bytes) else frames.encode(frame)
                await asyncio.wait_for(self._link.socket.send_bytes(raw), 10)
        except (ConnectionError, RuntimeError, TimeoutError):
            return False
        return True

    async def _end(self) -> None:
        if self._link is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
            await self._link.close()
            # TLS closes its sockets in later rounds of the loop.
            await asyncio.sleep(0.25)

    def _do(self, what: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(30)


def key_of(machine: Machine) -> NodeKey:
    """A machine's key, for who stole it."""
    return load_key(machine.home)


def stored(machine: Machine) -> list[Entry]:
    """Every entry of its fleet that a machine holds, in order of arrival."""
    fleet = reading(machine.home, fleet_of)
    found = rows(
        machine.home,
        "SELECT header, signature, facts, text FROM entry WHERE fleet = ? ORDER BY n",
        fleet,
    )
    return [decode(*row) for row in found]


def busy(work: Callable[[], bool]) -> threading.Thread:
    """Do it again and again on a thread of its own, until it says that it is over."""

    def run() -> None:
        while work():
            pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread
