"""What owners and operators have said of accounts, among some statements that count.

Owners' words are a chain for each person, like roles. An operator's words need none: of
those it said of one account, the one with the highest serial counts, by whichever machine
it came in.
"""

from collections.abc import Iterable
from typing import NamedTuple

from sync.decide import standing, word
from sync.decide.people import RANK, Role
from sync.decide.standing import Said
from sync.decide.statements import Stated
from sync.decide.versions import Grant, Heads, Held, version, with_one
from sync.limits import NAME_CHARACTERS, REASON_CHARACTERS
from sync.log import facts as say

OWNERS = b""
"""The source of what owners say."""

_Key = tuple[bytes, str | None]
"""Source and subject."""


class OperatorState(NamedTuple):
    """An outside system as the versions in force say; of siblings the stricter counts."""

    key: bytes
    name: str
    live: bool
    by: str
    at: int
    heads: tuple[bytes, ...]


class Standings:
    """The words on accounts, and whose keys may say them."""

    def __init__(self) -> None:
        self._operators: dict[bytes, Heads] = {}
        self._said: dict[_Key, Heads] = {}

    def copy(self) -> "Standings":
        """Return one that changes alone."""
        other = Standings()
        other._operators = dict(self._operators)
        other._said = dict(self._said)
        return other

    def operators(self) -> tuple[OperatorState, ...]:
        """Return all that ever were, by their keys."""
        return tuple(_operator(key, heads) for key, heads in sorted(self._operators.items()))

    def said(self) -> tuple[Said, ...]:
        """Return the word of each source on each account."""
        return tuple(
            _strictest(key, heads, counts=self._counts(key[0]))
            for key, heads in sorted(self._said.items(), key=lambda item: _order(item[0]))
        )

    def refused(self, person: str) -> bool:
        """Whether answers of a person do not count."""
        about = ((key, heads) for key, heads in self._said.items() if key[1] in (None, person))
        words = (_strictest(key, heads, counts=self._counts(key[0])) for key, heads in about)
        return standing.refuses(words, person) is not None

    # --- judging ----------------------------------------------------------------------

    def judge_operator(self, facts: say.OperatorFacts, role: Role | None) -> Grant | None:
        """Say whether an owner's word on a key counts. `role`: what he may by his node."""
        sound = len(facts.key) == word.KEY_BYTES and not self.refused(facts.by)
        if role is None or not sound:
            return None
        return version(self._operators.get(facts.key, ()), facts, role)

    def judge_word(self, one: Stated, facts: say.StandingFacts) -> Grant | None:
        """Say whether an operator's word counts, whichever machine brought it."""
        if facts.operator is None or not self._counts(facts.operator):
            return None
        said = word.word_in(facts)
        sound = said is not None and said.fleet == one.fleet.hex()
        return Grant(RANK[Role.OWNER]) if sound else None

    def judge_owner(self, facts: say.StandingFacts, role: Role | None) -> Grant | None:
        """Say whether an owner's word counts: of another person, while not held himself."""
        if role is None or facts.by is None or facts.person in (None, facts.by):
            return None
        if self.refused(facts.by):
            return None
        return version(self._said.get((OWNERS, facts.person), ()), facts, role)

    # --- applying ---------------------------------------------------------------------

    def apply(self, held: Held, over: frozenset[int]) -> None:
        """Change what a statement that counts changes; `over`: versions it ends."""
        facts = held.stated.facts
        if isinstance(facts, say.OperatorFacts):
            self._operators[facts.key] = with_one(self._operators.get(facts.key, ()), held, over)
        elif isinstance(facts, say.StandingFacts):
            key = _key(facts)
            heads = with_one(self._said.get(key, ()), held, over)
            newest = max(_serial(head) for head in heads)
            self._said[key] = tuple(head for head in heads if _serial(head) == newest)

    def _counts(self, source: bytes) -> bool:
        return source == OWNERS or all(_on(head) for head in self._operators.get(source, _NEVER))


class _Off(NamedTuple):
    """Stands for the versions of a key that nobody registered."""

    stated: None = None


_NEVER = (_Off(),)


def _on(head: Held | _Off) -> bool:
    facts = None if head.stated is None else head.stated.facts
    return isinstance(facts, say.OperatorFacts) and facts.on


def _key(facts: say.StandingFacts) -> _Key:
    said = word.word_in(facts)
    if said is None or facts.operator is None:
        return OWNERS, facts.person
    return facts.operator, said.person


def _order(key: _Key) -> tuple[bytes, bool, str]:
    return key[0], key[1] is not None, key[1] or ""


def _serial(head: Held) -> int:
    facts = head.stated.facts
    said = word.word_in(facts) if isinstance(facts, say.StandingFacts) else None
    return 0 if said is None else said.serial


def _strictest(key: _Key, heads: Heads, *, counts: bool) -> Said:
    hashes = tuple(head.stated.hash for head in heads)
    words = (_said(key, head.stated, hashes, counts=counts) for head in heads)
    return max(words, key=lambda said: (*standing.severity(said), said.remedy or "", said.reason))


def _said(key: _Key, one: Stated, heads: tuple[bytes, ...], *, counts: bool) -> Said:
    facts = one.facts
    if not isinstance(facts, say.StandingFacts):
        raise TypeError
    source, person = key
    said = word.word_in(facts) or facts
    remedy = said.remedy
    return Said(
        person=person,
        source=source,
        level=standing.level_of(said.standing),
        remedy=remedy if remedy is not None and standing.remedy_host(remedy) else None,
        reason=said.reason[:REASON_CHARACTERS],
        serial=said.serial if isinstance(said, word.Word) else 0,
        by=facts.by if source == OWNERS else None,
        at=said.at,
        counts=counts,
        heads=heads,
    )


def _operator(key: bytes, heads: Iterable[Held]) -> OperatorState:
    words = [
        (head.stated.hash, head.stated.facts)
        for head in heads
        if isinstance(head.stated.facts, say.OperatorFacts)
    ]
    _, shown = max(words, key=lambda one: (not one[1].on, one[1].at, one[0]))
    return OperatorState(
        key=key,
        name=shown.name[:NAME_CHARACTERS],
        live=all(facts.on for _, facts in words),
        by=shown.by,
        at=shown.at,
        heads=tuple(one for one, _ in words),
    )
