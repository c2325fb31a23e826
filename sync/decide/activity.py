"""How recently a session was heard: it ages in words, and is never said to have stopped.

Nobody tells us that a program was killed; silence is all there is, and it is told as that.
"""

from enum import Enum

from sync.limits import NOT_SEEN_MS, QUIET_MS


class Activity(Enum):
    """What can be said of a session."""

    ACTIVE = "active"
    QUIET = "quiet"
    """Not heard for a while; a long step of work is as quiet as that."""
    NOT_SEEN = "not_seen"
    """Not heard for so long that nobody should wait for it without looking."""
    ENDED = "ended"
    """Its own host said that it ended."""


def activity(last_heard: int, now: int, *, ended: bool) -> Activity:
    """Return what can be said of a session at `now`."""
    if ended:
        return Activity.ENDED
    silent = now - last_heard
    if silent >= NOT_SEEN_MS:
        return Activity.NOT_SEEN
    return Activity.QUIET if silent >= QUIET_MS else Activity.ACTIVE
