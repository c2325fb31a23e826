"""Rules of a session one by one, against a peer whose every frame a test decides."""

from sync.limits import RUNS_WANTED, WINDOW
from sync.log.entry import sha256
from sync.log.kinds import EntryType
from sync.wire import frames
from tests.sync.log.entries import chain, entry, head_of, key
from tests.sync.wire.peers import KEYS, Peer, entries, have
from tests.sync.wire.stores import Net, Store, agree

MINE = key(1).node_id


def with_many(count: int = 100, *, size: int = 60_000) -> Peer:
    """A peer of a store with a long log of its own, that was told nothing yet."""
    peer = Peer()
    for _ in range(count):
        peer.store.write(text=b"x" * size, push=False)
    peer.store.held.moved(peer.store.vector())
    peer.said()
    return peer


def want(first: int, last: int) -> frames.Want:
    return frames.Want(runs=[frames.RunRow(MINE, 0, first, last)])


def ack(peer: Peer, seq: int) -> frames.Ack:
    return frames.Ack(heads=[frames.HeadRow(MINE, 0, seq, peer.store.logs[MINE, 0][seq - 1].hash)])


def numbers(peer: Peer) -> list[int]:
    """The numbers of the entries it was sent since the last look."""
    found = [frame.entries for frame in peer.said() if isinstance(frame, frames.Entries)]
    return [one.header.seq for frame in found for one in frame]


def test_what_is_being_read_has_its_credit() -> None:
    peer = Peer()
    for _ in range(3):
        peer.store.write(EntryType.NOTE, push=False)
    peer.store.held.moved(peer.store.vector())
    peer.said()
    peer.send(frames.Want(runs=[frames.RunRow(MINE, 1, 1, 3)]), work=False)
    for _ in range(2 * WINDOW):
        peer.store.write()
    while peer.end.jobs:
        peer.end.work()
    assert len(peer.of(frames.Entries)) == WINDOW


def test_what_was_written_meanwhile_follows_a_run_without_being_asked_for() -> None:
    peer = with_many(3)
    peer.send(want(1, 3), work=False)
    peer.store.write(push=False)
    peer.store.held.moved(peer.store.vector())
    while peer.end.jobs:
        peer.end.work()
    assert numbers(peer) == [1, 2, 3, 4]


def test_a_log_that_is_refused_is_not_sent_on() -> None:
    peer = with_many()
    peer.send(want(1, 100))
    sent = len(peer.of(frames.Entries))
    assert 0 < sent < WINDOW
    for _ in range(sent):
        peer.send(frames.Ack(trouble="Nobody has said yet who wrote this."))
    assert numbers(peer) == []
    peer.send(want(1, 1))
    assert numbers(peer)[:1] == [1], "until it is asked for again"


def test_what_it_got_by_another_link_is_skipped() -> None:
    peer = with_many()
    peer.send(want(1, 100))
    peer.said()
    peer.send(ack(peer, 90))
    assert numbers(peer)[:1] == [91]


def test_decisions_are_asked_for_first_and_our_own_of_these() -> None:
    peer = Peer()
    chatter = [(key(number).node_id, 1, 5) for number in range(10, 40)]
    decisions = [(key(number).node_id, 0, 5) for number in range(10, 30)]
    peer.send(have(*chatter, *decisions, (MINE, 0, 5)))
    asked = [frame for frame in peer.said() if isinstance(frame, frames.Want)]
    assert len(asked) == 1
    assert len(asked[0].runs) == RUNS_WANTED
    assert {run.log for run in asked[0].runs} == {0}
    assert asked[0].runs[0].author == MINE


def test_a_store_that_holds_more_than_was_told_is_looked_at() -> None:
    peer = Peer()
    made = chain(2, by=key(2))
    peer.store.logs[key(2).node_id, 0] = made[:1]
    peer.send(entries(made[0]))
    assert peer.store.held.head((key(2).node_id, 0)) == head_of(made[0])
    assert peer.end.session.trouble is None
    peer.send(entries(made[1]))
    assert peer.store.held.head((key(2).node_id, 0)) == head_of(made[1])


def test_a_store_that_was_slow_goes_on_where_it_was() -> None:
    net = Net()
    one, two = Store(1, known=KEYS), Store(2, known=KEYS)
    for _ in range(100):
        one.write(text=b"x" * 60_000, push=False)
    one.held.moved(one.vector())
    _, right = net.link(one, two)
    while not two.logs[one.id, 0]:
        net.step()
    two.full = True
    net.settle(300)
    two.full = False
    while right.jobs:
        right.work()
    assert len(two.logs[one.id, 0]) < 100
    right.do(right.session.tick(net.now))
    assert not two.claims.take((one.id, 0), "another link"), "it is still fetched here"
    net.settle()
    assert agree(one, two)
    assert two.vain == 0


def test_what_stood_behind_a_bad_entry_in_a_frame_is_asked_for_at_once() -> None:
    peer = Peer()
    good = entry(by=key(2))
    peer.send(entries(entry(by=key(50)), good))
    wants = [frame for frame in peer.said() if isinstance(frame, frames.Want)]
    assert [run.author for frame in wants for run in frame.runs] == [key(2).node_id]
    peer.send(entries(good))
    assert peer.store.head((key(2).node_id, 0)) == head_of(good)


def test_a_whole_vector_replaces_what_was_said_before() -> None:
    peer = Peer()
    peer.send(have((key(3).node_id, 0, 50)))
    assert peer.end.session.behind_us == 50
    peer.send(have((key(3).node_id, 1, 7), whole=False))
    assert peer.end.session.behind_us == 57
    peer.send(have((key(3).node_id, 1, 7)))
    assert peer.end.session.behind_us == 7


def test_a_link_that_ends_leaves_its_blobs_to_the_others() -> None:
    peer = Peer(greet=False)
    name = sha256(b"blob")
    peer.store.lacking.add(name)
    peer.send(peer.hello())
    assert not peer.store.claims.take(name, "another link")
    peer.end.session.closed()
    assert peer.store.claims.take(name, "another link")
