"""Roles: the table of DESIGN §3, and who may answer what."""

from itertools import product

import pytest

from sync.decide.people import Act, Person, Role, eligible, may, reach

# DESIGN §3, row by row.
MAY = {
    "owner": set(Act),
    "admin": {Act.SEE, Act.ANSWER, Act.RULES, Act.MACHINES, Act.INVITE},
    "member": {Act.SEE, Act.ANSWER},
    "viewer": {Act.SEE},
}
LADDER = ["viewer", "member", "admin", "owner"]


def person(role: Role, *, ended: bool = False) -> Person:
    return Person(id="p", name="Ann", role=role, ended=ended)


@pytest.mark.parametrize(("role", "act"), list(product(Role, Act)))
def test_every_role_and_act(role: Role, act: Act) -> None:
    assert may(person(role), act) is (act in MAY[role.value])
    assert not may(person(role, ended=True), act)
    assert not may(None, act)


@pytest.mark.parametrize(("role", "guard"), list(product(Role, [*LADDER, None])))
def test_every_role_and_guard(role: Role, guard: str | None) -> None:
    high = guard is None or LADDER.index(role.value) >= LADDER.index(guard)
    assert eligible(person(role), guard) is (high and role is not Role.VIEWER)
    assert not eligible(person(role, ended=True), guard)


@pytest.mark.parametrize("guard", ["", "root", "OWNER"])
def test_a_guard_nobody_knows_lets_nobody_answer(guard: str) -> None:
    assert not eligible(person(Role.OWNER), guard)
    assert reach([person(Role.OWNER)], guard)[0] == 0


def test_nobody_is_not_eligible() -> None:
    assert not eligible(None, None)


def test_reach_says_why_nobody_could_answer() -> None:
    assert reach([person(Role.OWNER), person(Role.VIEWER)], None) == (1, None)
    for people, guard, told in (
        ([], None, "nobody has signed in"),
        ([person(Role.VIEWER)], None, "nobody here may answer"),
        ([person(Role.MEMBER)], "admin", "'admin'"),
        ([person(Role.OWNER, ended=True)], None, "nobody here may answer"),
    ):
        count, why = reach(people, guard)
        assert count == 0
        assert told in str(why)
