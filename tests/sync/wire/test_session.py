"""Two and more sessions: opening, catching up, pushing, relaying, forks, unknown authors."""

import msgspec
import pytest

from sync.log.entry import sha256
from sync.log.fork import evidence, side
from sync.log.kinds import EntryType
from sync.wire import frames
from sync.wire.session import Code
from tests.sync.log.entries import SALT, key
from tests.sync.wire.stores import JUDGING, Net, Store, agree

KEYS = [key(number) for number in range(1, 6)]


def stores(count: int) -> list[Store]:
    return [Store(number, known=KEYS) for number in range(1, count + 1)]


def entry_frames(out: object) -> list[frames.Entries]:
    assert isinstance(out, list)
    found = [frames.decode_frame(frame) for frame in out]
    return [frame for frame in found if isinstance(frame, frames.Entries)]


def test_two_that_hold_the_same_say_no_more_than_hello() -> None:
    net, (one, two) = Net(), stores(2)
    link = net.link(one, two)
    net.settle()
    assert all(end.opened for end in link)
    assert link[0].sent < 600
    assert link[0].session.hello is not None
    assert link[0].session.hello.port == 7717
    assert link[0].session.skew_ms == 0
    assert link[0].session.round_trip_ms == 0.0


def test_each_gets_what_the_other_has() -> None:
    net, (one, two) = Net(), stores(2)
    for _ in range(3):
        one.write()
        two.write(EntryType.NOTE)
    link = net.link(one, two)
    net.settle()
    assert agree(one, two)
    assert (one.vain, two.vain) == (0, 0)
    assert link[0].session.behind_us == link[0].session.behind_them == 0
    assert link[0].session.acknowledged((one.id, 0)) == 3


def test_thousands_come_in_several_frames_within_the_window() -> None:
    net, (one, two) = Net(), stores(2)
    for _ in range(3_000):
        one.write(text=b"x" * 200, push=False)
    one.held.moved(one.vector())
    net.link(one, two)
    net.settle()
    assert agree(one, two)
    assert two.vain == 0


def test_what_is_written_goes_out_at_once_in_one_frame() -> None:
    net, (one, two) = Net(), stores(2)
    left, right = net.link(one, two)
    net.settle()
    written = one.write()
    assert [frame.entries for frame in entry_frames(list(left.out))] == [(written,)]
    assert not left.jobs, "nothing is read for it"
    left.other.take()
    right.work()
    assert two.logs[one.id, 0] == [written]


def test_what_is_written_while_catching_up_comes_without_waiting() -> None:
    net, (one, two) = Net(), stores(2)
    for _ in range(2_000):
        one.write(text=b"x" * 500, push=False)
    one.held.moved(one.vector())
    net.link(one, two)
    while len(two.logs[one.id, 0]) < 500:
        net.step()
    one.write()
    net.settle()
    assert agree(one, two)
    assert net.now == 0, "no time had to pass"
    assert two.vain == 0


def test_a_third_relays_both_ways() -> None:
    net, (one, two, three) = Net(), stores(3)
    net.link(one, two)
    net.link(two, three)
    net.settle()
    for _ in range(5):
        one.write()
        three.write(EntryType.NOTE)
    net.settle()
    assert agree(one, two, three)
    assert net.now == 0


def test_a_triangle_stores_nothing_twice_while_catching_up() -> None:
    net, (one, two, three) = Net(), stores(3)
    for _ in range(2_000):
        one.write(text=b"x" * 300, push=False)
    one.held.moved(one.vector())
    net.link(one, two)
    net.settle()
    net.link(one, three)
    net.link(two, three)
    net.settle(2)
    assert agree(one, two, three)
    assert three.vain == 0


def test_what_was_missed_is_told_within_a_second() -> None:
    # Learned by a link that no push covers: nobody published it.
    net, (one, two) = Net(), stores(2)
    net.link(one, two)
    net.settle()
    one.write(push=False)
    one.held.moved(one.vector())
    net.settle(1)
    assert agree(one, two)


def test_what_even_the_node_forgot_to_tell_is_found_within_a_minute() -> None:
    net, (one, two) = Net(), stores(2)
    net.link(one, two)
    net.settle()
    one.write(push=False)
    net.settle(46 + 2)
    assert agree(one, two)


def test_nobody_stays_behind_by_what_is_shown() -> None:
    net, (one, two, three) = Net(), stores(3)
    for pair in ((one, two), (two, three), (one, three)):
        net.link(*pair)
    net.settle()
    for _ in range(20):
        one.write()
        two.write(EntryType.NOTE)
    net.settle(2)
    for end in net.ends():
        assert (end.session.behind_us, end.session.behind_them) == (0, 0)


def test_an_idle_pair_is_quiet() -> None:
    net, (one, two) = Net(), stores(2)
    for _ in range(50):
        one.write(push=False)
    one.held.moved(one.vector())
    link = net.link(one, two)
    net.settle(2)
    before = sum(end.sent for end in link)
    net.settle(300)
    assert (sum(end.sent for end in link) - before) / 300 < 50


def test_entries_of_an_unknown_author_wait_for_the_statement_and_nothing_waits_for_them() -> None:
    net = Net()
    one, two, three = Store(1, known=KEYS), Store(2, known=KEYS[:1]), Store(3, known=KEYS)
    for _ in range(3):
        three.write()
    net.link(one, three)
    net.settle()
    one.write()
    left, right = net.link(one, two)
    net.settle(3)
    assert two.head((three.id, 0)).seq == 0
    assert two.head((one.id, 0)).seq == 1, "others' entries come"
    one.write()
    net.settle()
    assert two.head((one.id, 0)).seq == 2
    one.write(EntryType.MEMBER, text=three.key.public)
    net.settle(31)
    assert agree(one, two, three)
    assert right.session.trouble is None
    assert left.closed is None


def test_a_statement_that_comes_right_behind_lets_the_entries_in_without_waiting() -> None:
    net = Net()
    one, two, three = Store(1, known=KEYS), Store(2, known=KEYS[:1]), Store(3, known=KEYS)
    three.write()
    net.link(one, three)
    net.settle()
    net.link(one, two)
    net.settle()
    assert two.head((three.id, 0)).seq == 0
    one.write(EntryType.MEMBER, text=three.key.public)
    net.settle()
    assert agree(one, two, three)
    assert net.now == 0


def test_the_statement_in_the_same_meeting_is_enough() -> None:
    net = Net()
    one, two, three = Store(1, known=KEYS), Store(2, known=KEYS[:1]), Store(3, known=KEYS)
    for _ in range(3):
        three.write()
    one.write(EntryType.MEMBER, text=three.key.public)
    net.link(one, three)
    net.settle()
    net.link(one, two)
    net.settle(1)
    assert agree(one, two, three)


def forked(author: int, *, common: int, lengths: tuple[int, int]) -> tuple[Store, Store]:
    """Two stores that wrote with one key: a directory was copied after so many entries."""
    twin, other = Store(author, known=KEYS), Store(author, known=KEYS)
    for _ in range(common):
        twin.write(text=b"[0]")
    other.keep(twin.logs[twin.id, 0], twin.id)
    for store, text, length in zip((twin, other), (b"[1]", b"[2]"), lengths, strict=True):
        for _ in range(length):
            store.write(text=text)
    return twin, other


def given(store: Store, source: Store) -> None:
    """Let a store have what another one wrote."""
    store.keep(source.logs[source.id, 0], source.id)


def test_a_fork_is_proved_to_both_and_the_others_go_on() -> None:
    net, (one, two) = Net(), stores(2)
    twin, other = forked(3, common=0, lengths=(1, 1))
    given(one, twin)
    given(two, other)
    net.link(one, two)
    net.settle(200)
    assert one.forks == two.forks == {((twin.id, 0), 1)}
    assert one.vain + two.vain <= 2, "it is asked for once"
    assert one.held.digest == two.held.digest
    one.write()
    net.settle()
    assert two.head((one.id, 0)).seq == 1, "the others go on"


@pytest.mark.parametrize(
    ("common", "lengths"),
    [(0, (3, 1)), (2, (1, 3)), (5, (300, 300)), (0, (1, 700)), (40, (900, 5)), (1, (1200, 1100))],
)
def test_all_find_where_two_histories_part(common: int, lengths: tuple[int, int]) -> None:
    """However long each went on, and for who holds one, the other, neither or a part."""
    net, (one, two, none, early) = Net(common), stores(4)
    twin, other = forked(5, common=common, lengths=lengths)
    place = (twin.id, 0)
    for store in (one, two, none, early):
        store.keys[twin.id] = twin.key.public
    given(one, twin)
    given(two, other)
    early.keep(twin.logs[place][:1], twin.id)
    for left, right in ((one, two), (two, none), (none, early)):
        net.link(left, right)
    net.settle(60)
    for store in (one, two, none, early):
        assert store.forks == {(place, common + 1)}
        assert store.held.head(place).seq == (common or 0)
        assert store.held.digest == one.held.digest
        store.frozen[place].evidence.verify(twin.key.public)
    assert all(end.session.trouble is None for end in net.ends())


def test_who_forked_hears_of_it_and_what_it_says_after_that_reaches_nobody() -> None:
    net, (one, two) = Net(), stores(2)
    twin, other = forked(3, common=2, lengths=(2, 3))
    given(one, twin)
    net.link(one, other)
    net.settle(5)
    assert other.forks == one.forks == {((twin.id, 0), 3)}
    other.write()
    net.link(one, two)
    net.settle(40)
    assert two.head((twin.id, 0)).seq == 2
    assert one.held.digest == two.held.digest == other.held.digest


def test_evidence_that_nobody_signed_changes_nothing() -> None:
    net, (one, two) = Net(), stores(2)
    twin, other = forked(3, common=1, lengths=(1, 1))
    sides = [side(store.logs[twin.id, 0][-1]) for store in (twin, other)]
    spoiled = msgspec.structs.replace(sides[1], signature=bytes(64))
    link = net.link(one, two)
    net.settle()
    link[0].out.append(frames.encode(frames.Proofs(evidence=(evidence(sides[0], spoiled),))))
    net.settle()
    assert not two.forks
    link[0].out.append(frames.encode(frames.Proofs(evidence=(evidence(*sides),))))
    net.settle(2)
    assert two.forks == one.forks == {((twin.id, 0), 2)}, "the true one; and it comes back"


def test_sides_that_fit_together_end_the_link() -> None:
    net, (one, two) = Net(), stores(2)
    first, second = one.write(), one.write()
    left, right = net.link(one, two)
    net.settle()
    packed = b"".join(part for entry in (first, second) for part in (entry.raw, entry.signature))
    right.do(right.session.received(bytes([frames.FrameType.EVIDENCE]) + packed, net.now))
    assert right.closed is not None
    assert right.closed.code == Code.UNREADABLE
    assert left.closed is None


def test_a_full_disk_here_ends_nothing_and_shows_there() -> None:
    net, (one, two) = Net(), stores(2)
    left, _ = net.link(one, two)
    net.settle()
    two.full = True
    one.write()
    net.settle(31)
    assert left.session.trouble == "It has not stored what it was sent; perhaps its disk is full."
    assert left.session.behind_them == 1
    net.settle(300)
    two.full = False
    net.settle(1)
    assert agree(one, two)
    assert left.session.trouble is None


def test_the_clock_of_the_other_shows() -> None:
    net, (one, two) = Net(), stores(2)
    left, right = net.link(one, two)
    right.session._heartbeat._clock = lambda: JUDGING + net.now + 86_400_000
    right.session._clock = right.session._heartbeat._clock
    net.settle()
    assert left.session.skew_ms == 86_400_000
    assert right.session.skew_ms == -86_400_000


def test_blobs_are_fetched_from_who_has_them() -> None:
    net, (one, two, three) = Net(), stores(3)
    data = bytes(range(256)) * 4_097
    name = sha256(data)
    three.blobs[name] = data
    two.lacking = {name, sha256(b"nobody has it")}
    net.link(one, two)
    net.link(two, three)
    net.settle(2)
    assert two.blobs == {name: data}
    net.settle(120)
    assert len(two.claims) == 0


def test_a_blob_of_a_new_ask_is_fetched_with_it() -> None:
    net, (one, two) = Net(), stores(2)
    net.link(one, two)
    net.settle()
    data = SALT + b"call"
    one.blobs[sha256(data)] = data
    two.lacking.add(sha256(data))
    one.write()
    net.settle()
    assert net.now == 0
    assert two.blobs == one.blobs


def test_what_another_link_fetches_is_left_to_it_and_taken_over_when_it_ends() -> None:
    net, (one, two, three) = Net(), stores(3)
    for _ in range(3_000):
        one.write(text=b"x" * 200, push=False)
    one.held.moved(one.vector())
    net.link(one, two)
    net.settle()
    slow = net.link(one, three)
    for end in slow:
        end.take()
    for end in slow:
        end.take()
    assert len(three.claims) == 1
    net.links.remove(slow)  # nothing of it moves any more
    net.link(two, three)
    net.settle(3)
    assert three.head((one.id, 0)).seq == 0
    for end in slow:
        end.store.ends.remove(end)
        end.session.closed()
    net.settle(1)
    assert agree(one, two, three)
