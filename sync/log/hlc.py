"""Hybrid logical clock: 48 bits of Unix milliseconds, 16 bits of counter.

It orders entries for display and settles last-writer fields, with ties by node id. It
never decides finality, expiry or anything about security (DESIGN §4).
"""

from sync.limits import CLOCK_AHEAD_MS

COUNTER_BITS = 16
_COUNTER_MASK = (1 << COUNTER_BITS) - 1
HLC_MAX = (1 << 64) - 1


def milliseconds(hlc: int) -> int:
    """Return the wall-clock part."""
    return hlc >> COUNTER_BITS


def tick(last: int, now_ms: int) -> int:
    """Return a stamp above `last` for an entry made at `now_ms`.

    A counter that overflows carries into the milliseconds, so stamps always rise.
    """
    return max(last + 1, now_ms << COUNTER_BITS)


def too_far_ahead(hlc: int, now_ms: int) -> bool:
    """Whether a received stamp must be held out of merges for now."""
    return milliseconds(hlc) > now_ms + CLOCK_AHEAD_MS


def receive(last: int, seen: int, now_ms: int) -> int:
    """Return our clock after seeing a stamp; one too far ahead does not move it."""
    return last if too_far_ahead(seen, now_ms) else max(last, seen)


def newer(left: tuple[int, bytes], right: tuple[int, bytes]) -> bool:
    """Whether (hlc, node id) `left` wins over `right` in a last-writer field."""
    return left > right
