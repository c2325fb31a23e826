"""Roles and what each may do (DESIGN §3). Nothing an agent has appears here."""

from collections.abc import Iterable
from enum import Enum

import msgspec


class Role(Enum):
    """The four classes of persons."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


class Act(Enum):
    """What a person may do."""

    SEE = "see"
    ANSWER = "answer"
    RULES = "apply rules"
    MACHINES = "pair and remove machines"
    PEOPLE = "manage people"
    RECOVER = "recover"
    ERASE = "erase texts"
    STANDING = "say how accounts stand"


MAY: dict[Role, frozenset[Act]] = {
    Role.OWNER: frozenset(Act),
    Role.ADMIN: frozenset({Act.SEE, Act.ANSWER, Act.RULES, Act.MACHINES}),
    Role.MEMBER: frozenset({Act.SEE, Act.ANSWER}),
    Role.VIEWER: frozenset({Act.SEE}),
}

RANK: dict[Role, int] = {Role.VIEWER: 0, Role.MEMBER: 1, Role.ADMIN: 2, Role.OWNER: 3}


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Someone who may answer, as the membership chain states them."""

    id: str
    name: str
    role: Role
    ended: bool = False


def may(person: Person | None, act: Act) -> bool:
    """Whether this person may do this."""
    return person is not None and not person.ended and act in MAY[person.role]


def eligible(person: Person | None, role: str | None) -> bool:
    """Whether this person's vote counts where `role` guards (None: no role guards).

    A role that this askmesh does not know lets nobody through.
    """
    if not may(person, Act.ANSWER) or person is None:
        return False
    guard = next((known for known in Role if known.value == role), None)
    return role is None or (guard is not None and RANK[person.role] >= RANK[guard])


def reach(people: Iterable[Person], role: str | None) -> tuple[int, str | None]:
    """Return how many persons could answer now, and why nobody could."""
    known = list(people)
    count = sum(eligible(person, role) for person in known)
    if count:
        return count, None
    if not known:
        return 0, "nobody has signed in yet; the ask is kept until someone does"
    if role is None:
        return 0, "nobody here may answer; an owner has to give someone a role"
    return 0, f"nobody here has the role {role!r} that the rule asks for"
