"""Versions of persons, of whose machine a node is, and of the rules: chains with siblings."""

from typing import NamedTuple

from sync.decide.people import RANK, Role
from sync.decide.statements import Stated
from sync.log import facts as say
from sync.log.chain import Head


class Held(NamedTuple):
    """A version in force, and the rank of who stated it."""

    place: int
    stated: Stated
    rank: int
    first: bool = False


Heads = tuple[Held, ...]
Version = (
    say.PersonFacts | say.SpeaksForFacts | say.RulesFacts | say.OperatorFacts | say.StandingFacts
)


class Grant(NamedTuple):
    """That a statement counts as of what its author knew."""

    rank: int
    replaced: tuple[int, ...] = ()
    """Places of the versions it follows."""
    floor: Head = Head()
    """Of a removal: the last statement of the removed node that its author knew."""
    effective: bool = True
    """False: it only names whose machine it is; the person still has to agree."""
    first: bool = False
    """An owner's word for a person who had no node: it counts without a consent."""
    takes: bool = False
    """An owner is one no more by it."""
    knew: frozenset[int] = frozenset()
    """Places of the words like it that its author knew: on machines, or takings."""


class Placed(NamedTuple):
    """A statement and its place among all."""

    place: int
    stated: Stated


def role_of(word: str) -> Role:
    """Return a role; one that only a newer askmesh knows may see and nothing else."""
    return next((role for role in Role if role.value == word), Role.VIEWER)


def strictest(heads: Heads) -> tuple[str, bool]:
    """Return the lowest role of the versions in force, and whether one ends the person."""
    versions = [held.stated.facts for held in heads]
    persons = [facts for facts in versions if isinstance(facts, say.PersonFacts)]
    words = sorted((facts.role for facts in persons), key=lambda word: (RANK[role_of(word)], word))
    return words[0], any(facts.ended for facts in persons)


def is_on(held: Held) -> bool:
    """Whether this version says that the node speaks for the person."""
    facts = held.stated.facts
    return isinstance(facts, say.ConsentFacts) or (
        isinstance(facts, say.SpeaksForFacts) and facts.on
    )


def invites(heads: Heads, facts: say.PersonFacts) -> bool:
    """Whether this is what an admin may do: make members and viewers."""
    low = {Role.MEMBER.value, Role.VIEWER.value}
    standing = all(
        isinstance(held.stated.facts, say.PersonFacts)
        and held.stated.facts.role in low
        and not held.stated.facts.ended
        for held in heads
    )
    return standing and facts.role in low and not facts.ended


def version(heads: Heads, facts: Version, role: Role) -> Grant:
    """Grant a new version, and say which it follows.

    Where siblings stand, only a class at least as high as its author's ends one.
    """
    named = {facts.replaces, *facts.also}
    rank = RANK[role]
    replaced = [
        held.place
        for held in heads
        if held.stated.hash in named and (len(heads) == 1 or held.rank <= rank)
    ]
    return Grant(rank, tuple(replaced))


def with_one(heads: Heads, held: Held, over: frozenset[int]) -> Heads:
    """Return the versions in force after one more, which ended those `over`."""
    kept = (other for other in heads if other.place not in over)
    return tuple(sorted((*kept, held), key=lambda one: one.place))
