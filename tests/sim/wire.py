"""The network between simulated machines: what a WebSocket over TCP can do to its frames.

A pipe is ordered and whole until it breaks. What is lost, doubled or turned around on it
breaks it sooner or later, as TCP and TLS would; until then the node must stand it.
"""

import asyncio
import math
import random
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import WSMsgType

from tests.sim.loop import Life, SimLoop

BUFFER = 64 * 1024
"""Bytes on their way before a sender has to wait, as a kernel's buffer holds them."""
DAMAGED_S = 20.0
"""A pipe that lost, doubled or swapped a frame breaks within this."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message, as aiohttp has it."""

    type: WSMsgType
    data: Any = None
    extra: str | None = None


class Weather(msgspec.Struct, kw_only=True):
    """How the network is; faults change it."""

    delay_s: tuple[float, float] = (0.001, 0.02)
    lose: float = 0.0
    double: float = 0.0
    swap: float = 0.0
    slow: dict[str, float] = {}
    """Bytes a second that a host takes."""
    shut: set[tuple[str, str]] = set()
    """Ways (from, to) on which nothing passes."""


class Pipe:
    """One direction of one connection."""

    def __init__(self, net: "Net", source: str, target: str) -> None:
        self.net = net
        self.source, self.target = source, target
        self.inbox: deque[Message] = deque()
        self.held: deque[Message] = deque()
        self.waiter: asyncio.Future[None] | None = None
        self.due = 0.0
        self.under_way = 0
        self.room: asyncio.Future[None] | None = None
        self.broken = False
        self.life: Life | None = None
        """Who reads at the far end."""

    def send(self, message: Message) -> None:
        """Put a message on its way."""
        net, loop, chance = self.net, self.net.loop, self.net.chance
        size = len(message.data) if isinstance(message.data, bytes) else 0
        delay = chance.uniform(*net.weather.delay_s)
        rate = net.weather.slow.get(self.target)
        # Later than the one before, if only just: timers due together run in any order.
        after = math.nextafter(self.due, math.inf)
        self.due = max(after, loop.time() + delay) + (size / rate if rate else 0.0)
        times, when = 1, self.due
        if message.type is WSMsgType.BINARY:
            times, when = self._spoilt(when)
        for _ in range(times):
            self.under_way += size
            loop.call_at(when, self._arrive, message, size, context=net.context)

    def _spoilt(self, when: float) -> tuple[int, float]:
        """Lose, double or turn around; the pipe does not live long after it."""
        net = self.net
        weather, chance = net.weather, net.chance
        if not (weather.lose or weather.double or weather.swap):
            return 1, when
        drawn = chance.random()
        for name, share in (("lose", weather.lose), ("double", weather.double)):
            if drawn < share:
                self._damage(name)
                return (0 if name == "lose" else 2), when
            drawn -= share
        if drawn < weather.swap:
            self._damage("swap")
            return 1, when + 4 * weather.delay_s[1]
        return 1, when

    def _damage(self, how: str) -> None:
        net = self.net
        net.told(f"frame {how} {self.source}>{self.target}")
        net.sometimes(f"frame {how}")
        net.loop.call_later(net.chance.uniform(0.5, DAMAGED_S), self.snap, context=net.context)

    def _arrive(self, message: Message, size: int) -> None:
        self.under_way -= size
        if self.room is not None and self.under_way < BUFFER:
            self.room.set_result(None)
            self.room = None
        if self.broken:
            return
        if self.held or self.net.is_shut(self.source, self.target):
            self.held.append(message)
            return
        self._take(message)

    def _take(self, message: Message) -> None:
        self.inbox.append(message)
        if self.waiter is not None:
            if not self.waiter.done():
                self.waiter.set_result(None)
            self.waiter = None

    def flush(self) -> None:
        """The way is open again: what was sent meanwhile arrives."""
        while self.held and not self.broken:
            self._take(self.held.popleft())

    def snap(self) -> None:
        """Both ends see at once that the connection broke."""
        for pipe in (self, self.back):
            if not pipe.broken:
                pipe.broken = True
                pipe._take(Message(type=WSMsgType.ERROR, data=ConnectionResetError()))
                if pipe.room is not None:
                    pipe.room.set_result(None)
                    pipe.room = None

    back: "Pipe"


class SimSocket:
    """One end of a connection: what `sync.net.reach.Socket` asks for."""

    def __init__(self, out: Pipe, into: Pipe, here: str) -> None:
        self.out, self.into, self.here = out, into, here
        self.closed = False

    def get_extra_info(self, name: str) -> object:
        """As aiohttp's."""
        return (self.here, 7717) if name == "sockname" else None

    async def receive(self) -> Message:
        """Return the next message."""
        while not self.into.inbox:
            if self.closed:
                return Message(type=WSMsgType.CLOSED)
            self.into.waiter = asyncio.get_running_loop().create_future()
            await self.into.waiter
        message = self.into.inbox.popleft()
        if message.type is not WSMsgType.BINARY:
            self.closed = True
        return message

    async def send_bytes(self, data: bytes, compress: int | None = None) -> None:
        """Send; wait while the other side takes too little."""
        del compress
        if self.closed or self.out.broken:
            raise ConnectionResetError("Cannot write to closing transport")
        self.out.net.watch(self.out, data)
        self.out.send(Message(type=WSMsgType.BINARY, data=data))
        while self.out.under_way > BUFFER and not self.out.broken:
            if self.out.room is None:
                self.out.room = asyncio.get_running_loop().create_future()
            await asyncio.shield(self.out.room)

    async def close(self, *, code: int = 1000, message: bytes = b"") -> bool:
        """Close with a code."""
        if self.closed:
            return False
        self.closed = True
        reason = message.decode()
        self.out.send(Message(type=WSMsgType.CLOSE, data=code, extra=reason))
        if self.into.waiter is not None and not self.into.waiter.done():
            self.into.waiter.set_result(None)
        return True


class Net:
    """Every host and connection of one world."""

    def __init__(self, loop: SimLoop, chance: random.Random, told: Callable[[str], None]) -> None:
        self.loop = loop
        self.chance = chance
        self.told = told
        self.weather = Weather(slow={}, shut=set())
        self.doors: dict[str, Any] = {}
        """Host: its listener (`tests.sim.outside.Door`)."""
        self.pipes: list[Pipe] = []
        self.sometimes: Callable[[str], None] = lambda _name: None
        self.watch: Callable[[Pipe, bytes], None] = lambda _pipe, _data: None
        import contextvars

        self.context = contextvars.Context()

    def is_shut(self, source: str, target: str) -> bool:
        """Whether nothing passes from one host to another."""
        return (source, target) in self.weather.shut

    def connect(
        self, source: str, target: str, dialler: Life, listener: Life
    ) -> tuple[SimSocket, SimSocket]:
        """Return both ends of a new connection."""
        there, back = Pipe(self, source, target), Pipe(self, target, source)
        there.back, back.back = back, there
        there.life, back.life = listener, dialler
        self.pipes = [pipe for pipe in self.pipes if not pipe.broken]
        self.pipes += [there, back]
        return SimSocket(there, back, source), SimSocket(back, there, target)

    def shut(self, source: str, target: str) -> None:
        """Let nothing pass this way."""
        self.weather.shut.add((source, target))

    def open(self, source: str, target: str) -> None:
        """Let all pass this way again."""
        self.weather.shut.discard((source, target))
        for pipe in list(self.pipes):
            if (pipe.source, pipe.target) == (source, target):
                pipe.flush()

    def drop(self, life: Life, *, silently: bool) -> None:
        """A machine died: its peers see it at once, or (the power went) only by silence."""
        for pipe in list(self.pipes):
            if pipe.life is life or pipe.back.life is life:
                if silently:
                    pipe.broken = pipe.back.broken = True
                elif pipe.life is life:
                    pipe.snap()

    def heal(self) -> None:
        """Fair weather; what lost a frame breaks now."""
        self.weather = Weather(slow={}, shut=set())
        for pipe in list(self.pipes):
            pipe.flush()
