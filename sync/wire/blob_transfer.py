"""Blobs over a link: fetched piece by piece, one at a time, and served as they are asked for.

The receiver asks for each piece, so a blob never fills the line before a vote.
"""

from collections import deque
from collections.abc import Iterable

import msgspec

from sync.limits import (
    BLOB_CHUNK_BYTES,
    BLOB_REQUESTS,
    BLOBS_WANTED,
    LEFT_MAX_MS,
    STALLED_MS,
)
from sync.log.entry import sha256
from sync.wire import frames
from sync.wire.actions import Action, FindBlobs, KeepBlob, ReadBlob, Send
from sync.wire.claims import Claims
from sync.wire.conduct import UNASKED, Conduct, Misconduct


class Fetch(msgspec.Struct, kw_only=True, eq=False):
    """The blob that is coming."""

    name: bytes
    data: bytearray
    total: int | None = None
    heard: int


class Fetching:
    """One link's blobs on their way in."""

    def __init__(self, claims: Claims, conduct: Conduct) -> None:
        self._claims = claims
        self._conduct = conduct
        self._now_coming: Fetch | None = None
        self._not_there: dict[bytes, int] = {}
        """Blobs this peer lacks (or spoils), and when to ask it again."""
        self._look_again = False
        """Another link fetches some that are lacking; it may fail."""
        self._moved = claims.blobs_moved

    def want(self, names: Iterable[bytes], now: int) -> list[Action]:
        """Fetch the first of these that the peer may have; the others are named again then."""
        self._look_again = False
        if self._now_coming is not None:
            return []
        for name in names:
            if self._not_there.get(name, now) > now:
                continue
            if self._claims.take(name, self):
                self._now_coming = Fetch(name=name, data=bytearray(), heard=now)
                return [_ask(name, 0)]
            self._look_again = True
        return []

    def piece(self, blob: frames.Blob, now: int) -> list[Action]:
        """Take a piece. Raises `Misconduct`."""
        fetch = self._now_coming
        if fetch is None or blob.name != fetch.name or blob.offset != len(fetch.data):
            self._conduct.count(UNASKED, now)
            return []
        if fetch.total not in (None, blob.total):
            return self._give_up(now)
        fetch.total, fetch.heard = blob.total, now
        fetch.data += blob.chunk
        if len(fetch.data) < blob.total:
            return [_ask(fetch.name, len(fetch.data))]
        data = bytes(fetch.data)
        if sha256(data) != fetch.name:
            return self._give_up(now)
        self._over()
        return [KeepBlob(name=fetch.name, data=data), FindBlobs(limit=BLOBS_WANTED)]

    def none(self, name: bytes, now: int) -> list[Action]:
        """The peer does not have it."""
        if self._now_coming is None or self._now_coming.name != name:
            self._conduct.count(UNASKED, now)
            return []
        return self._give_up(now)

    def tick(self, now: int) -> list[Action]:
        """Give up what does not come."""
        self._not_there = {name: until for name, until in self._not_there.items() if until > now}
        if self._now_coming is not None and now - self._now_coming.heard >= STALLED_MS:
            return self._give_up(now)
        moved, self._moved = self._moved != self._claims.blobs_moved, self._claims.blobs_moved
        return [FindBlobs(limit=BLOBS_WANTED)] if self._look_again or moved else []

    def _give_up(self, now: int) -> list[Action]:
        if self._now_coming is not None:
            if len(self._not_there) >= BLOBS_WANTED:
                self._not_there.pop(next(iter(self._not_there)))
            self._not_there[self._now_coming.name] = now + LEFT_MAX_MS
            self._claims.blobs_moved += 1
        self._over()
        return [FindBlobs(limit=BLOBS_WANTED)]

    def _over(self) -> None:
        if self._now_coming is not None:
            self._claims.release(self._now_coming.name, self)
            self._now_coming = None

    def close(self) -> None:
        """The link is gone."""
        self._claims.release_all(self)


class Giving:
    """One link's blobs on their way out: at most one is held in memory."""

    def __init__(self) -> None:
        self._asked: deque[tuple[bytes, int]] = deque()
        self._reading: bytes | None = None
        self._blob: tuple[bytes, bytes] | None = None
        self._used = 0

    def wanted(self, want: frames.BlobWant, now: int) -> list[Action]:
        """The peer asks for a piece. Raises `Misconduct`."""
        if len(self._asked) >= BLOB_REQUESTS:
            raise Misconduct("It asks for more pieces of blobs than it may at once.")
        self._asked.append((want.name, want.offset))
        self._used = now
        return self._go_on()

    def have(self, name: bytes, data: bytes | None) -> list[Action]:
        """A blob was read (None: it is not here whole)."""
        if self._reading != name:
            return []
        self._reading = None
        self._blob = None if data is None else (name, data)
        if data is None:
            self._asked = deque(one for one in self._asked if one[0] != name)
            return [Send(frame=frames.encode(frames.BlobNone(name=name))), *self._go_on()]
        return self._go_on()

    def _go_on(self) -> list[Action]:
        actions: list[Action] = []
        while self._asked and self._reading is None:
            name, offset = self._asked[0]
            if self._blob is None or self._blob[0] != name:
                self._reading, self._blob = name, None
                actions.append(ReadBlob(name=name))
                break
            self._asked.popleft()
            actions.append(_piece(name, offset, self._blob[1]))
        return actions

    def tick(self, now: int) -> None:
        """Hold nothing for a peer that asks no more."""
        if not self._asked and now - self._used >= STALLED_MS:
            self._blob = None


def _ask(name: bytes, offset: int) -> Send:
    return Send(frame=frames.encode(frames.BlobWant(name=name, offset=offset)))


def _piece(name: bytes, offset: int, data: bytes) -> Send:
    chunk = data[offset : offset + BLOB_CHUNK_BYTES]
    if not chunk and data:
        return Send(frame=frames.encode(frames.BlobNone(name=name)))
    piece = frames.Blob(name=name, offset=offset, total=len(data), chunk=chunk)
    return Send(frame=frames.encode(piece))
