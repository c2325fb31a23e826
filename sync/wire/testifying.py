"""What was stated beyond forks, compared on one link: who says what it keeps is sent the rest.

A side that was sent something says anew what it keeps once that is durable, so there is
never more than one frame of it under way. What changed is told within a second.
"""

from collections.abc import Iterable, Sequence

from sync.limits import FRAME_ENTRIES, SERVED_BYTES, TESTIFIED_EARLY
from sync.log.entry import Entry
from sync.wire import frames
from sync.wire.actions import Action, Attest, Send, Testify
from sync.wire.conduct import UNASKED, Conduct
from sync.wire.held import Held
from sync.wire.testimony import Said, Testimony

Hashes = frozenset[bytes]


class Testifying:
    """One link's testimony. Nothing is said to a peer that does not speak of it."""

    def __init__(self, held: Held, conduct: Conduct) -> None:
        self._held = held
        self._conduct = conduct
        self._greeting: Testimony = {}
        self._speaks = False
        self._told: dict[bytes, frozenset[Said]] = {}
        """What the peer was told last that is kept here."""
        self._listed: dict[bytes, Hashes] = {}
        """What the peer keeps, as far as it said."""
        self._tried: dict[bytes, tuple[frozenset[Said], Hashes]] = {}
        """What was kept here and there when something was sent last: once is enough."""
        self._reading: bytes | None = None
        self._waiting: bytes | None = None
        """Of whom the peer was sent something that it has not said to keep yet."""

    def greet(self) -> None:
        """Remember what HELLO's digest was made of."""
        self._greeting = dict(self._held.testimony)

    def opened(self, minor: int) -> None:
        """The peer's HELLO came."""
        self._speaks = minor >= frames.TESTIFIES

    def agree(self, *, greeting: bool = False) -> None:
        """Both sides keep the same."""
        for author, said in (self._greeting if greeting else self._held.testimony).items():
            self._told[author] = said
            self._listed[author] = _hashes(said)

    def tell(self) -> list[Action]:
        """Say of everyone what is kept here."""
        self._waiting = None
        self._tried.clear()
        return self._say(self._held.testimony)

    def news(self) -> list[Action]:
        """Say what changed, and send what the peer lacks by that."""
        told = self._told
        moved = [one for one, said in self._held.testimony.items() if told.get(one) is not said]
        # Equal is the same, however it came about.
        changed = [one for one in moved if told.get(one) != self._held.testimony[one]]
        for one in moved:
            told[one] = self._held.testimony[one]
        return [*self._say(changed), *self._offer()]

    def took(self, frame: frames.Testified | frames.Testimony, now: int) -> list[Action]:
        """The peer says what it keeps, or sends some of it. Raises `Misconduct`."""
        if isinstance(frame, frames.Testimony):
            return self._arrived(frame.entries, now)
        return self._is_kept(frame)

    def attested(self, author: bytes) -> list[Action]:
        """What it sent is durable, as far as it is kept: say so."""
        return self._say([author])

    def have_read(self, entries: Sequence[Entry]) -> list[Action]:
        """What `Testify` asked for."""
        author, self._reading = self._reading, None
        batch = next(frames.batches(entries), ())
        if author is None or not batch:
            return self._offer()
        self._waiting = author
        return [Send(frame=frames.encode(frames.Testimony(entries=batch)))]

    def _is_kept(self, frame: frames.Testified) -> list[Action]:
        author = frame.author
        early = author not in self._held.testimony and author not in self._listed
        if early and len(self._listed) - len(self._held.testimony) >= TESTIFIED_EARLY:
            return []
        self._listed[author] = frozenset(frame.hashes)
        if self._waiting == author:
            self._waiting = None
        return self._offer()

    def _arrived(self, entries: Sequence[Entry], now: int) -> list[Action]:
        author = entries[0].header.author
        here = _hashes(self._held.testimony.get(author, frozenset()))
        news = tuple([one for one in entries if one.hash not in here])
        if not news:
            self._conduct.count(UNASKED, now)
        if author in self._listed:
            self._listed[author] |= {one.hash for one in entries}
        return [Attest(author=author, statements=news)]

    def _offer(self) -> list[Action]:
        """Have something read that the peer lacks: what ranks lowest first."""
        if not self._speaks or self._reading is not None or self._waiting is not None:
            return []
        for author, said in self._held.testimony.items():
            listed = self._listed.get(author)
            if listed is None or self._tried.get(author) == (said, listed):
                continue
            self._tried[author] = (said, listed)
            lacking = [one for _, _, one in sorted(said) if one not in listed]
            if lacking:
                self._reading = author
                return [Testify(hashes=tuple(lacking[:FRAME_ENTRIES]), size=SERVED_BYTES)]
        return []

    def _say(self, authors: Iterable[bytes]) -> list[Action]:
        if not self._speaks:
            return []
        actions: list[Action] = []
        for author in sorted(authors):
            said = self._held.testimony.get(author, frozenset())
            self._told[author] = said
            frame = frames.Testified(author=author, hashes=tuple(sorted(_hashes(said))))
            actions.append(Send(frame=frames.encode(frame)))
        return actions


def _hashes(said: Iterable[Said]) -> Hashes:
    return frozenset(entry_hash for _, _, entry_hash in said)
