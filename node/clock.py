"""The judging clock: deadlines do not move when someone sets the wall clock.

Within a boot it runs by a clock that counts through suspend; across boots by the wall
clock, and never below the stored high-water mark (DESIGN §5).
"""

import time
from pathlib import Path
from typing import Protocol

import msgspec


class Times(Protocol):
    """The three sources a clock is made of."""

    def wall_ms(self) -> int:
        """Unix milliseconds as the machine believes them."""
        ...

    def boot_ms(self) -> int:
        """Milliseconds since boot, suspend included."""
        ...

    def boot_id(self) -> str:
        """A name of this boot."""
        ...


class SystemTimes:
    """The machine's own clocks."""

    def wall_ms(self) -> int:
        """Return the wall clock."""
        return time.time_ns() // 1_000_000

    def boot_ms(self) -> int:
        """Return the boot clock (CLOCK_BOOTTIME; monotonic where there is none)."""
        clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
        return time.clock_gettime_ns(clock) // 1_000_000

    def boot_id(self) -> str:
        """Return the kernel's id of this boot, or the boot's minute where it has none."""
        try:
            return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        except OSError:
            return f"boot-{(self.wall_ms() - self.boot_ms()) // 60_000}"


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of the clock: where it stood at which moment of which boot."""

    boot_id: str
    boot_ms: int
    now: int


class Clock:
    """The judging clock of one node. `now` never falls."""

    def __init__(self, times: Times, stored: Anchor | None) -> None:
        self.times = times
        boot_id, boot_ms = times.boot_id(), times.boot_ms()
        if stored is not None and stored.boot_id == boot_id and boot_ms >= stored.boot_ms:
            now = stored.now + boot_ms - stored.boot_ms
        else:
            now = max(times.wall_ms(), stored.now if stored else 0)
        self._boot_id = boot_id
        self._offset = now - boot_ms
        self._last = now

    def now(self) -> int:
        """Return judged Unix milliseconds."""
        self._last = max(self._last, self._offset + self.times.boot_ms())
        return self._last

    def anchor(self) -> Anchor:
        """Return what to store so that the next start continues from here."""
        boot_ms = self.times.boot_ms()
        return Anchor(boot_id=self._boot_id, boot_ms=boot_ms, now=self._offset + boot_ms)
