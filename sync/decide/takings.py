"""Who took an owner's role from whom, and who stays an owner where that left none.

Two owners who take it from each other, neither knowing of the other's word, would leave a
fleet that nobody can ever change again. So, where no owner is left who has a machine, those
stay owners whose takings no later one knew of: the ones that crossed.
"""

from typing import NamedTuple


class _Taking(NamedTuple):
    place: int
    by: str
    knew: frozenset[int]
    """Places of the takings before it."""


class Takings:
    """The takings among some statements that count. It is not changed, only followed."""

    def __init__(self, all_of_them: tuple[_Taking, ...] = ()) -> None:
        self._all = all_of_them

    def after(self, place: int, by: str, knew: frozenset[int]) -> "Takings":
        """Return these and one more."""
        return Takings((*self._all, _Taking(place, by, knew)))

    def places(self) -> frozenset[int]:
        """Return where they stand."""
        return frozenset(one.place for one in self._all)

    def last(self) -> frozenset[str]:
        """Return who made those that no other was made in knowledge of."""
        known = frozenset[int]().union(*(one.knew for one in self._all))
        return frozenset(one.by for one in self._all if one.place not in known)
