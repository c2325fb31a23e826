"""Entries, acknowledgements and floods that no askmesh sends: an end, or next to no cost."""

from collections.abc import Callable, Sequence

import msgspec
import pytest

from sync.limits import (
    BLOB_BYTES,
    LEFT_MAX_MS,
    OFFENCES_PER_MINUTE,
    STALLED_MS,
    WINDOW,
)
from sync.log.chain import Head
from sync.log.entry import sha256
from sync.wire import frames
from sync.wire.session import Code
from tests.sync.log.entries import chain, entry, key
from tests.sync.wire.peers import Peer, entries, have

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
