"""Conflicts of versions, statements that wait, a fleet as of some heads, hostile facts."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.decide.membership import as_of, settle
from sync.decide.statements import Stated, stated
from sync.log import facts as say
from sync.log.kinds import EntryType
from tests.sync.decide.histories import (
    FOUNDER,
    Machine,
    founded,
    joined,
    member,
    node_of,
    of_role,
    person,
    rules,
    speaks,
)

# --- conflicts --------------------------------------------------------------------------


def split() -> tuple[Machine, Machine, Stated, Stated]:
    """Two changes to `cid` at the same time: by an owner, and by an admin."""
    home, lap = of_role("admin")
    first = home.say(person("cid", "member", by="ann"))
    lap.hear(home)
    left = home.say(person("cid", "admin", by="ann", replaces=first))
    right = lap.say(person("cid", "viewer", by="bob", replaces=first))
    home.hear(lap)
    lap.hear(home)
    return home, lap, left, right


def test_of_siblings_the_stricter_counts_until_someone_settles_it() -> None:
    home, _, left, right = split()
    found = home.fleet().persons["cid"]
    assert set(found.heads) == {left.hash, right.hash}
    assert found.role == "viewer"
    home.say(person("cid", "admin", by="ann", replaces=left, also=[right]))
    found = home.fleet().persons["cid"]
    assert len(found.heads) == 1
    assert found.role == "admin"


def test_naming_one_sibling_settles_nothing() -> None:
    home, _, left, right = split()
    home.say(person("cid", "owner", by="ann", replaces=left))
    found = home.fleet().persons["cid"]
    assert found.role == "viewer"
    assert right.hash in found.heads
    assert len(found.heads) == 2


def test_a_lower_class_does_not_settle_what_a_higher_one_said() -> None:
    home, lap = of_role("admin")
    left = home.say(rules("owner's", "ann"))
    right = lap.say(rules("admin's", "bob"))
    lap.hear(home)
    lap.say(rules("settled?", "bob", replaces=left, also=[right]))
    in_force = {version.version for version in lap.fleet().rules if version.in_force}
    assert in_force == {"owner's", "settled?"}
    home.hear(lap)
    heads = [home.known[version.hash] for version in home.fleet().rules if version.in_force]
    home.say(rules("settled", "ann", replaces=heads[0], also=heads[1:]))
    assert [version.version for version in home.fleet().rules if version.in_force] == ["settled"]


def test_an_admin_follows_an_owners_version_where_there_is_no_conflict() -> None:
    home, lap = of_role("admin")
    first = home.say(rules("one", "ann"))
    lap.hear(home)
    lap.say(rules("two", "bob", replaces=first))
    assert [version.version for version in lap.fleet().rules if version.in_force] == ["two"]


def test_of_two_words_on_a_machine_no_counts() -> None:
    home, lap = of_role("owner")
    home.say(member("third", "ann"))
    home.say(person("cid", by="ann"))
    lap.hear(home)
    home.say(speaks("third", "cid", by="ann"))
    lap.say(speaks("third", "cid", by="bob", on=False))
    home.hear(lap)
    pair = home.fleet().speaks_for[node_of("third"), "cid"]
    assert not pair.live
    assert len(pair.heads) == 2


def test_a_version_cannot_follow_what_its_author_did_not_know() -> None:
    home, lap = of_role("admin")
    hidden = home.say(rules("hidden", "ann"))
    lap.say(rules("by guess", "bob", replaces=hidden))
    home.hear(lap)
    in_force = [version.version for version in home.fleet().rules if version.in_force]
    assert sorted(in_force) == ["by guess", "hidden"]


# --- what is not here -------------------------------------------------------------------


def test_a_statement_waits_for_what_it_names_and_so_does_what_follows() -> None:
    home, lap = of_role("owner")
    middle = home.say(rules("one", "ann"))
    lap.hear(home)
    second = lap.say(rules("two", "bob", replaces=middle))
    third = lap.say(rules("three", "bob", replaces=second))
    without = [one for one in lap.known.values() if one is not middle]
    fleet = settle(without, founder=FOUNDER)
    assert fleet.pending == {second.hash, third.hash}
    assert fleet.rules == ()
    assert not set(fleet.heads) & fleet.pending
    never = settle(without, founder=FOUNDER, forked={middle.hash: (home.id, middle.seq)})
    assert never.pending == frozenset()
    assert [version.version for version in never.rules if version.in_force] == ["three"]


def test_who_names_nonsense_stops_only_itself() -> None:
    home, lap = of_role("owner")
    lap.say(rules("lost", "bob"), heads=[b"nonsense"])
    home.hear(lap)
    home.say(rules("found", "ann"))
    assert [version.version for version in home.fleet().rules] == ["found"]


def test_a_final_is_checked_as_of_its_heads() -> None:
    home, lap = of_role("member")
    heads = home.fleet().heads
    home.say(speaks("lap", "bob", by="ann", on=False, replaces=_version_of(home, "lap", "bob")))
    assert not home.fleet().speaks(lap.id, "bob")
    then = as_of(home.known.values(), heads, founder=FOUNDER)
    assert then is not None
    assert then.speaks(lap.id, "bob")
    assert as_of(home.known.values(), [b"unknown"], founder=FOUNDER) is None
    # The other side of a fork comes too: what was judged without it would stay so.
    other_side = {b"unknown": (home.id, 3)}
    assert as_of(home.known.values(), [b"unknown"], founder=FOUNDER, forked=other_side) is None


def _version_of(machine: Machine, node: str, who: str) -> Stated:
    (head,) = machine.fleet().speaks_for[node_of(node), who].heads
    return machine.known[head]


# --- hostile facts ----------------------------------------------------------------------

_facts = st.one_of(
    st.binary(max_size=40),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.floats(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=9,
    ).map(msgspec.json.encode),
)


@given(kind=st.integers(-1, 300), facts=_facts)
def test_facts_that_do_not_read_are_no_statement(kind: int, facts: bytes) -> None:
    found = stated(hash=b"h", author=b"a", seq=1, type=kind, facts=facts)
    assert found is None or kind in set(EntryType)


@pytest.mark.parametrize("at", [-1, 2**63, 10**40])
def test_a_time_that_no_store_can_keep_is_no_statement(at: int) -> None:
    facts = b'{"person":"p","name":"n","role":"owner","at":%d}' % at
    assert stated(hash=b"h", author=b"a", seq=1, type=2, facts=facts) is None


@pytest.mark.parametrize(
    "facts",
    [
        say.MemberFacts(node_key=b"short", certificate=b"", machine="x", by="ann", at=1),
        say.RemovedFacts(
            node=node_of("lap"),
            cut=[
                say.CutPoint(log=log, seq=seq, hash=b"")
                for log in (-1, 0, 1, 9)
                for seq in (-5, 2**70)
            ],
            by="ann",
            at=1,
        ),
        say.PersonFacts(person="", name="x" * 9999, role="\0", by="ann", at=1),
        say.SpeaksForFacts(node=b"", person="ann", on=True, by="ann", at=1),
        say.CertificateFacts(certificate=b"", at=1),
    ],
)
def test_odd_facts_harm_nothing(facts: say.Statement) -> None:
    home = founded()
    joined(home, "lap")
    home.say(facts)
    fleet = home.fleet()
    assert fleet.speaks(home.id, "ann")
    for node in fleet.nodes.values():
        assert all(log in (0, 1) and 0 <= head.seq < 2**63 for log, head in node.cut.items())
    assert all(len(one.name) < 99 for one in fleet.persons.values())
