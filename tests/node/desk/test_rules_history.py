"""Which rules there were, who applied them and where; two who did at the same time."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node import limits
from node.desk.rules_store import RulesStore
from node.gate.rules import RulesRefused, version_of
from sync.errors import Conflict, NotFound
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import viewer
from web.rules_views import RulesView


def rules(*names: str, more: str = "") -> str:
    return "".join(
        f'[[rule]]\nname = "{name}"\ntool = "{name}"\naction = "ask"\n{more}' for name in names
    )


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Ann, an owner, on the desk and the shelf; Bob, an admin, on the attic."""
    async with fleet_of(tmp_path, "desk", "attic", own="desk") as machines:
        await machines.person("bob", "admin", "attic")
        yield machines


def store(fleet: Fleet, machine: str = "desk") -> RulesStore:
    return RulesStore(fleet[machine].context)


async def apply(fleet: Fleet, source: str, machine: str = "desk", who: str = "") -> RulesView:
    here = store(fleet, machine)
    view = await here.view()
    return await here.apply(
        viewer(who or fleet.ann),
        name=f"{machine}'s",
        source=source,
        replaces=view.version if view else None,
    )


async def test_what_people_on_one_machine_cannot_reach_is_said_and_refuses_nothing(
    fleet: Fleet,
) -> None:
    await fleet.person("cid", "member", "attic")
    three = rules("a", more="approvals = 3\n")
    here = store(fleet)
    checked = await here.check(three)
    assert (checked.ok, checked.changes.splitlines()[:2]) == (
        True,
        ["--- /dev/null", "+++ rules"],
    )
    (note,) = checked.notes
    assert (note.line, "each on a machine of their own" in note.reason) == (1, True)
    assert "As machines are now, 2 can" in note.reason
    assert (await apply(fleet, three)).notes == [note]
    shown = await here.view()
    assert shown is not None
    assert shown.notes == [note]
    assert (await here.check(rules("a", more="approvals = 2\n"))).notes == []
    with pytest.raises(RulesRefused, match="Nobody could ever"):
        await apply(fleet, rules("a", more="approvals = 4\n"))


async def test_the_history_says_who_applied_what_where_instead_of_what(fleet: Fleet) -> None:
    here = store(fleet, "attic")
    assert (await here.history()).versions == []
    await apply(fleet, rules("a"))
    fleet.advance(60_000)
    await fleet.meet_all()
    applied = await apply(fleet, rules("a", "b"), "attic", "bob")
    assert (applied.applied_by, applied.machine, applied.siblings) == ("Bob", "attic", [])
    await fleet.meet_all()
    for machine in ("desk", "attic"):
        second, first = (await store(fleet, machine).history()).versions
        assert (first.version, first.applied_by, first.machine) == (
            *(version_of(rules("a")), "Ann", "desk"),
        )
        assert (second.version, second.applied_by, second.machine) == (
            *(version_of(rules("a", "b")), "Bob", "attic"),
        )
        assert (first.in_force, second.in_force) == (False, True)
        assert (first.replaces, second.replaces) == ([], [first.version])
        assert (second.added, second.removed) == (4, 0)
        assert second.applied_at - first.applied_at == 60_000
        for named in (second.version, second.version[:4], second.id):
            one = await store(fleet, machine).version(named)
            assert one.source == rules("a", "b")
            assert '+name = "b"' in one.changes
            assert '-name = "a"' not in one.changes


async def test_going_back_is_a_new_version_with_the_old_text(fleet: Fleet) -> None:
    await apply(fleet, rules("a"))
    await apply(fleet, rules("b"))
    old = await store(fleet).version(version_of(rules("a")))
    await apply(fleet, old.source)
    versions = (await store(fleet).history()).versions
    assert [one.in_force for one in versions] == [True, False, False]
    assert versions[0].version == versions[2].version
    assert versions[0].id != versions[2].id
    # The same text twice is no doubt about what is meant; the latest is told of.
    again = await store(fleet).version(versions[0].version)
    assert again.version == versions[0]
    assert (await store(fleet).version(versions[2].id)).version == versions[2]


async def test_what_is_not_there_and_what_is_meant_twice_is_refused(fleet: Fleet) -> None:
    for name in ("a", "b"):
        await apply(fleet, rules(name))
    with pytest.raises(NotFound, match="0123456789ab"):
        await store(fleet).version("0123456789ab")
    with pytest.raises(Conflict, match="Several"):
        await store(fleet).version("")


async def test_two_who_apply_at_once_are_both_shown_and_one_settles_it(fleet: Fleet) -> None:
    await apply(fleet, rules("a"))
    await fleet.meet_all()
    await apply(fleet, rules("a", "b"))
    await apply(fleet, rules("c"), "attic", "bob")
    await fleet.meet_all()
    for machine in ("desk", "attic"):
        view = await store(fleet, machine).view()
        assert view is not None
        assert {(one.applied_by, one.machine, one.source) for one in view.siblings} == {
            ("Ann", "desk", rules("a", "b")),
            ("Bob", "attic", rules("c")),
        }
        checked = await store(fleet, machine).check(rules("a", "b"))
        assert '-name = "c"' in checked.changes
        assert '-name = "a"' not in checked.changes
    settled = await apply(fleet, rules("c"))
    assert settled.siblings == []
    await fleet.meet_all()
    last = (await store(fleet, "attic").history()).versions[0]
    assert set(last.replaces) == {version_of(rules("a", "b")), version_of(rules("c"))}
    one = await store(fleet, "attic").version(last.id)
    assert '-name = "b"' in one.changes


async def test_a_long_history_ends_with_word_of_it(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RULES_HISTORY", 2)
    for name in ("a", "b", "c"):
        await apply(fleet, rules(name))
    found = await store(fleet).history()
    assert [one.version for one in found.versions] == [version_of(rules(n)) for n in "cb"]
    assert found.more
    assert found.versions[1].replaces == [version_of(rules("a"))]


async def test_a_check_says_what_would_change_and_changes_nothing(fleet: Fleet) -> None:
    checked = await store(fleet).check(rules("a"))
    assert (checked.ok, checked.errors) == (True, [])
    assert '+name = "a"' in checked.changes
    await apply(fleet, rules("a"))
    assert (await store(fleet).check(rules("a"))).changes == ""
    bad = await store(fleet).check("nonsense")
    assert (bad.ok, bad.errors[0].line) == (False, 1)
    assert (await store(fleet).history()).versions[0].version == version_of(rules("a"))


async def test_more_people_than_there_are_is_refused_by_page_and_store(fleet: Fleet) -> None:
    fits = ("approvals = 2", 'role = "owner"', 'role = "owner"\nself_approval = false')
    for more in fits:
        source = rules("a", more=f"{more}\n")
        assert (await store(fleet).check(source)).ok
        await apply(fleet, source)
    for more in ("approvals = 3", 'role = "owner"\napprovals = 2'):
        source = rules("a", more=f"{more}\n")
        checked = await store(fleet).check(source)
        assert not checked.ok
        assert "Nobody could ever allow the call" in checked.errors[0].reason
        with pytest.raises(RulesRefused, match="Nobody could ever"):
            await apply(fleet, source)


async def test_who_has_no_machine_or_was_removed_is_not_counted(fleet: Fleet) -> None:
    await fleet.person("cid", "member")
    assert not (await store(fleet).check(rules("a", more="approvals = 3\n"))).ok
    await fleet.remove("attic")
    assert not (await store(fleet).check(rules("a", more="approvals = 2\n"))).ok
