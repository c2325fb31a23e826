"""Reading: whole functions over one snapshot, on threads with read-only connections."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from node.store.connection import failure, open_reader

READERS = 2
"""Pages and listings are short; two keep one slow one from blocking the rest."""

Result = TypeVar("Result")


class Reader:
    """A few read-only connections, each on its own thread."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="reader")

    async def run(self, read: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `read` over one consistent snapshot and return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._snapshot, read)

    def _snapshot(self, read: Callable[[sqlite3.Connection], Result]) -> Result:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        try:
            if connection is None:
                connection = self._local.connection = open_reader(self._home)
                self._open.append(connection)
            connection.execute("BEGIN")
            try:
                return read(connection)
            finally:
                # A snapshot left open would keep the write-ahead log growing.
                connection.execute("ROLLBACK")
        except (sqlite3.Error, OSError) as error:
            raise failure(error) from None

    def close(self) -> None:
        """Close every connection."""
        self._pool.shutdown(wait=True)
        for connection in self._open:
            connection.close()
