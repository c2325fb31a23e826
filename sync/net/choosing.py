"""Whom a node of a large fleet links to, and what each link is sent: decisions without I/O."""

from collections.abc import Callable, Collection, Iterable, Sequence

from sync.limits import FULL_MESH, HOMES_DIALLED, LINKS_DIALLED, PASSED_SLOWLY_S
from sync.log.entry import Entry
from sync.net.dialling import Chance


class Choosing:
    """Everyone in a small fleet; in a large one a few by lot, and the homes of open asks.

    Each member has a number that stays for a while: the lowest are dialled. Who cannot be
    reached goes behind all others, so that a node keeps its links also where most are away.
    """

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._lots: dict[bytes, float] = {}
        self._behind = 1.0
        self._in_vain = 0
        self._passed_at = 0.0

    def keep(self, members: Iterable[bytes]) -> None:
        """Draw for who is new, forget who is no member."""
        lots = self._lots
        self._lots = {node: lots[node] if node in lots else self._chance() for node in members}

    def redraw(self) -> None:
        """Draw for all anew."""
        self._lots = {node: self._chance() for node in self._lots}
        self._behind = 1.0
        self._in_vain = 0

    def drawn(self) -> list[bytes]:
        """Whom to dial for the fleet's sake."""
        everyone = sorted(self._lots, key=lambda node: (self._lots[node], node))
        return everyone if self.is_mesh else everyone[:LINKS_DIALLED]

    def wanted(self, homes: Iterable[bytes]) -> set[bytes]:
        """Return whom to dial. Of the homes of open asks the first few count."""
        known = [home for home in dict.fromkeys(homes) if home in self._lots]
        return {*self.drawn(), *known[:HOMES_DIALLED]}

    @property
    def is_mesh(self) -> bool:
        """Whether each links to each."""
        return len(self._lots) < FULL_MESH

    def pass_over(self, away: Collection[bytes], now: float) -> bool:
        """Put one of those that are away behind all others; whether there is another choice.

        Once all were tried in vain, this machine is the one that is away: then more slowly.
        """
        if self.is_mesh:
            return False
        gone = next((node for node in self.drawn() if node in away), None)
        if gone is None:
            self._in_vain = 0
            return False
        if self._in_vain >= len(self._lots) and now - self._passed_at < PASSED_SLOWLY_S:
            return False
        self._behind += 1.0
        self._lots[gone] = self._behind
        self._in_vain += 1
        self._passed_at = now
        return True


def surplus(dialled: Sequence[bytes], wanted: Collection[bytes], *, redrawn: bool) -> list[bytes]:
    """Return which links that we dialled (oldest first) are to end: nobody wants them any more.

    All of them once the lots are drawn anew; before, only what is above the most that a node
    dials, so that a home whose asks come and go keeps its link.
    """
    unwanted = [node for node in dialled if node not in wanted]
    if redrawn:
        return unwanted
    return unwanted[: max(0, len(dialled) - LINKS_DIALLED - HOMES_DIALLED)]


def lacking(
    own: bytes,
    peer: bytes,
    entries: Sequence[Entry],
    *,
    source: bytes | None,
    links_of: Callable[[bytes], Iterable[bytes]],
) -> Sequence[Entry]:
    """Our own go to everyone; what we learned, only to those who hear it from nobody else.

    `source`: who sent it to us; `links_of`: whom a node says it is linked to.
    """
    if all(entry.header.author == own for entry in entries):
        return entries
    hears = {peer, *links_of(peer)}
    return [
        entry
        for entry in entries
        if entry.header.author == own or (peer != source and entry.header.author not in hears)
    ]
