"""What a peer may do by chance of timing, and when it is too much."""

from collections.abc import Mapping
from typing import Final

from sync.errors import RemoteError
from sync.limits import FRAMES_PER_MINUTE, MINUTE_MS, OFFENCES_PER_MINUTE
from sync.log.chain import Head
from sync.log.vector import Place

FRAMES: Final = "It floods this link with messages."
AGAIN: Final = "It asks again and again for entries that it has."
VECTORS: Final = "It asks again and again what this machine holds."
UNASKED: Final = "It keeps sending what nobody asked for."
EARLIER: Final = "It keeps sending ever earlier proofs against one machine."
UNSTORABLE: Final = "It keeps sending entries that cannot be stored."

_LIMITS: Final[Mapping[str, int]] = {FRAMES: FRAMES_PER_MINUTE}


class Misconduct(RemoteError):
    """A peer on a link broke the rules of the protocol."""

    code = "misconduct"


class Conduct:
    """Counts, by the minute, what no sound peer does often."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._since = 0

    def count(self, offence: str, now: int) -> None:
        """Count one. Raises `Misconduct`, whose sentence is the offence, over the limit."""
        if now - self._since >= MINUTE_MS:
            self._since = now
            self._counts.clear()
        count = self._counts.get(offence, 0) + 1
        if count > _LIMITS.get(offence, OFFENCES_PER_MINUTE):
            raise Misconduct(offence)
        self._counts[offence] = count


def known(theirs: dict[Place, Head], place: Place, head: Head, *, limit: int) -> None:
    """Note how far the peer says it holds a log. Raises `Misconduct` over the limit of logs."""
    if place not in theirs and len(theirs) >= limit:
        raise Misconduct(f"It names more than {limit} logs.")
    theirs[place] = head
