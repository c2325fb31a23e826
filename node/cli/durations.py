"""Spans of time, as people type and read them."""

import re
import time
from datetime import datetime, timedelta
from typing import Final

import click

UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_FORM: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?[smhdw])+")
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhdw])")
_STEPS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


class Duration(click.ParamType[float]):
    """`90s`, `15m`, `24h`, `7d`, or several in a row (`1h30m`); seconds as a float."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The span in seconds; a usage error when it is no span."""
        if isinstance(value, int | float):
            return float(value)
        if not isinstance(value, str) or not _FORM.fullmatch(value):
            form = "Write for example 90s, 15m, 24h or 7d."
            self.fail(f"{value!r} is no duration. {form}", param, ctx)
        return sum(float(number) * UNITS[unit] for number, unit in _PART.findall(value))


class Moment(click.ParamType[int]):
    """`2026-12-01`, `2026-12-01T10:30` (`Z` or an offset may follow), or a span ago: `7d`.

    Unix milliseconds; a usage error for anything else. `end`: a day means its end.
    """

    name = "time"

    def __init__(self, *, end: bool = False) -> None:
        self._end = end

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """The moment, by the clock and in the zone of this machine."""
        if isinstance(value, int):
            return value
        text = str(value)
        try:
            if _FORM.fullmatch(text):
                return round(1_000 * (time.time() - Duration().convert(text, param, ctx)))
            then = datetime.fromisoformat(text)
            if self._end and len(text) <= len("2026-12-01"):
                then += timedelta(days=1)
            return round(then.timestamp() * 1_000)
        except (ValueError, OverflowError, OSError):
            self.fail(f"{text!r} is no time. Write 2026-12-01, 2026-12-01T10:30 or 7d.", param, ctx)


def span(milliseconds: int) -> str:
    """A span in its two largest units: `2 h 5 min`."""
    seconds = max(0, milliseconds) // 1000
    parts: list[str] = []
    for size, unit in _STEPS:
        if seconds >= size:
            parts.append(f"{seconds // size} {unit}")
        elif parts:
            break
        seconds %= size
        if len(parts) == 2:
            break
    return " ".join(parts) or "0 s"


def moment(at: int) -> str:
    """A moment on the clock of whoever looks: `2026-12-03 09:41`."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at / 1000))


def ago(then: int, now: int) -> str:
    """How long ago in one unit, short enough for a column: `3 min`."""
    seconds = max(0, now - then) // 1000
    for size, unit in _STEPS:
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return "now"
