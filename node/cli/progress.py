"""A bar on the terminal for what takes longer than a second."""

import time
from typing import Final

from node.cli.terminal import Terminal

PATIENCE_S: Final = 1.0
"""Work that takes longer shows how far it is."""
REDRAW_S: Final = 0.1
WIDTH: Final = 24


class Bar:
    """Shows what is being done and how far it is. Use as `told`; `clear` takes it away."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._started = time.monotonic()
        self._drawn = 0.0

    def __call__(self, words: str, done: int, total: int) -> None:
        """`total` 0: nobody knows how much there is to do."""
        now = time.monotonic()
        if now - self._started < PATIENCE_S or now - self._drawn < REDRAW_S:
            return
        self._drawn = now
        if total:
            filled = WIDTH * min(done, total) // total
            self._terminal.restate(
                f"{words} [{'#' * filled}{'.' * (WIDTH - filled)}] {100 * done // total} %"
            )
        else:
            self._terminal.restate(f"{words} … {now - self._started:.0f} s")

    def clear(self) -> None:
        """Take the bar away."""
        if self._drawn:
            self._terminal.restate("")
