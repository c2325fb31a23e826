"""Statements from beyond forks on links: all come to keep the same, none is harmed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sync.limits import OFFENCES_PER_MINUTE
from sync.log.entry import Entry, seal
from sync.log.fork import Evidence, evidence, side
from sync.log.kinds import EntryType
from sync.wire import frames
from sync.wire.conduct import UNASKED
from sync.wire.packed import read_testified
from sync.wire.session import Code
from sync.wire.testimony import Said, merged
from tests.sync.log.entries import FLEET, SALT, key
from tests.sync.wire.stores import End, Net, Store, agree
from tests.sync.wire.test_session import KEYS, stores
from tests.sync.wire.test_session import given as taken

TWIN = 3
OURS = {frames.FrameType.TESTIFIED, frames.FrameType.TESTIMONY}


def twins(lengths: tuple[int, int], kind: int = EntryType.PERSON) -> tuple[Store, Store]:
    """Two stores that go on with one key, each stating so much."""
    found = Store(TWIN, known=KEYS), Store(TWIN, known=KEYS)
    for store, text, length in zip(found, (b"[1]", b"[2]"), lengths, strict=True):
        for _ in range(length):
            store.write(kind, text=text)
    return found


def knowing(net: Net, lengths: tuple[int, int], count: int = 2) -> list[Store]:
    """Stores of which the first two hold the two histories."""
    made = stores(count)
    for store, twin in zip(made, twins(lengths), strict=False):
        taken(store, twin)
    return made


def sent(end: End, kind: frames.FrameType) -> int:
    return sum(raw[0] == kind for raw in end.out)


def test_two_who_hold_different_histories_come_to_keep_both() -> None:
    net = Net()
    one, two = knowing(net, (3, 5))
    net.link(one, two)
    net.settle(5)
    assert agree(one, two)
    assert len(one.said) == 8
    assert one.held.digest == two.held.digest


def test_it_goes_on_to_those_behind_and_to_who_comes_later() -> None:
    net = Net()
    one, two, three, late = knowing(net, (3, 2), count=4)
    net.link(one, two)
    net.link(two, three)
    net.settle(10)
    net.link(three, late)
    net.settle(10)
    assert agree(one, two, three, late)
    assert len(late.said) == 5
    assert late.forks == one.forks


def test_what_is_stated_later_is_told_within_a_second() -> None:
    net = Net()
    one, two = knowing(net, (1, 1))
    net.link(one, two)
    net.settle(5)
    more = _another(9)
    one.attest([more])
    one.held.testified(one.testimony())
    net.settle(2)
    assert more.hash in two.said


def test_more_than_a_frame_holds_goes_in_several() -> None:
    net = Net()
    one, two = stores(2)
    a, b = twins((0, 1))
    for _ in range(30):
        a.write(EntryType.RULES, text=b"x" * 60_000)
    taken(one, a)
    taken(two, b)
    net.link(one, two)
    net.settle(5)
    assert agree(one, two)
    assert len(two.said) == 31


def test_nothing_moves_once_all_keep_the_same() -> None:
    net = Net()
    one, two = knowing(net, (2, 2))
    left, right = net.link(one, two)
    net.settle(5)
    net.cut((left, right))
    left, right = net.link(one, two)
    net.settle(70)
    assert frames.FrameType.HAVE in left.kinds & right.kinds
    assert not OURS & (left.kinds | right.kinds)


def test_an_older_peer_is_sent_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sync.wire.frames.MINOR", 0)
    net = Net()
    one, two = knowing(net, (2, 2))
    left, right = net.link(one, two)
    net.settle(70)
    assert one.forks == two.forks
    assert one.forks
    assert not OURS & (left.kinds | right.kinds)


def test_what_is_sent_before_its_fork_is_known_is_not_kept() -> None:
    net = Net()
    one, two = stores(2)
    left, right = net.link(one, two)
    net.settle()
    raw = frames.encode(frames.Testimony(entries=(_another(2),)))
    right.do(right.session.received(raw, net.now))
    listed = frames.encode(frames.Testified(author=key(TWIN).node_id, hashes=()))
    right.do(right.session.received(listed, net.now))
    net.settle(5)
    assert not two.said
    assert left.closed is right.closed is None


def test_who_keeps_sending_what_is_kept_already_is_cut_off() -> None:
    net = Net()
    one, two = knowing(net, (1, 1))
    _, right = net.link(one, two)
    net.settle(5)
    raw = frames.encode(frames.Testimony(entries=(next(iter(two.said.values())),)))
    for _ in range(OFFENCES_PER_MINUTE + 1):
        right.do(right.session.received(raw, net.now))
    assert right.closed is not None
    assert right.closed.reason == UNASKED


def test_who_says_that_it_keeps_nothing_is_not_sent_the_same_for_ever() -> None:
    net = Net()
    one, two = knowing(net, (2, 2))
    left, _ = net.link(one, two)
    net.settle(5)
    nothing = frames.encode(frames.Testified(author=key(TWIN).node_id, hashes=()))
    asked = 0
    for _ in range(50):
        left.do(left.session.received(nothing, net.now))
        asked += len(left.jobs)
        while left.jobs:
            left.work()
        asked += sent(left, frames.FrameType.TESTIMONY)
        left.out.clear()
    assert asked <= 2


@pytest.mark.parametrize(
    "raw",
    [
        b"\x10",
        b"\x11",
        b"\x11" + bytes(31),
        b"\x11" + bytes(32 + 33),
        b"\x11" + bytes(32) + b"b" * 32 + b"a" * 32,
        b"\x11" + bytes(32) + b"a" * 64,
        b"\x11" + b"".join(number.to_bytes(32, "big") for number in range(1_002)),
    ],
)
def test_what_does_not_read_ends_the_link(raw: bytes) -> None:
    net = Net()
    one, two = stores(2)
    _, right = net.link(one, two)
    net.settle()
    right.do(right.session.received(raw, net.now))
    assert right.closed is not None
    assert right.closed.code == Code.UNREADABLE


def test_testimony_of_two_authors_or_of_chatter_ends_the_link() -> None:
    net = Net()
    one, two = stores(2)
    a, b = one.write(EntryType.PERSON), two.write(EntryType.PERSON)
    for entries in ((a, b), (one.write(EntryType.NOTE),)):
        _, right = net.link(one, two)
        net.settle()
        raw = frames.encode(frames.Testimony(entries=entries))
        right.do(right.session.received(raw, net.now))
        assert right.closed is not None
        assert right.closed.code == Code.UNREADABLE
        net.links.clear()


def test_a_full_list_reads() -> None:
    hashes = [number.to_bytes(32, "big") for number in range(1_000)]
    raw = frames.encode(frames.Testified(author=bytes(32), hashes=tuple(hashes)))
    assert read_testified(raw) == (bytes(32), tuple(hashes))


KEPT = st.frozensets(st.tuples(st.booleans(), st.integers(1, 3), st.binary(min_size=1, max_size=1)))


@given(KEPT, KEPT, KEPT)
def test_merging_is_the_same_in_any_order(
    one: frozenset[Said], two: frozenset[Said], three: frozenset[Said]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sync.wire.testimony.BEYOND_FORK", 3)
        assert merged(one, two) == merged(two, one)
        assert merged(merged(one, two), three) == merged(one, merged(two, three))
        assert merged(merged(one, two), two) == merged(one, two)
        assert len(merged(one, two)) <= 3


@given(st.integers(0, 1 << 16), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5))))
@settings(max_examples=15, deadline=None)
def test_whoever_heard_what_all_come_to_keep_the_same(
    seed: int, heard: list[tuple[int, int]]
) -> None:
    """A forked author tells each node something else, with a bound that it overruns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sync.wire.testimony.BEYOND_FORK", 4)
        net = Net(seed)
        made = knowing(net, (1, 1), count=3)
        proof = _proof()
        for one in made:
            one.convict([proof])
        for at, number in heard:
            made[at].attest([_another(2 + number)])
        for one in made:
            one.held.froze(one.frozen)
            one.held.testified(one.testimony())
        net.link(made[0], made[1])
        net.link(made[1], made[2])
        net.settle(40)
        assert agree(*made)
        assert len({one.held.digest for one in made}) == 1


def _another(seq: int) -> Entry:
    return seal(
        key(TWIN),
        fleet=FLEET,
        seq=seq,
        prev=bytes([seq]) * 32,
        hlc=7 << 16,
        entry_type=EntryType.REMOVED if seq % 2 else EntryType.PERSON,
        facts=b"{}",
        text=SALT + b"{}",
    )


def _proof() -> Evidence:
    first, second = (side(store.logs[store.id, 0][0]) for store in twins((1, 1)))
    return evidence(first, second)
