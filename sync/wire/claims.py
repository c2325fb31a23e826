"""Who of a node's links fetches what: one log, and one blob, from one peer at a time."""

from collections.abc import Hashable

from sync.log.vector import Place

Thing = Place | bytes
"""A log, or a blob by its name."""


class Claims:
    """Shared by all sessions of a node. A session is known by any hashable token."""

    def __init__(self) -> None:
        self._holders: dict[Thing, Hashable] = {}
        self.blobs_moved = 0
        """How often a blob was given up, or entries came that may name one: a link that has
        looked before must look again, for the one they came on may have ended since."""

    def take(self, thing: Thing, who: Hashable) -> bool:
        """Claim a thing; False: another link fetches it."""
        return self._holders.setdefault(thing, who) == who

    def release(self, thing: Thing, who: Hashable) -> None:
        """Give a thing up; what another one holds stays."""
        if self._holders.get(thing) == who:
            del self._holders[thing]

    def release_all(self, who: Hashable) -> None:
        """A link is gone."""
        for thing in [thing for thing, holder in self._holders.items() if holder == who]:
            del self._holders[thing]
            self.blobs_moved += isinstance(thing, bytes)

    def clear(self) -> None:
        """This node belongs to another fleet."""
        self._holders.clear()

    def __len__(self) -> int:
        return len(self._holders)
