"""What a session hears of what it gave to the store."""

from collections.abc import Mapping
from typing import Protocol

from sync.log.fork import Frozen
from sync.log.vector import Place, Vector
from sync.wire.testimony import Testimony


class Kept(Protocol):
    """What became of received entries: `sync.net.ledger.Kept`."""

    @property
    def heads(self) -> Vector:
        """The heads that moved."""
        ...

    @property
    def frozen(self) -> Mapping[Place, Frozen]:
        """The logs that were found to have forked."""
        ...

    @property
    def testimony(self) -> Testimony:
        """What was stated beyond forks, where that may have changed."""
        ...

    @property
    def trouble(self) -> str | None:
        """Why the rest was not stored."""
        ...
