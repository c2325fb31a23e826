"""How much work something is, as a number that no other load changes."""

import sys
from collections.abc import Callable
from types import FrameType


class TooManyCalls(AssertionError):
    """The work was ended: it makes more calls than it may."""


def calls(work: Callable[[], object], *, limit: int) -> int:
    """Return how many functions `work` calls, C's among them; ends it beyond `limit`."""
    count = 0

    def seen(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        if event in {"call", "c_call"}:
            count += 1
            if count > limit:
                raise TooManyCalls(f"more than {limit} calls")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
