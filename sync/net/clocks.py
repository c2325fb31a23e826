"""Whether this machine slept: what a clock that stands still in sleep cannot tell alone."""

import time
from collections.abc import Callable

from sync.limits import SLEPT_S

Clocks = Callable[[], tuple[float, float]]
"""Seconds of a clock that stands still in sleep, and of one that counts it."""


def system() -> tuple[float, float]:
    """Return monotonic and boot time (the same where the system has only one)."""
    boot = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.monotonic(), time.clock_gettime(boot)


def slept(before: tuple[float, float], now: tuple[float, float], *, most: float = SLEPT_S) -> bool:
    """Whether so much passed between two looks that no link can have survived it.

    Either clock may show it: the machine slept, or this process was stopped.
    """
    return max(now[0] - before[0], now[1] - before[1]) > most
