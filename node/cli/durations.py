"""Spans of time, as people type and read them."""

import re
import time
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
