"""A store with a link to somebody who sends what a test wants."""

import msgspec

from sync.log.entry import Entry, sha256
from sync.wire import frames
from tests.sync.log.entries import FLEET, key
from tests.sync.wire.stores import JUDGING, End, Net, Store

KEYS = [key(1), key(2), key(3)]


class Peer:
    """One store with a link to somebody who sends what a test wants."""

    def __init__(self, *, greet: bool = True) -> None:
        self.net = Net()
        self.store = Store(1, known=KEYS)
        self.key = key(2)
        self.end = End(self.store, self.key.node_id, self.net)
        self.store.ends.append(self.end)
        self.end.do(self.end.session.begin(0))
        if greet:
            self.send(self.hello())

    def hello(self, **changes: object) -> frames.Hello:
        made = frames.Hello(
            least=1,
            most=1,
            fleet=FLEET,
            node=self.key.node_id,
            boot="b",
            version="9",
            machine="evil",
            now=JUDGING,
            digest=bytes(32),
        )
        return msgspec.structs.replace(made, **changes)

    def send(self, *sent: frames.Frame | bytes, work: bool = True) -> None:
        for frame in sent:
            raw = frame if isinstance(frame, bytes) else frames.encode(frame)
            self.end.do(self.end.session.received(raw, self.net.now))
            while work and self.end.jobs:
                self.end.work()

    def tick(self, seconds: int = 1, *, alive: bool = True) -> None:
        for _ in range(seconds):
            self.net.now += 1_000
            if alive:
                self.send(frames.Pong(number=0, now=0))
            self.end.do(self.end.session.tick(self.net.now))
            while self.end.jobs:
                self.end.work()

    def said(self) -> list[frames.Frame]:
        """What it was sent since the last look."""
        found = [frames.decode_frame(frame) for frame in self.end.out]
        self.end.out.clear()
        return [frame for frame in found if frame is not None]

    def of(self, kind: type[frames.Frame]) -> list[frames.Frame]:
        return [frame for frame in self.said() if isinstance(frame, kind)]

    def is_closed(self) -> bool:
        return self.end.closed is not None

    @property
    def closed(self) -> tuple[int, str] | None:
        closed = self.end.closed
        return None if closed is None else (closed.code, closed.reason)


def have(*heads: tuple[bytes, int, int], whole: bool = True) -> frames.Have:
    rows = [frames.HeadRow(author, log, seq, sha256(b"%d" % seq)) for author, log, seq in heads]
    return frames.Have(digest=bytes(32), heads=rows, whole=whole)


def entries(*made: Entry) -> frames.Entries:
    return frames.Entries(entries=made)
