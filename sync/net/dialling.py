"""When to dial, where, and which of two links to keep: decisions without I/O."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from sync.limits import (
    ADDRESSES_RACED,
    ATTEMPT_S,
    BACKOFF_FIRST_S,
    BACKOFF_MAX_S,
)
from sync.net.ledger import Address

Chance = Callable[[], float]
"""Evenly spread over [0, 1)."""


class Backoff:
    """How long to wait before the next try: full jitter under a doubling ceiling.

    Machines that lost each other at one moment do not come back at one moment.
    """

    def __init__(
        self, chance: Chance, *, first: float = BACKOFF_FIRST_S, most: float = BACKOFF_MAX_S
    ) -> None:
        self._chance = chance
        self._first = first
        self._most = most
        self.tries = 0

    def next(self) -> float:
        """Return seconds to wait, and count a try."""
        ceiling = self.ceiling()
        self.tries += 1
        return self._chance() * ceiling

    def ceiling(self) -> float:
        """The longest that the next wait can be."""
        # The exponent is capped so that weeks of tries stay a number.
        return float(min(self._most, self._first * 2 ** min(self.tries, 30)))

    def reset(self) -> None:
        """Begin anew: something has changed."""
        self.tries = 0


_ORDER = {"mdns": 0, "good": 1, "given": 2, "told": 3}


def in_order(known: Iterable[Address], sighted: Iterable[Address]) -> list[Address]:
    """Return where to try a node, best first, each place once.

    What was sighted just now is newest; then where it was last, what someone gave, and
    what others tell.
    """
    ranked = [
        *sighted,
        *sorted(known, key=lambda address: (-address.good_at, _ORDER.get(address.source, 4))),
    ]
    found: dict[tuple[str, int], Address] = {}
    for address in ranked:
        found.setdefault((address.host, address.port), address)
    return list(found.values())


def round_of(ordered: Sequence[Address], turn: int) -> list[Address]:
    """Return the addresses for try number `turn`: the best always, the others by turns."""
    if len(ordered) <= ADDRESSES_RACED:
        return list(ordered)
    best, rest = ordered[: ADDRESSES_RACED // 2], ordered[ADDRESSES_RACED // 2 :]
    size = ADDRESSES_RACED - len(best)
    start = turn * size % len(rest)
    return [*best, *[*rest, *rest][start : start + min(size, len(rest))]]


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of two links between the same two nodes."""

    dialler: bytes
    """The node id of who dialled it."""
    opened: float
    """Monotonic seconds."""
    run: str = ""
    """Which run of the other node's program is at the far end."""


def second_stays(first: Side, second: Side) -> bool:
    """Whether, of two open links, the one that opened second is kept.

    Both dialled at one moment: the link of the smaller node id stays, as both see it. In
    any other case the peer has dialled because the older link is dead at its end. So it is
    where another run of its program dials; or that is a copy of its directory, and would
    never be found out while the first one's link stays.
    """
    if first.run != second.run:
        return True
    if first.dialler == second.dialler or second.opened - first.opened > ATTEMPT_S:
        return True
    return second.dialler < first.dialler


def chance_of(random: Callable[[int], bytes]) -> Chance:
    """Return chance made of random bytes."""
    return lambda: int.from_bytes(random(4), "big") / 2**32


class Paces:
    """How often each of many callers may come: a bucket of tokens for each, few remembered."""

    def __init__(self, *, burst: int, per_second: float, remembered: int) -> None:
        self._burst = burst
        self._rate = per_second
        self._remembered = remembered
        self._buckets: dict[str, tuple[float, float]] = {}

    def admits(self, who: str, now: float) -> bool:
        """Take a token of `who`; False when there is none."""
        tokens, then = self._buckets.pop(who, (float(self._burst), now))
        tokens = min(float(self._burst), tokens + (now - then) * self._rate)
        admitted = tokens >= 1.0
        # Put back as the newest: the one forgotten is the one not seen for longest.
        self._buckets[who] = (tokens - 1.0 if admitted else tokens, now)
        if len(self._buckets) > self._remembered:
            self._buckets.pop(next(iter(self._buckets)))
        return admitted
