"""Jobs of one link that wait for the store, in their order."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from sync.wire.actions import Action

Job = Callable[[], Awaitable[list[Action]]]


class Line:
    """Jobs that wait for the store, one after the other."""

    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()
        self.filled = asyncio.Event()
