"""A link between two nodes, as a machine without input or output.

Frames, ticks and what the store says go in; `sync.wire.actions` come out. HELLO both ways,
then vectors, then runs and what is just written; docs/protocol.md, "Sessions", has the rules.
`Held` and `Claims` are shared by all sessions of a node. Times are milliseconds of a clock
that only runs forward; only `clock` is the judging one.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum

import msgspec

from sync.errors import BadFrame
from sync.limits import (
    BLOBS_WANTED,
    DEAD_MS,
    FRAME_BYTES,
)
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry
from sync.log.vector import Place, Vector, Wanted
from sync.wire import frames
from sync.wire.actions import (
    Action,
    Carried,
    Close,
    Farewell,
    FindBlobs,
    Heard,
    Opened,
    Send,
)
from sync.wire.blob_transfer import Fetching, Giving
from sync.wire.claims import Claims
from sync.wire.comparing import Comparing, Sight
from sync.wire.conduct import FRAMES, UNSTORABLE, Conduct, Misconduct
from sync.wire.heartbeat import Heartbeat
from sync.wire.held import Held
from sync.wire.kept import Kept
from sync.wire.pulling import Pulling
from sync.wire.serving import Serving
from sync.wire.testifying import Testifying
from sync.wire.testimony import Testimony


class Code(IntEnum):
    """Why a session closes a link: the code of the WebSocket's close."""

    STOPPED = 1001
    """It said goodbye."""
    UNREADABLE = 4082
    """A frame does not decode."""
    SILENT = 4086
    """Nothing came for `DEAD_MS`."""
    OTHER_PROTOCOL = 4087
    OTHER_FLEET = 4088
    OTHER_NODE = 4089
    MISCONDUCT = 4090
    """The rules of a session were broken."""


class State(IntEnum):
    """How far a session is."""

    NEW = 0
    GREETED = 1
    """Our HELLO is out."""
    OPEN = 2
    """Both are."""
    CLOSED = 3


class Us(msgspec.Struct, frozen=True, kw_only=True):
    """What this node says of itself."""

    fleet: bytes
    node: bytes
    boot: str
    version: str
    machine: str
    port: int | None = None


class Session:
    """One link. Every method returns what is to be done, in order."""

    def __init__(
        self,
        us: Us,
        peer: bytes,
        *,
        held: Held,
        claims: Claims,
        clock: Callable[[], int],
        chance: Callable[[], float],
    ) -> None:
        self._us = us
        self._peer = peer
        self._held = held
        self._clock = clock
        self._state = State.NEW
        self._now = 0
        self._theirs: dict[Place, Head] = {}
        conduct = self._conduct = Conduct()
        self._pulling = Pulling(self._theirs, held, claims, conduct, own=us.node)
        self._serving = Serving(self._theirs, held, conduct)
        self._fetching = Fetching(claims, conduct)
        self._giving = Giving()
        self._testifying = Testifying(held, conduct)
        self._comparing = Comparing(
            self._theirs, held, self._pulling, conduct, chance, testifying=self._testifying
        )
        self._heartbeat = Heartbeat(clock)
        self.hello: frames.Hello | None = None
        """What the peer says of itself."""
        self.last_heard: int | None = None

    # --- how it stands --------------------------------------------------------------------

    @property
    def opened(self) -> bool:
        """Whether both have said who they are, and it fits."""
        return self._state is State.OPEN

    @property
    def version(self) -> str | None:
        """The program the peer runs."""
        return None if self.hello is None else self.hello.version

    @property
    def behind_us(self) -> int:
        """Entries it has told of that are not here."""
        return self._pulling.behind

    @property
    def behind_them(self) -> int:
        """Entries here that it has not acknowledged."""
        return self._serving.behind if self.opened else 0

    @property
    def trouble(self) -> str | None:
        """What hinders syncing, as a sentence."""
        if self._serving.unstored(self._now):
            return "It has not stored what it was sent; perhaps its disk is full."
        return self._pulling.trouble

    @property
    def round_trip_ms(self) -> float | None:
        """How long the last ping took."""
        return self._heartbeat.round_trip_ms

    @property
    def skew_ms(self) -> int | None:
        """How far the peer's clock is ahead of ours."""
        return self._heartbeat.skew_ms

    def acknowledged(self, place: Place) -> int:
        """Return the last entry of a log that the peer said it holds."""
        return self._theirs.get(place, EMPTY).seq

    @property
    def knows_us(self) -> Sight:
        """How far the peer has our own logs, against how far we have them."""
        return self._comparing.sight(self._us.node) if self.opened else Sight.UNTOLD

    # --- what happens ---------------------------------------------------------------------

    def begin(self, now: int) -> list[Action]:
        """The connection is made: say who we are."""
        self._now = now
        self.last_heard = now
        self._state = State.GREETED
        us = self._us
        hello = frames.Hello(
            least=frames.PROTOCOL,
            most=frames.PROTOCOL,
            minor=frames.MINOR,
            fleet=us.fleet,
            node=us.node,
            boot=us.boot,
            version=us.version,
            machine=us.machine,
            now=self._clock(),
            port=us.port,
            digest=self._comparing.greet(),
        )
        return [_send(hello)]

    def received(self, frame: bytes, now: int) -> list[Action]:
        """A frame came. Never raises for what is in it."""
        if self._state is State.CLOSED:
            return []
        self._now = self.last_heard = now
        try:
            return self._take(frames.decode_frame(frame), now)
        except BadFrame as error:
            return self._close(Code.UNREADABLE, error.sentence)
        except Misconduct as error:
            return self._close(Code.MISCONDUCT, error.sentence)

    def kept(self, kept: Kept, now: int) -> list[Action]:
        """What the oldest `Keep` asked for is durable."""

        def go_on() -> list[Action]:
            self._learn(kept)
            return self._pulling.kept(kept.heads, kept.trouble, now)

        return self._when_open(go_on, now)

    def froze(self, kept: Kept, now: int) -> list[Action]:
        """What `Convict` asked for is durable, as far as it holds."""

        def go_on() -> list[Action]:
            self._learn(kept)
            if kept.trouble is not None:
                self._conduct.count(UNSTORABLE, now)
            return self._pulling.wants(now)

        return self._when_open(go_on, now)

    def attested(self, author: bytes, kept: Kept, now: int) -> list[Action]:
        """What `Attest` asked for is durable, as far as it holds."""
        told = self.froze(kept, now)
        return told + self._when_open(lambda: self._testifying.attested(author), now)

    def have_testimony(self, entries: Sequence[Entry], now: int) -> list[Action]:
        """What `Testify` asked for."""
        return self._when_open(lambda: self._testifying.have_read(entries), now)

    def have_read(self, wanted: Wanted, entries: Sequence[Entry], now: int) -> list[Action]:
        """What `Read` asked for."""
        return self._when_open(lambda: self._serving.have_read(wanted, entries, now), now)

    def have_blob(self, name: bytes, data: bytes | None) -> list[Action]:
        """What `ReadBlob` asked for."""
        return self._when_open(lambda: self._giving.have(name, data), self._now)

    def want_blobs(self, names: Iterable[bytes]) -> list[Action]:
        """These blobs are lacking here: fetch what the peer has of them."""
        return self._when_open(lambda: self._fetching.want(names, self._now), self._now)

    def push(self, entries: Sequence[Entry], now: int) -> list[Action]:
        """Entries were committed here that the peer may lack. `Held` knows of them already."""
        return self._when_open(lambda: self._serving.push(entries, now), now)

    def moved(self, vector: Vector, testimony: Testimony, now: int) -> list[Action]:
        """The vector of the store, read anew, and what it keeps from beyond forks."""

        def compare() -> list[Action]:
            self._held.moved(vector)
            self._held.testified(testimony, whole=True)
            return self._pulling.wants(now)

        return self._when_open(compare, now)

    def presence(self, raw: bytes, signature: bytes) -> list[Action]:
        """Send signed presence."""
        return self._say(frames.Presence(raw=raw, signature=signature))

    def letter(self, raw: bytes, signature: bytes) -> list[Action]:
        """Send a signed letter."""
        return self._say(frames.Letter(raw=raw, signature=signature))

    def goodbye(self) -> list[Action]:
        """This node stops."""
        return self._say(frames.Goodbye())

    def farewell(self, proof: Sequence[Entry]) -> list[Action]:
        """The peer was removed: tell it so, whether it has said HELLO or not."""
        batch = next(frames.batches(proof, FRAME_BYTES // 2), ())
        return [_send(frames.Farewell(entries=batch))]

    def closed(self) -> None:
        """The connection is gone."""
        self._state = State.CLOSED
        self._pulling.close()
        self._fetching.close()

    def tick(self, now: int) -> list[Action]:
        """Time has passed: call this about once a second."""
        if self._state in (State.NEW, State.CLOSED):
            return []
        self._now = now
        if now - (self.last_heard or 0) >= DEAD_MS:
            return self._close(Code.SILENT, "It has fallen silent.")
        if not self.opened:
            return []
        self._giving.tick(now)
        actions = [*self._heartbeat.tick(now), *self._comparing.tick(now)]
        actions += self._testifying.news()
        return actions + self._pulling.tick(now) + self._fetching.tick(now)

    # --- frames -----------------------------------------------------------------------------

    def _take(self, frame: frames.Frame | None, now: int) -> list[Action]:
        if not isinstance(frame, frames.Entries | frames.Ack):
            self._conduct.count(FRAMES, now)
        if frame is None:
            return []
        match frame:
            case frames.Farewell():
                return [Farewell(proof=frame.entries)]
            case frames.Hello() if self._state is State.GREETED:
                return self._greeted(frame)
            case _ if not self.opened or isinstance(frame, frames.Hello):
                raise Misconduct("It does not say who it is, once and first.")
            case frames.Entries():
                return self._pulling.arrived(frame.entries, now)
            case frames.Ack():
                return self._serving.acknowledged(frame)
            case frames.Want():
                return self._serving.wanted(frame.runs, now)
            case frames.Have() | frames.Proofs() | frames.Testified() | frames.Testimony():
                return self._comparing.took(frame, self._us.fleet, now)
            case _:
                return self._take_small(frame, now)

    def _take_small(self, frame: frames.Frame, now: int) -> list[Action]:
        """Take what is not about entries, vectors and forks."""
        match frame:
            case frames.Presence():
                return [Heard(raw=frame.raw, signature=frame.signature)]
            case frames.Letter():
                return [Carried(raw=frame.raw, signature=frame.signature)]
            case frames.BlobWant():
                return self._giving.wanted(frame, now)
            case frames.Blob():
                return self._fetching.piece(frame, now)
            case frames.BlobNone():
                return self._fetching.none(frame.name, now)
            case frames.Ping():
                return [_send(frames.Pong(number=frame.number, now=self._clock()))]
            case frames.Pong():
                self._heartbeat.ponged(frame, now)
                return []
            case frames.Goodbye():
                return self._close(Code.STOPPED, "askmesh was stopped there.")
            case _:
                return []

    def _greeted(self, hello: frames.Hello) -> list[Action]:
        if not hello.least <= frames.PROTOCOL <= hello.most:
            theirs, ours = f"{hello.least} to {hello.most}", frames.PROTOCOL
            return self._close(
                Code.OTHER_PROTOCOL,
                f"It speaks protocol {theirs} (askmesh {hello.version}), this machine {ours}.",
            )
        if hello.node != self._peer:
            return self._close(Code.OTHER_NODE, "It says that it is another machine than it is.")
        if hello.fleet != self._us.fleet:
            return self._close(Code.OTHER_FLEET, "It is in another fleet now.")
        self.hello = hello
        self._heartbeat.heard(hello.now)
        self._state = State.OPEN
        self._testifying.opened(hello.minor)
        return [
            Opened(port=hello.port, run=hello.boot),
            FindBlobs(limit=BLOBS_WANTED),
            *self._comparing.opened(hello.digest, self._now),
            *self._heartbeat.tick(self._now),
        ]

    # --- small steps ------------------------------------------------------------------------

    def _learn(self, kept: Kept) -> None:
        self._held.froze(kept.frozen)
        self._held.testified(kept.testimony)

    def _when_open(self, step: Callable[[], list[Action]], now: int) -> list[Action]:
        if not self.opened:
            return []
        self._now = now
        try:
            return step()
        except Misconduct as error:
            return self._close(Code.MISCONDUCT, error.sentence)

    def _say(self, frame: frames.Frame) -> list[Action]:
        return [_send(frame)] if self.opened else []

    def _close(self, code: Code, reason: str) -> list[Action]:
        self.closed()
        return [Close(code=code, reason=reason)]


def _send(frame: frames.Frame) -> Send:
    return Send(frame=frames.encode(frame))
