"""Sending what the peer lacks: runs it asked for, and what was just written here.

Entries go out within the window of frames that the peer has not acknowledged. Of these one
is kept for decisions just written, and chatter leaves two, so that no backlog and no chatter
stands in the way of a vote for longer than it takes to store one frame.
"""

from collections import deque
from collections.abc import Sequence

import msgspec

from sync.limits import FRAME_ENTRIES, PLACES, SERVED_BYTES, UNSTORED_MS, WINDOW
from sync.log.chain import EMPTY, Head
from sync.log.entry import GENESIS_PREV, Entry
from sync.log.vector import Place, Wanted
from sync.wire import frames
from sync.wire.actions import Action, Read, Send
from sync.wire.conduct import AGAIN, Conduct, Misconduct, known
from sync.wire.held import Held

RESERVED = {"live": 0, "decisions": 1, "chatter": 2}
"""Credits that each kind of sending leaves for those before it."""


class Stream(msgspec.Struct, kw_only=True, eq=False):
    """A log on its way to the peer."""

    sent: int
    """The last entry that was sent, or that the peer had before."""
    goal: int
    """Send up to here, and then what has been written meanwhile."""
    in_flight: int = 0
    """Frames with entries of it that are not acknowledged."""


class Sent(msgspec.Struct, kw_only=True, eq=False):
    """A frame that is not acknowledged yet."""

    streams: dict[Place, tuple[Stream, int]]
    """The last entry of each log in it."""
    at: int


class Serving:
    """One link's way out. `theirs` is what the peer says it holds; the session shares it."""

    def __init__(self, theirs: dict[Place, Head], held: Held, conduct: Conduct) -> None:
        self._theirs = theirs
        self._held = held
        self._conduct = conduct
        self._streams: dict[Place, Stream] = {}
        self._sent: deque[Sent] = deque()
        self._reading: tuple[Wanted, Stream] | None = None

    @property
    def behind(self) -> int:
        """Entries here that the peer has not acknowledged."""
        return sum(
            max(0, head.seq - self._theirs.get(place, EMPTY).seq)
            for place, head in self._held.heads.items()
        )

    def unstored(self, now: int) -> bool:
        """Whether the peer has long been unable to store what it was sent."""
        return bool(self._sent) and now - self._sent[0].at >= UNSTORED_MS

    # --- what the peer says ---------------------------------------------------------------

    def wanted(self, runs: Sequence[frames.RunRow], now: int) -> list[Action]:
        """The peer asks for runs. Raises `Misconduct`."""
        for run in runs:
            place = (run.author, run.log)
            ours = self._held.head(place).seq
            if run.first <= self._theirs.get(place, EMPTY).seq:
                self._conduct.count(AGAIN, now)
            if run.first > run.last or run.first > ours:
                continue
            # What was asked for before is over: the peer knows best what it lacks.
            self._streams.pop(place, None)
            self._streams[place] = Stream(sent=run.first - 1, goal=min(run.last, ours))
        return self._go_on()

    def acknowledged(self, ack: frames.Ack) -> list[Action]:
        """The peer is done with the oldest frame. Raises `Misconduct`."""
        if not self._sent:
            raise Misconduct("It acknowledges what it was not sent.")
        for row in ack.heads:
            head = Head(seq=row.seq, hash=row.hash)
            known(self._theirs, (row.author, row.log), head, limit=PLACES)
        for place, (stream, last) in self._sent.popleft().streams.items():
            stream.in_flight -= 1
            theirs = self._theirs.get(place, EMPTY).seq
            refused = theirs < last
            # It may have got further by another link meanwhile.
            stream.sent = max(stream.sent, theirs)
            if self._streams.get(place) is stream and (refused or self._is_over(stream)):
                del self._streams[place]
        return self._go_on()

    @staticmethod
    def _is_over(stream: Stream) -> bool:
        return stream.in_flight == 0 and stream.sent >= stream.goal

    # --- what is written here ---------------------------------------------------------------

    def push(self, entries: Sequence[Entry], now: int) -> list[Action]:
        """Send what was just written, where it continues what the peer has."""
        direct: dict[bool, list[Entry]] = {False: [], True: []}
        runs: dict[Place, list[Entry]] = {}
        for entry in entries:
            if self._held.counts(_place(entry), entry.header.seq):
                runs.setdefault(_place(entry), []).append(entry)
        for place, run in runs.items():
            rest = self._continuing(place, run)
            if rest:
                direct[place[1] > 0] += rest
        actions: list[Action] = []
        for chatter, run in direct.items():
            kind = "chatter" if chatter else "live"
            for batch in frames.batches(run, SERVED_BYTES):
                if self._credits(kind) <= 0:
                    break
                actions.append(self._send(batch, now))
        for entry in (*direct[False], *direct[True]):
            # What found no room is read again, once there is some.
            stream = self._streams[_place(entry)]
            stream.goal = max(stream.goal, entry.header.seq)
        return actions + self._go_on()

    def _continuing(self, place: Place, run: list[Entry]) -> list[Entry]:
        """Return what of a run the peer can take at once."""
        stream = self._streams.get(place)
        last = run[-1].header.seq
        if stream is not None and stream.sent < stream.goal:
            stream.goal = max(stream.goal, last)
            return []
        if stream is None:
            theirs = self._theirs.get(place, EMPTY)
            rest = [entry for entry in run if entry.header.seq > theirs.seq]
            before = theirs.hash if theirs.seq else GENESIS_PREV
            if not rest or rest[0].header.prev != before or len(self._streams) >= PLACES:
                return []
            self._streams[place] = Stream(sent=theirs.seq, goal=theirs.seq)
            return rest
        rest = [entry for entry in run if entry.header.seq > stream.sent]
        if rest and rest[0].header.seq == stream.sent + 1:
            return rest
        stream.goal = max(stream.goal, last)
        return []

    # --- sending ----------------------------------------------------------------------------

    def _credits(self, kind: str) -> int:
        # What is being read will need its credit.
        return WINDOW - len(self._sent) - (self._reading is not None) - RESERVED[kind]

    def _send(self, batch: Sequence[Entry], now: int) -> Send:
        ends: dict[Place, tuple[Stream, int]] = {}
        for entry in batch:
            place, seq = _place(entry), entry.header.seq
            ends[place] = (self._streams[place], seq)
        for stream, last in ends.values():
            stream.sent = last
            stream.in_flight += 1
        self._sent.append(Sent(streams=ends, at=now))
        return Send(frame=frames.encode(frames.Entries(entries=tuple(batch))))

    def _go_on(self) -> list[Action]:
        """Read the next piece of what the peer lacks; decisions first, each log in turn."""
        if self._reading is not None:
            return []
        for kind, chatter in (("decisions", False), ("chatter", True)):
            if self._credits(kind) <= 0:
                continue
            for place, stream in self._streams.items():
                if (place[1] > 0) == chatter and stream.sent < stream.goal:
                    return [self._read(place, stream)]
        return []

    def _read(self, place: Place, stream: Stream) -> Read:
        wanted = Wanted(author=place[0], log=place[1], first=stream.sent + 1, last=stream.goal)
        self._reading = (wanted, stream)
        # The next turn is another log's.
        self._streams[place] = self._streams.pop(place)
        return Read(wanted=wanted, entries=FRAME_ENTRIES, size=SERVED_BYTES)

    def have_read(self, wanted: Wanted, entries: Sequence[Entry], now: int) -> list[Action]:
        """Send what was read."""
        if self._reading is None or self._reading[0] != wanted:
            return []
        _, stream = self._reading
        self._reading = None
        place = (wanted.author, wanted.log)
        if self._streams.get(place) is not stream or stream.sent != wanted.first - 1:
            # Asked anew meanwhile, or the peer has got it from elsewhere.
            return self._go_on()
        if not entries:
            del self._streams[place]
            return self._go_on()
        batch = next(frames.batches(entries))
        send = self._send(batch, now)
        ours = self._held.head(place).seq
        if stream.sent >= stream.goal:
            stream.goal = max(stream.goal, ours)
        return [send, *self._go_on()]


def _place(entry: Entry) -> Place:
    return entry.header.author, entry.header.log
