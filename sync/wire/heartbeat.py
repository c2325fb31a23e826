"""Whether the peer is there, how long it takes to answer, and how its clock stands."""

from collections.abc import Callable

from sync.limits import PING_MS
from sync.wire import frames
from sync.wire.actions import Action, Send


class Heartbeat:
    """Pings of one link."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._number = 0
        self._at: int | None = None
        """When the last ping went out."""
        self.round_trip_ms: float | None = None
        self.skew_ms: int | None = None

    def tick(self, now: int) -> list[Action]:
        """Ping, when it is time to."""
        if self._at is not None and now - self._at < PING_MS:
            return []
        self._number += 1
        self._at = now
        return [Send(frame=frames.encode(frames.Ping(number=self._number)))]

    def heard(self, judging: int) -> None:
        """The peer said what its clock shows."""
        self.skew_ms = judging - self._clock()

    def ponged(self, pong: frames.Pong, now: int) -> None:
        """The peer answers a ping; only the last one tells anything."""
        if pong.number == self._number and self._at is not None:
            took = now - self._at
            self.round_trip_ms = float(took)
            self.heard(pong.now + took // 2)
