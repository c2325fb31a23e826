"""What can be said of a condition: it holds, it does not, or nobody can tell."""

from collections.abc import Iterable
from enum import IntEnum


class Truth(IntEnum):
    """Ordered: of alternatives the greatest counts, of conditions the least."""

    NO = 0
    UNSURE = 1
    """The argument cannot be read to its end; `allow` takes it for no, `ask` for yes."""
    YES = 2


def either(truths: Iterable[Truth]) -> Truth:
    """Of alternatives: one that holds is enough."""
    return max(truths, default=Truth.NO)


def every(truths: Iterable[Truth]) -> Truth:
    """Of things that all must hold."""
    return min(truths, default=Truth.YES)
