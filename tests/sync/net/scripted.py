"""A session that does what a test tells it to."""

from collections.abc import Callable, Sequence

from sync.log.entry import Entry
from sync.log.vector import Vector, Wanted
from sync.net.ledger import Kept
from sync.wire.actions import Action, Send
from sync.wire.comparing import Sight
from sync.wire.testimony import Testimony

HELLO = Send(frame=b"hello")


class Script:
    """A session that does what a test tells it to, and notes what it was told."""

    round_trip_ms: float | None = 1.5
    behind_us = 2
    behind_them = 3
    version: str | None = "9.9"
    skew_ms: int | None = 4
    trouble: str | None = None
    knows_us = Sight.UNTOLD

    def __init__(self, on: Callable[[bytes], list[Action]] | None = None) -> None:
        self.on = on or (lambda _: [])
        self.frames: list[bytes] = []
        self.keeps: list[Kept] = []
        self.reads: list[int] = []
        self.blobs: list[bytes | None] = []
        self.ticks = 0
        self.ended = 0

    def begin(self, now: int) -> list[Action]:
        assert now > 0
        return [HELLO]

    def received(self, frame: bytes, now: int) -> list[Action]:
        del now
        self.frames.append(frame)
        return self.on(frame)

    def kept(self, kept: Kept, now: int) -> list[Action]:
        del now
        self.keeps.append(kept)
        return [Send(frame=b"ack")]

    def froze(self, kept: Kept, now: int) -> list[Action]:
        del kept, now
        return []

    def attested(self, author: bytes, kept: Kept, now: int) -> list[Action]:
        del author, kept, now
        return []

    def have_testimony(self, entries: Sequence[Entry], now: int) -> list[Action]:
        del entries, now
        return []

    def have_read(self, wanted: Wanted, entries: Sequence[Entry], now: int) -> list[Action]:
        del wanted, now
        self.reads.append(len(entries))
        return [Send(frame=b"entries %d" % len(entries))]

    def have_blob(self, name: bytes, data: bytes | None) -> list[Action]:
        del name
        self.blobs.append(data)
        return []

    def want_blobs(self, names: Sequence[bytes]) -> list[Action]:
        return [Send(frame=b"blobs %d" % len(names))]

    def moved(self, vector: Vector, testimony: Testimony, now: int) -> list[Action]:
        del testimony, now
        return [Send(frame=b"logs %d" % len(vector))]

    def push(self, entries: Sequence[Entry], now: int) -> list[Action]:
        del now
        return [Send(frame=b"push %d" % len(entries))]

    def presence(self, raw: bytes, signature: bytes) -> list[Action]:
        return [Send(frame=signature + raw)]

    def letter(self, raw: bytes, signature: bytes) -> list[Action]:
        return [Send(frame=signature + raw)]

    def tick(self, now: int) -> list[Action]:
        del now
        self.ticks += 1
        return []

    def goodbye(self) -> list[Action]:
        return [Send(frame=b"goodbye")]

    def farewell(self, proof: Sequence[Entry]) -> list[Action]:
        return [Send(frame=b"farewell %d" % len(proof))]

    def closed(self) -> None:
        self.ended += 1
