"""Waking what waits: after each commit, everyone who waits for a named thing."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

Change = tuple[int, str, str]
"""(number, topic, ref), as `node.store.writer` publishes them."""


class Signals:
    """Events by the ref they are about; used on the event loop only.

    A signal says "look again", never what happened: the store is the only truth.
    """

    def __init__(self) -> None:
        # Dicts as ordered sets: who waits longest is woken first, in every run alike.
        self._waiting: dict[str, dict[asyncio.Event, None]] = defaultdict(dict)
        self._every: dict[asyncio.Event, None] = {}

    def publish(self, changes: Sequence[Change]) -> None:
        """Wake whoever waits for one of these, or for anything."""
        for _, _, ref in changes:
            for event in self._waiting.get(ref, ()):
                event.set()
        for event in self._every:
            event.set()

    @contextmanager
    def of(self, ref: str) -> Iterator[asyncio.Event]:
        """Give an event that is set whenever `ref` changes."""
        event = asyncio.Event()
        waiting = self._waiting[ref]
        waiting[event] = None
        try:
            yield event
        finally:
            waiting.pop(event, None)
            if not waiting and self._waiting.get(ref) is waiting:
                del self._waiting[ref]

    @contextmanager
    def any(self) -> Iterator[asyncio.Event]:
        """Give an event that is set whenever anything changes."""
        event = asyncio.Event()
        self._every[event] = None
        try:
            yield event
        finally:
            self._every.pop(event, None)
