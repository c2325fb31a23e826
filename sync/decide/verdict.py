"""What was decided, in words: the one phrase of cards, refusals, histories and the audit.

None of these ends with a full stop, so that each reader can go on.
"""

from collections.abc import Sequence

import msgspec

from sync.decide.ask import Outcome
from sync.decide.handover import Void


class Maker(msgspec.Struct, frozen=True, kw_only=True):
    """Whose vote a final rests on, and the machine on which it was given."""

    name: str | None
    machine: str | None = None
    viewer: bool = False
    """It is whoever reads this."""


def outcome_word(outcome: Outcome | None, *, unclear: bool) -> str:
    """Return how an ask ended; what went back as unclear was neither denied nor declined."""
    if unclear:
        return "sent back as unclear"
    return "closed" if outcome is None else outcome.value


def by_whom(makers: Sequence[Maker]) -> str:
    """Return everyone whose vote counted, in the order of the votes, with a blank before it."""
    told = [
        f"you{_on(maker)}" if maker.viewer else f"{maker.name}{_on(maker)}"
        for maker in makers
        if maker.viewer or maker.name
    ]
    if told:
        return f" by {both(told)}"
    return "".join(map(_on, makers))


def both(words: Sequence[str]) -> str:
    """Return words as one reads them out: with commas, and `and` before the last."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def _on(maker: Maker) -> str:
    return f" on {maker.machine}" if maker.machine else ""


def verdict(
    outcome: Outcome | None, makers: Sequence[Maker], *, unclear: bool = False, label: str | None
) -> str:
    """Return what was decided, by whom and where, as the beginning of a sentence."""
    word = outcome_word(outcome, unclear=unclear)
    chosen = f" “{label}”" if label else ""
    return f"{word[:1].upper()}{word[1:]}{chosen}{by_whom(makers)}"


def nobody_in_time(needed: int) -> str:
    """Return that the deadline passed before it was decided."""
    # Where several have to allow, some of them may have: the ask expired all the same.
    if needed > 1:
        return f"The deadline passed before {needed} people had allowed it"
    return "The deadline passed; nobody answered in time"


def withdrawn(agent: str | None, reason: str | None) -> str:
    """Return that it is not asked any more, and why (`agent` None: it did not say so)."""
    who = "" if agent is None else f" by {agent}"
    return f"Withdrawn{who}" + (f": {reason}" if reason else "")


def came_to_nothing(decided: str, reason: str | None, *, agent: str, machine: str) -> str:
    """Return a verdict that became void, and why."""
    if reason == Void.TAKEN_BACK.value:
        return f"{decided}, then taken back before it was used"
    if reason == Void.USE_BY.value:
        return f"{decided}, but {agent} did not come back for it in time"
    if reason == Void.RESTORED.value:
        return f"{decided}, but {machine} was put back to an older copy: it is void"
    return f"{decided}, but it came to nothing: {reason}"
