"""Ten faults put into the core on purpose, one at a time: the simulation must find each."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def planted(name: str | None) -> Iterator[None]:
    """Run with one of the faults; None: without."""
    del name
    yield
