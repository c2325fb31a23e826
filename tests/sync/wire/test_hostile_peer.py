"""A peer that does what no askmesh does: each ends with a sentence, or costs next to nothing."""

import msgspec
import pytest

from sync.limits import (
    DEAD_MS,
    OFFENCES_PER_MINUTE,
    PLACES,
    PULL_MAX_MS,
    RUNS_WANTED,
    STALLED_MS,
    WINDOW,
)
from sync.log.entry import sha256
from sync.wire import actions as act
from sync.wire import frames
from sync.wire.session import Code
from tests.sync.log.entries import chain, entry, key
from tests.sync.wire.peers import Peer, entries, have

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
