"""A peer that does what no askmesh does: each ends with a sentence, or costs next to nothing."""

from collections.abc import Callable, Sequence

import msgspec
import pytest

from sync.limits import (
    BLOB_BYTES,
    DEAD_MS,
    LEFT_MAX_MS,
    OFFENCES_PER_MINUTE,
    PLACES,
    PULL_MAX_MS,
    RUNS_WANTED,
    STALLED_MS,
    WINDOW,
)
from sync.log.chain import Head
from sync.log.entry import Entry, sha256
from sync.log.kinds import EntryType
from sync.wire import actions as act
from sync.wire import frames
from sync.wire.session import Code
from tests.sync.log.entries import FLEET, chain, entry, key
from tests.sync.wire.stores import JUDGING, End, Net, Store

KEYS = [key(1), key(2), key(3)]


class Peer:
    """One store with a link to somebody who sends what a test wants."""

    def __init__(self, *, greet: bool = True) -> None:
        self.net = Net()
        self.store = Store(1, known=KEYS)
        self.key = key(2)
        self.end = End(self.store, self.key.node_id, self.net)
        self.store.ends.append(self.end)
        self.end.do(self.end.session.begin(0))
        if greet:
            self.send(self.hello())

    def hello(self, **changes: object) -> frames.Hello:
        made = frames.Hello(
            least=1,
            most=1,
            fleet=FLEET,
            node=self.key.node_id,
            boot="b",
            version="9",
            machine="evil",
            now=JUDGING,
            digest=bytes(32),
        )
        return msgspec.structs.replace(made, **changes)

    def send(self, *sent: frames.Frame | bytes, work: bool = True) -> None:
        for frame in sent:
            raw = frame if isinstance(frame, bytes) else frames.encode(frame)
            self.end.do(self.end.session.received(raw, self.net.now))
            while work and self.end.jobs:
                self.end.work()

    def tick(self, seconds: int = 1, *, alive: bool = True) -> None:
        for _ in range(seconds):
            self.net.now += 1_000
            if alive:
                self.send(frames.Pong(number=0, now=0))
            self.end.do(self.end.session.tick(self.net.now))
            while self.end.jobs:
                self.end.work()

    def said(self) -> list[frames.Frame]:
        """What it was sent since the last look."""
        found = [frames.decode_frame(frame) for frame in self.end.out]
        self.end.out.clear()
        return [frame for frame in found if frame is not None]

    def of(self, kind: type[frames.Frame]) -> list[frames.Frame]:
        return [frame for frame in self.said() if isinstance(frame, kind)]

    def is_closed(self) -> bool:
        return self.end.closed is not None

    @property
    def closed(self) -> tuple[int, str] | None:
        closed = self.end.closed
        return None if closed is None else (closed.code, closed.reason)


def have(*heads: tuple[bytes, int, int], whole: bool = True) -> frames.Have:
    rows = [frames.HeadRow(author, log, seq, sha256(b"%d" % seq)) for author, log, seq in heads]
    return frames.Have(digest=bytes(32), heads=rows, whole=whole)


def entries(*made: Entry) -> frames.Entries:
    return frames.Entries(entries=made)


# --- who it says it is ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"least": 2, "most": 3}, Code.OTHER_PROTOCOL, "protocol 2 to 3 (askmesh 9)"),
        ({"node": key(3).node_id}, Code.OTHER_NODE, "another machine"),
        ({"fleet": bytes(16)}, Code.OTHER_FLEET, "another fleet"),
    ],
)
def test_one_that_does_not_fit_is_told_why(
    changes: dict[str, object], code: int, words: str
) -> None:
    peer = Peer(greet=False)
    peer.send(peer.hello(**changes))
    assert peer.closed is not None
    assert peer.closed[0] == code
    assert words in peer.closed[1]
    assert not peer.end.opened


def test_a_wider_range_of_protocols_and_a_newer_minor_fit() -> None:
    peer = Peer(greet=False)
    peer.send(peer.hello(least=0, most=7, minor=12))
    assert peer.end.opened


def test_unknown_frames_and_fields_are_passed_over() -> None:
    peer = Peer()
    peer.send(b"\x63anything", b"\xff", bytes([11]) + b'{"number":7,"colour":"red"}')
    assert peer.closed is None
    assert [frame.number for frame in peer.of(frames.Pong) if isinstance(frame, frames.Pong)] == [7]


@pytest.mark.parametrize(
    "frame", [frames.Ping(number=1), have(), entries(entry()), frames.Goodbye()]
)
def test_hello_comes_first(frame: frames.Frame) -> None:
    peer = Peer(greet=False)
    peer.send(frame)
    assert peer.closed == (Code.MISCONDUCT, "It does not say who it is, once and first.")


def test_hello_comes_once() -> None:
    peer = Peer()
    peer.send(peer.hello())
    assert peer.closed == (Code.MISCONDUCT, "It does not say who it is, once and first.")


@pytest.mark.parametrize("greet", [True, False])
def test_a_farewell_may_come_at_any_time(greet: bool) -> None:
    peer = Peer(greet=greet)
    proof = tuple(chain(2))
    peer.send(frames.Farewell(entries=proof))
    assert peer.end.heard == [act.Farewell(proof=proof)]


@pytest.mark.parametrize("greet", [True, False])
def test_silence_ends_the_link(greet: bool) -> None:
    peer = Peer(greet=greet)
    peer.tick(DEAD_MS // 1_000 - 1, alive=False)
    assert not peer.is_closed()
    peer.tick(alive=False)
    assert peer.closed == (Code.SILENT, "It has fallen silent.")
    assert peer.end.session.tick(peer.net.now + 60_000) == []


def test_garbage_ends_the_link_and_what_follows_is_not_looked_at() -> None:
    peer = Peer()
    peer.send(b"\x02{}")
    assert peer.closed is not None
    assert peer.closed[0] == Code.UNREADABLE
    peer.said()
    peer.send(frames.Ping(number=1))
    assert peer.said() == []
    assert peer.end.session.push([entry()], 0) == []


# --- claims -----------------------------------------------------------------------------------


def made_up(count: int, start: int = 0) -> frames.Have:
    return have(*((sha256(b"%d" % n), 0, 2**63 - 1) for n in range(start, start + count)))


def test_a_huge_vector_costs_little_and_is_soon_not_waited_for() -> None:
    peer = Peer()
    peer.send(made_up(PLACES))
    wants = [frame for frame in peer.said() if isinstance(frame, frames.Want)]
    assert [len(want.runs) for want in wants] == [RUNS_WANTED]
    assert len(peer.store.claims) == RUNS_WANTED
    peer.tick(STALLED_MS // 1_000)
    assert peer.closed is None
    peer.tick(600)
    # It is asked, a few at a time; nothing is kept of it but its own claims.
    assert len(peer.store.claims) <= RUNS_WANTED
    assert len(peer.end.session._theirs) == PLACES
    assert peer.end.session.trouble is None or "does not send" in peer.end.session.trouble


def test_a_vector_without_end_ends_the_link() -> None:
    peer = Peer()
    peer.send(made_up(PLACES))
    peer.send(msgspec.structs.replace(made_up(1, start=PLACES), whole=False))
    assert peer.closed == (Code.MISCONDUCT, f"It names more than {PLACES} logs.")


def test_what_is_claimed_and_not_sent_is_left_to_the_others() -> None:
    peer = Peer()
    place = (key(3).node_id, 0)
    peer.send(have((*place, 50)))
    assert not peer.store.claims.take(place, "another link")
    peer.tick(STALLED_MS // 1_000 + 1)
    assert peer.store.claims.take(place, "another link")


def test_one_that_sends_something_else_meanwhile_is_not_waited_for_either() -> None:
    peer = Peer()
    place = (key(3).node_id, 0)
    peer.send(have((*place, 50)))
    for one in chain(PULL_MAX_MS // 10_000 + 1, by=key(2)):
        peer.send(entries(one))
        peer.tick(10)
    assert peer.store.head((key(2).node_id, 0)).seq > 10
    assert peer.store.claims.take(place, "another link")


def test_asking_for_what_it_has_ends_the_link() -> None:
    peer = Peer()
    for _ in range(5):
        peer.store.write()
    place = (peer.store.id, 0)
    peer.send(have((*place, 5)))
    want = frames.Want(runs=[frames.RunRow(*place, 1, 5)])
    sent = 0
    for _ in range(OFFENCES_PER_MINUTE + 1):
        peer.send(want)
        for _frame in peer.of(frames.Entries):
            sent += 1
            peer.send(frames.Ack(heads=[frames.HeadRow(*place, 5, bytes(32))]))
    assert peer.closed == (
        Code.MISCONDUCT,
        "It asks again and again for entries that it has.",
    )
    assert sent <= OFFENCES_PER_MINUTE + WINDOW


def test_asking_without_acknowledging_gets_a_window_and_no_more() -> None:
    peer = Peer()
    for _ in range(100):
        peer.store.write(text=b"x" * 60_000, push=False)
    peer.store.held.moved(peer.store.vector())
    place = (peer.store.id, 0)
    for _ in range(50):
        peer.send(frames.Want(runs=[frames.RunRow(*place, 1, 100)]))
    assert len(peer.of(frames.Entries)) < WINDOW
    assert len(peer.end.session._serving._streams) == 1
    peer.tick(60)
    assert peer.end.session.trouble is not None
    assert peer.closed is None


def test_runs_that_are_not_there_are_passed_over() -> None:
    peer = Peer()
    peer.store.write()
    mine, other = peer.store.id, key(3).node_id
    peer.said()
    runs = [(other, 0, 1, 9), (mine, 0, 2, 9), (mine, 1, 1, 1), (mine, 0, 5, 1)]
    peer.send(frames.Want(runs=[frames.RunRow(*run) for run in runs]))
    assert peer.said() == []
    assert peer.closed is None


def test_asking_for_all_we_hold_again_and_again_ends_the_link() -> None:
    peer = Peer()
    for _ in range(OFFENCES_PER_MINUTE + 1):
        peer.send(frames.Have(digest=bytes(32), ask=True))
    assert peer.closed == (
        Code.MISCONDUCT,
        "It asks again and again what this machine holds.",
    )


# --- entries ----------------------------------------------------------------------------------


def test_more_entries_than_the_window_end_the_link() -> None:
    peer = Peer()
    for one in chain(WINDOW + 1, by=key(2)):
        peer.send(entries(one), work=False)
    assert peer.closed == (
        Code.MISCONDUCT,
        "It sends entries faster than they are acknowledged.",
    )


def gap(number: int) -> list[frames.Frame]:
    return [entries(entry(Head(seq=9, hash=sha256(b"%d" % number)), by=key(2)))]


def again(number: int) -> list[frames.Frame]:
    return [entries(chain(1, by=key(2))[0])]


def empty(number: int) -> list[frames.Frame]:
    return [entries()]


def unsigned(number: int) -> list[frames.Frame]:
    bad = entry(facts=b'{"n":%d}' % number, by=key(3))
    return [entries(msgspec.structs.replace(bad, signature=bytes(64)))]


def stranger(number: int) -> list[frames.Frame]:
    return [entries(entry(by=key(1_000 + number)))]


def piece(number: int) -> list[frames.Frame]:
    return [frames.Blob(name=bytes(32), offset=0, total=1, chunk=b"x")]


@pytest.mark.parametrize("flood", [gap, again, empty, stranger, piece])
def test_what_nobody_asked_for_ends_the_link(
    flood: Callable[[int], Sequence[frames.Frame]],
) -> None:
    peer = Peer()
    for number in range(2 * OFFENCES_PER_MINUTE):
        peer.send(*flood(number))
        if peer.closed:
            break
    assert peer.closed is not None
    assert peer.closed[0] == Code.MISCONDUCT
    assert number >= OFFENCES_PER_MINUTE - 1
    assert peer.store.given <= number + 2


def test_entries_that_are_not_signed_are_soon_not_looked_at() -> None:
    peer = Peer()
    for number in range(2 * OFFENCES_PER_MINUTE):
        peer.send(*unsigned(number))
    assert peer.store.given <= 2
    peer.tick(600)
    assert peer.store.given <= 2


def test_now_and_then_the_same_does_no_harm() -> None:
    peer = Peer()
    for number in range(600):
        peer.send(*gap(number))
        peer.tick()
    assert peer.closed is None


def test_other_entries_in_the_place_of_ours_are_bounded() -> None:
    peer = Peer()
    peer.store.write()
    twin = key(1)
    for number in range(2_000):
        peer.send(entries(entry(by=twin, text=b"s" * 16 + b"%d" % number)))
        peer.tick()
    assert peer.store.vain <= OFFENCES_PER_MINUTE
    assert len(peer.end.session._pulling._doubted) <= OFFENCES_PER_MINUTE


def test_an_acknowledgement_of_nothing_ends_the_link() -> None:
    peer = Peer()
    peer.send(frames.Ack())
    assert peer.closed == (Code.MISCONDUCT, "It acknowledges what it was not sent.")


def test_an_acknowledgement_that_stores_nothing_stops_the_sending() -> None:
    peer = Peer()
    peer.store.write()
    place = (peer.store.id, 0)
    peer.send(frames.Want(runs=[frames.RunRow(*place, 1, 1)]))
    for _ in range(50):
        for _frame in peer.of(frames.Entries):
            peer.send(frames.Ack())
        peer.store.write()
        peer.tick()
    assert peer.end.session.behind_them == 51
    assert peer.end.session._serving._streams == {}


# --- floods -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        frames.Ping(number=1),
        frames.Presence(signature=bytes(64), raw=b"{}"),
        frames.Letter(signature=bytes(64), raw=b"{}"),
        frames.BlobWant(name=bytes(32)),
        have(whole=False),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_a_flood_ends_the_link(frame: frames.Frame) -> None:
    peer = Peer()
    for _ in range(10_000):
        peer.send(frame)
        peer.end.out.clear()
        if peer.closed:
            break
    assert peer.closed == (Code.MISCONDUCT, "It floods this link with messages.")


def test_the_pieces_of_blobs_it_may_ask_for_are_bounded() -> None:
    peer = Peer()
    data = bytes(BLOB_BYTES)
    peer.store.blobs[sha256(data)] = data
    for _ in range(9):
        peer.send(frames.BlobWant(name=sha256(data)), work=False)
    assert peer.closed == (
        Code.MISCONDUCT,
        "It asks for more pieces of blobs than it may at once.",
    )


def test_only_one_blob_is_held_for_a_peer_and_not_for_long() -> None:
    peer = Peer()
    for number in range(3):
        data = bytes([number]) * 100
        peer.store.blobs[sha256(data)] = data
        peer.send(frames.BlobWant(name=sha256(data)))
    assert len(peer.of(frames.Blob)) == 3
    peer.tick(STALLED_MS // 1_000)
    assert peer.end.session._giving._blob is None


def test_a_piece_beyond_the_end_is_not_there() -> None:
    peer = Peer()
    peer.store.blobs[sha256(b"abc")] = b"abc"
    peer.send(frames.BlobWant(name=sha256(b"abc"), offset=3))
    assert peer.of(frames.BlobNone) == [frames.BlobNone(name=sha256(b"abc"))]


def wanting(name: bytes) -> Peer:
    peer = Peer(greet=False)
    peer.store.lacking.add(name)
    peer.send(peer.hello())
    assert peer.of(frames.BlobWant) == [frames.BlobWant(name=name)]
    return peer


def test_a_spoilt_blob_is_not_kept_and_the_next_link_is_asked() -> None:
    name = sha256(b"right")
    peer = wanting(name)
    peer.send(frames.Blob(name=name, offset=0, total=5, chunk=b"wrong"))
    assert peer.store.blobs == {}
    assert peer.store.claims.take(name, "another link")
    peer.store.claims.release(name, "another link")
    assert peer.of(frames.BlobWant) == [], "this one is not asked again at once"
    peer.tick(LEFT_MAX_MS // 1_000 + 46)
    assert peer.of(frames.BlobWant) != []


def test_a_blob_that_changes_its_size_is_given_up() -> None:
    name = sha256(b"right")
    peer = wanting(name)
    peer.send(frames.Blob(name=name, offset=0, total=5, chunk=b"ri"))
    peer.send(frames.Blob(name=name, offset=2, total=6, chunk=b"ght"))
    assert peer.store.blobs == {}
    assert len(peer.store.claims) == 0


def test_a_blob_that_stops_coming_is_given_up() -> None:
    name = sha256(b"right")
    peer = wanting(name)
    peer.send(frames.Blob(name=name, offset=0, total=5, chunk=b"ri"))
    peer.tick(STALLED_MS // 1_000)
    assert len(peer.store.claims) == 0


# --- a vote in a flood of chatter ---------------------------------------------------------------


def test_a_flood_of_chatter_does_not_delay_a_vote() -> None:
    net = Net()
    one, two = Store(1, known=KEYS), Store(2, known=KEYS)
    for _ in range(3_000):
        one.write(EntryType.NOTE, text=b"x" * 2_000, push=False)
    one.held.moved(one.vector())
    left, right = net.link(one, two)
    while len(two.logs[one.id, 1]) < 300:
        net.step()
    vote = one.write(EntryType.VOTE)
    last = frames.decode_frame(left.out[-1])
    assert isinstance(last, frames.Entries)
    assert last.entries == (vote,), "it goes out at once"
    chatter = len(two.logs[one.id, 1])
    before = sum(len(frame) for frame in left.out)
    assert before < 3 * 256 * 1024
    while not two.logs[one.id, 0]:
        net.step()
    assert len(two.logs[one.id, 1]) - chatter < 400, "not more than what was under way"
    assert right.closed is None
    net.settle()
    assert two.vector() == one.vector()


def test_decisions_are_asked_for_and_served_before_chatter() -> None:
    net = Net()
    one, two = Store(1, known=KEYS), Store(2, known=KEYS)
    for _ in range(1_000):
        one.write(EntryType.NOTE, text=b"x" * 1_000, push=False)
    for _ in range(1_000):
        one.write(text=b"x" * 1_000, push=False)
    one.held.moved(one.vector())
    net.link(one, two)
    while len(two.logs[one.id, 0]) < 1_000:
        net.step()
    assert len(two.logs[one.id, 1]) < 300


def test_a_flood_of_one_author_does_not_hold_up_the_decisions_of_another() -> None:
    net = Net()
    one, two, three = (Store(number, known=KEYS) for number in (1, 2, 3))
    for _ in range(3_000):
        one.write(text=b"x" * 1_000, push=False)
    three.write()
    one.keep(three.logs[three.id, 0], three.id)
    one.held.moved(one.vector())
    net.link(one, two)
    while not two.logs[three.id, 0]:
        net.step()
    assert len(two.logs[one.id, 0]) < 1_500
