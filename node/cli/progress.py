"""How a long command says how far it is: a bar on a terminal, now and then a line elsewhere."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_S: Final = 1.0
"""Work that takes longer says how far it is."""
LINES_S: Final = 5.0
"""Seconds between two lines where there is no terminal to draw on."""


class Telling:
    """Tells on standard error how far the work is. Standard output stays the result's."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._began = self._told = time.monotonic()
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.pause()

    def pause(self) -> None:
        """Take the bar off the screen, so that a line can be printed."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._tasks = {}

    def step(self, what: str, done: int, total: int) -> None:
        """Say that so much of `what` is done. `total` 0: nobody knows how much there is."""
        now = time.monotonic()
        if now - self._began < PATIENCE_S:
            return
        if sys.stderr.isatty():
            self._draw(what, done, total)
        elif now - self._told >= LINES_S:
            self._told = now
            far = f": {done:,} of {total:,} {self._unit}" if total else ""
            click.echo(f"… {what}{far}", err=True)

    def _draw(self, what: str, done: int, total: int) -> None:
        if self._bar is None:
            self._bar = _bar()
            self._bar.start()
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=total or None)
        self._bar.update(self._tasks[what], completed=done, total=total or None)


def _bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Remaining(),
        console=Console(file=sys.stderr),
        transient=True,
    )
