"""Getting what the peer has and this node lacks: which runs to ask for, and what came of it.

Decisions come before chatter, and a log is asked of one link at a time. Only what continues
a log here is given to the store; the store judges it. A log that the store will not take
(nobody has said yet who its author is) is left alone for a while, and nothing waits for it.
"""

from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import Final

import msgspec

from sync.errors import BadFrame
from sync.limits import (
    BLOBS_WANTED,
    DOUBTED_FIRST,
    FRAME_ENTRIES,
    LEFT_FIRST_MS,
    LEFT_MAX_MS,
    PLACES,
    PULL_MAX_MS,
    RUNS_WANTED,
    STALLED_MS,
    WINDOW,
)
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry
from sync.log.kinds import EntryType
from sync.log.vector import Place, Vector
from sync.wire import frames
from sync.wire.actions import Action, FindBlobs, Keep, Recount, Send
from sync.wire.claims import Claims
from sync.wire.conduct import UNASKED, UNSTORABLE, Conduct, Misconduct, known
from sync.wire.held import Held

VAIN_ATTEMPTS: Final = 3
"""So many vain attempts at a log make a trouble to show; the first ones are timing."""

DOUBTS: Final = 256
"""Other entries in the place of ours that one link is asked for: each is a fork."""


class Verdict(Enum):
    """What to do with an entry that came."""

    STORE = "store"
    DROP = "drop"
    UNASKED = "unasked"
    """Drop it; a sound peer seldom sends such."""


class Asked(msgspec.Struct, kw_only=True):
    """A run that was asked for and is still coming."""

    first: int
    last: int
    heard: int
    """When something of it came last."""
    doubt: bool
    """It is held here, and said to be another there."""


class Left(msgspec.Struct, kw_only=True):
    """A log that could not be stored, or of which nothing came."""

    attempts: int
    until: int
    decisions: int | None
    """`Held.decisions` then: once it has moved, another attempt is worth it. None: never."""
    why: str
    retried: bool = False
    """Another attempt is under way; until then, failures are of the last one."""


class Arrived(msgspec.Struct, kw_only=True):
    """A frame that came and is not acknowledged yet."""

    places: tuple[Place, ...]
    entries: tuple[Entry, ...]
    """Those given to the store; none: there was nothing new."""


class Pulling:
    """One link's way in. `theirs` is what the peer says it holds; the session shares it."""

    def __init__(
        self,
        theirs: dict[Place, Head],
        held: Held,
        claims: Claims,
        conduct: Conduct,
        *,
        own: bytes,
    ) -> None:
        self._theirs = theirs
        self._held = held
        self._claims = claims
        self._conduct = conduct
        self._own = own
        self._asked: dict[Place, Asked] = {}
        self._left: dict[Place, Left] = {}
        self._arrived: deque[Arrived] = deque()
        self._coming: dict[Place, Head] = {}
        """Heads of what is with the store and not durable yet."""
        self._doubted: set[tuple[Place, bytes]] = set()
        """Other entries in the place of ours that were asked for: evidence of a fork."""
        self._doubts: dict[Place, int] = {}
        """How many entries below such a one are asked for: more each time that all differ."""
        self._useful = 0
        """When the peer last sent something that was lacking."""
        self.told: dict[Place, int] = {}
        """How far the peer knows that this node holds each log."""

    @property
    def trouble(self) -> str | None:
        """Why something that the peer has does not get here; a sentence."""
        for left in self._left.values():
            if left.attempts >= VAIN_ATTEMPTS:
                return left.why
        return None

    @property
    def behind(self) -> int:
        """Entries that the peer has told of and that are not here."""
        return sum(
            max(0, self._held.end(place, head.seq) - self._held.head(place).seq)
            for place, head in self._theirs.items()
        )

    # --- asking -------------------------------------------------------------------------

    def wants(self, now: int) -> list[Action]:
        """Ask for the next runs, if there is anything to ask for."""
        room = RUNS_WANTED - len(self._asked)
        if room <= 0:
            return []
        runs: list[frames.RunRow] = []
        for place in self._lacking(now):
            if len(runs) == room:
                break
            if not self._claims.take(place, self):
                continue
            self._retry(place)
            doubt = self._theirs[place].seq == self._held.head(place).seq
            first, last = self._doubted_run(place) if doubt else self._gap(place)
            self._asked[place] = Asked(first=first, last=last, heard=now, doubt=doubt)
            runs.append(frames.RunRow(*place, first, last))
        if not runs:
            return []
        if len(self._asked) == len(runs):
            self._useful = now
        return [Send(frame=frames.encode(frames.Want(runs=runs)))]

    def _lacking(self, now: int) -> list[Place]:
        """Return the logs to ask for: decisions first, our own before others', known authors'."""
        held = self._held.heads
        lacking = [
            place
            for place, head in self._theirs.items()
            if place not in self._asked
            and (
                self._held.end(place, head.seq) > self._due(place).seq
                or self._doubtful(place, head)
            )
            and self._may_try(place, now)
        ]
        return sorted(
            lacking,
            key=lambda place: (place[1], place[0] != self._own, place not in held, place[0]),
        )

    def _gap(self, place: Place) -> tuple[int, int]:
        return self._due(place).seq + 1, self._held.end(place, self._theirs[place].seq)

    def _doubted_run(self, place: Place) -> tuple[int, int]:
        """Where two histories part for the first time may lie far below their heads."""
        head = self._theirs[place]
        self._doubted.add((place, head.hash))
        width = self._doubts.get(place, DOUBTED_FIRST)
        self._doubts[place] = min(width * 4, FRAME_ENTRIES)
        return max(1, head.seq - width + 1), head.seq

    def _doubtful(self, place: Place, head: Head) -> bool:
        """Whether the peer holds another entry in the place of our last one."""
        ours = self._held.head(place)
        return (
            head.seq == ours.seq
            and head.hash != ours.hash
            and (place, head.hash) not in self._doubted
            and len(self._doubted) < DOUBTS
        )

    def _may_try(self, place: Place, now: int) -> bool:
        left = self._left.get(place)
        if left is None or now >= left.until:
            return True
        moved = left.decisions not in (None, self._held.decisions)
        return left.attempts == 1 and moved

    def _retry(self, place: Place) -> None:
        if place in self._left:
            self._left[place].retried = True

    def _due(self, place: Place) -> Head:
        """Return the head that the next entry of a log must continue."""
        held, coming = self._held.head(place), self._coming.get(place, EMPTY)
        return coming if coming.seq > held.seq else held

    # --- what comes -----------------------------------------------------------------------

    def arrived(self, entries: Sequence[Entry], now: int) -> list[Action]:
        """Take a frame of entries. Raises `Misconduct`."""
        if len(self._arrived) >= WINDOW:
            raise Misconduct("It sends entries faster than they are acknowledged.")
        places = tuple({_place(entry): None for entry in entries})
        verdicts = [self._judge(entry, now) for entry in entries]
        fresh = tuple(
            [
                entry
                for entry, verdict in zip(entries, verdicts, strict=True)
                if verdict is Verdict.STORE
            ]
        )
        if not entries or Verdict.UNASKED in verdicts:
            self._conduct.count(UNASKED, now)
        self._arrived.append(Arrived(places=places, entries=fresh))
        if fresh:
            self._useful = now
            return [Keep(entries=fresh)]
        return self._acknowledge()

    def _judge(self, entry: Entry, now: int) -> Verdict:
        place, seq = _place(entry), entry.header.seq
        if seq > 2**63 - 1:
            raise BadFrame("It sent an entry with a number beyond all numbers.")
        head = Head(seq=seq, hash=entry.hash)
        if seq > self._theirs.get(place, EMPTY).seq:
            known(self._theirs, place, head, limit=PLACES)
        asked = self._asked.get(place)
        if asked is not None and asked.doubt and asked.first <= seq <= asked.last:
            asked.heard = now
            return Verdict.STORE
        if not self._held.counts(place, seq):
            return Verdict.DROP
        due = self._due(place)
        if seq == due.seq + 1:
            if place in self._asked:
                self._asked[place].heard = now
            elif place in self._left and not self._may_try(place, now):
                return Verdict.DROP
            self._retry(place)
            self._coming[place] = head
            return Verdict.STORE
        if seq == due.seq and head.hash != due.hash:
            return self._judge_doubted(place, head)
        again = seq <= self.told.get(place, 0)
        return Verdict.UNASKED if seq > due.seq or again else Verdict.DROP

    def _judge_doubted(self, place: Place, head: Head) -> Verdict:
        """Another entry in the place of our last one: evidence, once."""
        if (place, head.hash) in self._doubted or len(self._doubted) >= DOUBTS:
            return Verdict.UNASKED
        self._doubted.add((place, head.hash))
        return Verdict.STORE

    def kept(self, heads: Vector, trouble: str | None, now: int) -> list[Action]:
        """Take what the store made of the oldest frame that was given to it."""
        if not self._arrived:
            return []
        frame = self._arrived[0]
        self._held.moved(heads)
        ends = {_place(entry): entry.header.seq for entry in frame.entries}
        failed = [
            place
            for place, last in ends.items()
            if self._held.head(place).seq < last and self._held.counts(place, last)
        ]
        for place, last in ends.items():
            if place in failed or self._coming.get(place, EMPTY).seq <= last:
                self._coming.pop(place, None)
            if place in failed:
                self._ended(place)
            else:
                self._went_on(place, last)
        self._arrived[0] = Arrived(places=frame.places, entries=())
        actions = self._acknowledge(trouble)
        if failed:
            # The store ends at the first fault: what came after it in the frame is sound.
            self._leave(failed[0], trouble or "It was not stored.", now)
            self._conduct.count(UNSTORABLE, now)
            actions.append(Recount())
        if any(entry.header.type == EntryType.ASK for entry in frame.entries):
            actions.append(FindBlobs(limit=BLOBS_WANTED))
        return actions + self.wants(now)

    def _went_on(self, place: Place, last: int) -> None:
        self._left.pop(place, None)
        asked = self._asked.get(place)
        if asked is None:
            return
        if asked.doubt:
            over = last >= asked.last or not self._held.counts(place, last)
        else:
            # Of a log that has forked since, what was asked for does not count any more.
            over = self._held.head(place).seq >= self._held.end(place, asked.last)
        if over:
            self._ended(place)

    def _acknowledge(self, trouble: str | None = None) -> list[Action]:
        """Acknowledge every frame, from the oldest on, that the store is done with."""
        actions: list[Action] = []
        while self._arrived and not self._arrived[0].entries:
            frame = self._arrived.popleft()
            rows = [self.row(place) for place in frame.places if self._held.head(place).seq]
            actions.append(
                Send(frame=frames.encode(frames.Ack(heads=rows, trouble=_short(trouble))))
            )
            trouble = None
        return actions

    def row(self, place: Place) -> frames.HeadRow:
        """Return a head as it is told to the peer, and note that it is told."""
        head = self._held.head(place)
        self.told[place] = max(self.told.get(place, 0), head.seq)
        return frames.HeadRow(*place, head.seq, head.hash)

    # --- what does not come ---------------------------------------------------------------

    def tick(self, now: int) -> list[Action]:
        """Give up runs of which nothing comes, and ask for what is due."""
        silent = now - self._useful >= STALLED_MS
        for place, asked in list(self._asked.items()):
            end = self._held.end(place, asked.last)
            if self._held.head(place).seq >= end and not asked.doubt:
                # Another link was faster.
                self._ended(place)
            elif self._arrived:
                # The store is slow; that is not the peer's fault.
                asked.heard = self._useful = now
            elif silent or now - asked.heard >= PULL_MAX_MS:
                self._ended(place)
                self._leave(place, "It does not send what it says it has.", now, longest=True)
        for place in [place for place in self._left if self._settled(place)]:
            del self._left[place]
        return self.wants(now)

    def _settled(self, place: Place) -> bool:
        theirs = self._theirs.get(place, EMPTY).seq
        return self._held.head(place).seq >= self._held.end(place, theirs)

    def _ended(self, place: Place) -> None:
        if self._asked.pop(place, None) is not None:
            self._claims.release(place, self)

    def _leave(self, place: Place, why: str, now: int, *, longest: bool = False) -> None:
        before = self._left.get(place)
        if before is not None and not before.retried and not longest:
            return
        attempts = 1 if before is None else before.attempts + 1
        wait = LEFT_MAX_MS if longest else min(LEFT_MAX_MS, LEFT_FIRST_MS << min(attempts, 10))
        self._left[place] = Left(
            attempts=attempts,
            until=now + wait,
            decisions=None if longest else self._held.decisions,
            why=why,
        )

    def close(self) -> None:
        """The link is gone: others may fetch what it was to fetch."""
        self._claims.release_all(self)
        self._asked.clear()


def _place(entry: Entry) -> Place:
    return entry.header.author, entry.header.log


def _short(sentence: str | None) -> str | None:
    return None if sentence is None else sentence[:300]
