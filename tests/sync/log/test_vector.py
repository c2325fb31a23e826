"""What a store holds and lacks: laws of `merge`, exactness of `missing`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.errors import Forked
from sync.log.chain import EMPTY, Head
from sync.log.entry import sha256
from sync.log.vector import Place, Vector, Wanted, merge, missing

AUTHORS = [bytes([number]) * 32 for number in range(3)]
PLACES: list[Place] = [(author, log) for author in AUTHORS for log in (0, 1)]


def head(place: Place, seq: int) -> Head:
    """The head of the one true history of a place after `seq` entries."""
    return EMPTY if seq == 0 else Head(seq=seq, hash=sha256(repr((place, seq)).encode()))


VECTORS = st.dictionaries(st.sampled_from(PLACES), st.integers(0, 9)).map(
    lambda found: {place: head(place, seq) for place, seq in found.items()}
)


@given(left=VECTORS, right=VECTORS)
def test_merge_is_commutative(left: Vector, right: Vector) -> None:
    assert merge(left, right) == merge(right, left)


@given(one=VECTORS, two=VECTORS, three=VECTORS)
def test_merge_is_associative(one: Vector, two: Vector, three: Vector) -> None:
    assert merge(merge(one, two), three) == merge(one, merge(two, three))


@given(one=VECTORS, two=VECTORS)
def test_merge_is_idempotent_and_holds_both(one: Vector, two: Vector) -> None:
    both = merge(one, two)
    assert merge(both, one) == both == merge(both, both)
    assert missing(both, one) == missing(both, two) == []


@given(ours=VECTORS, theirs=VECTORS)
def test_missing_is_exactly_what_merge_adds(ours: Vector, theirs: Vector) -> None:
    runs = missing(ours, theirs)
    assert [run.log for run in runs] == sorted(run.log for run in runs)
    assert len({(run.author, run.log) for run in runs}) == len(runs)
    reached = {place: known.seq for place, known in ours.items() if known.seq}
    for run in runs:
        place = (run.author, run.log)
        assert run.first == reached.get(place, 0) + 1 <= run.last
        reached[place] = run.last
    assert reached == {place: known.seq for place, known in merge(ours, theirs).items()}


def test_decisions_are_asked_for_first() -> None:
    theirs = {place: head(place, 2) for place in reversed(PLACES)}
    assert [run.log for run in missing({}, theirs)] == [0, 0, 0, 1, 1, 1]
    place = PLACES[0]
    assert missing({place: head(place, 1)}, {place: head(place, 3)}) == [
        Wanted(author=place[0], log=0, first=2, last=3)
    ]


def test_two_histories_do_not_merge() -> None:
    place = PLACES[0]
    with pytest.raises(Forked, match="entry 4"):
        merge({place: head(place, 4)}, {place: Head(seq=4, hash=b"x" * 32)})
