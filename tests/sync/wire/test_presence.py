"""Presence: the newest word counts, relays say how old theirs is, and nothing grows."""

from collections.abc import Sequence

import msgspec
import pytest

from sync.errors import BadFrame
from sync.limits import PRESENCE_BYTES, PRESENCE_MS, PRESENCES
from sync.log.entry import NodeKey
from sync.wire import presence
from sync.wire.presence import (
    SEEN_TOLD,
    Known,
    Presence,
    PresenceBook,
    SeenWord,
    SessionWord,
    say,
)
from sync.wire.signed import Signed
from tests.sync.log.entries import FLEET, key

ME, DESK, LAPTOP, SERVER = (key(number) for number in range(1, 5))
KEYS = {one.node_id: one.public for one in (ME, DESK, LAPTOP, SERVER)}
NOW = 1_800_000_000_000


def word(by: NodeKey = DESK, counter: int = 1, **changes: object) -> Presence:
    said = Presence(
        fleet=FLEET,
        node=by.node_id,
        boot="one",
        started=NOW,
        counter=counter,
        at=NOW,
        version="1",
        machine="desk",
    )
    return msgspec.structs.replace(said, **changes)


def session(number: int, **changes: object) -> SessionWord:
    said = SessionWord(id=f"s-{number}", agent="claude", project="p", started=0, last_heard=number)
    return msgspec.structs.replace(said, **changes)


class Book:
    def __init__(self) -> None:
        self.book = PresenceBook(FLEET, ME.node_id)

    def hear(
        self,
        said: Presence | Signed,
        *,
        by: NodeKey = DESK,
        source: NodeKey | None = None,
        now: int = NOW,
    ) -> Known | None:
        signed = say(by, said) if isinstance(said, Presence) else said
        return self.book.hear(signed, source=(source or by).node_id, key_of=KEYS.get, now=now)

    def counter(self, node: NodeKey = DESK) -> tuple[str, int]:
        known = self.book.get(node.node_id)
        assert known is not None
        return known.presence.boot, known.presence.counter


def test_the_newer_word_of_a_run_counts() -> None:
    book = Book()
    assert book.hear(word(counter=2)) is not None
    assert book.hear(word(counter=1)) is None
    assert book.hear(word(counter=2)) is None
    assert book.hear(word(counter=3), now=NOW + 5) is not None
    assert book.counter() == ("one", 3)
    known = book.book.get(DESK.node_id)
    assert known is not None
    assert known.heard == NOW + 5


def test_a_later_run_counts_and_the_former_never_again() -> None:
    book = Book()
    book.hear(word(counter=9))
    assert book.hear(word(boot="two", started=NOW + 1)) is not None
    assert book.hear(word(counter=10), source=LAPTOP) is None
    assert book.hear(word(counter=10)) is None
    assert book.counter() == ("two", 1)


def test_a_clock_set_back_silences_nobody() -> None:
    book = Book()
    book.hear(word(started=NOW + 86_400_000))
    again = word(boot="two")
    assert book.hear(again, source=LAPTOP) is None, "a relay may be late"
    assert book.hear(again) is not None, "the machine itself is believed"
    far = Book()
    far.hear(word(started=NOW + 86_400_000), source=LAPTOP)
    assert far.hear(again, source=LAPTOP, now=NOW + 3 * PRESENCE_MS) is not None


@pytest.mark.parametrize(
    "said",
    [
        say(DESK, word(LAPTOP)),
        say(key(9), word(key(9))),
        say(DESK, word(fleet=bytes(16))),
        msgspec.structs.replace(say(DESK, word()), signature=bytes(64)),
        Signed(raw=say(DESK, word()).raw + b" ", signature=say(DESK, word()).signature),
        Signed(raw=b"{}", signature=bytes(64)),
        Signed(raw=b"[" * 30_000, signature=bytes(64)),
        Signed(raw=b" " * (PRESENCE_BYTES + 1), signature=bytes(64)),
    ],
    ids=[
        "another's",
        "a stranger's",
        "another fleet",
        "unsigned",
        "changed",
        "empty",
        "deep",
        "long",
    ],
)
def test_what_is_not_what_it_claims_is_refused(said: Signed) -> None:
    book = Book()
    with pytest.raises(BadFrame):
        book.hear(said)
    assert book.book.all() == []


def test_our_own_word_is_nothing_new() -> None:
    assert Book().hear(word(ME), by=ME, source=DESK) is None


def test_a_relayed_word_is_as_old_as_its_relay_says() -> None:
    book = Book()
    ago = SeenWord(node=LAPTOP.node_id, boot="one", counter=4, ago_ms=3_600_000)
    book.hear(word(DESK, seen=[ago]))
    known = book.hear(word(LAPTOP, counter=4), by=LAPTOP, source=DESK)
    assert known is not None
    assert known.heard == NOW - 3_600_000
    newer = book.hear(word(LAPTOP, counter=5), by=LAPTOP, source=DESK)
    assert newer is not None
    assert newer.heard == NOW, "newer than what the relay last spoke of: it comes fresh"


def test_who_saw_a_machine_last() -> None:
    book = Book()
    assert book.book.sighting(LAPTOP.node_id) is None
    book.hear(word(LAPTOP), by=LAPTOP, now=NOW - 9_000)
    sighting = book.book.sighting(LAPTOP.node_id)
    assert sighting is not None
    assert (sighting.at, sighting.by) == (NOW - 9_000, None)
    ago = SeenWord(node=LAPTOP.node_id, boot="one", counter=1, ago_ms=2_000)
    book.hear(word(DESK, seen=[ago]))
    sighting = book.book.sighting(LAPTOP.node_id)
    assert sighting is not None
    assert (sighting.at, sighting.by) == (NOW - 2_000, DESK.node_id)


def test_all_sightings_are_found_at_once_and_anew_with_each_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A page of two hundred machines asks for as many, at each change."""
    looks = 0
    real = presence._sightings

    def counted(known: Sequence[Known]) -> dict[bytes, presence.Sighting]:
        nonlocal looks
        looks += 1
        return real(known)

    monkeypatch.setattr(presence, "_sightings", counted)
    book = Book()
    ago = SeenWord(node=SERVER.node_id, boot="one", counter=1, ago_ms=5)
    for number, one in enumerate((DESK, LAPTOP), 1):
        book.hear(word(one, seen=[ago]), by=one)
        for _ in range(3):
            assert book.book.sighting(SERVER.node_id) == presence.Sighting(
                at=NOW - 5, by=DESK.node_id
            )
            assert book.book.sighting(ME.node_id) is None
        assert looks == number
    book.book.keep_only([LAPTOP.node_id])
    found = book.book.sighting(SERVER.node_id)
    assert found is not None
    assert found.by == LAPTOP.node_id


def test_it_is_relayed_to_those_who_do_not_hear_it_from_the_machine_itself() -> None:
    book = Book()
    known = book.hear(word(DESK, links=[LAPTOP.node_id]))
    assert known is not None
    linked = [DESK.node_id, LAPTOP.node_id, SERVER.node_id]
    assert book.book.relayed_to(known, linked) == [SERVER.node_id]
    far = book.hear(word(SERVER, links=[]), by=SERVER, source=DESK)
    assert far is not None
    assert book.book.relayed_to(far, linked) == [LAPTOP.node_id]
    assert book.book.links_of(DESK.node_id) == [LAPTOP.node_id]
    assert book.book.links_of(LAPTOP.node_id) == ()
    assert book.book.for_new_link(DESK.node_id) == [far.signed]


def test_too_much_loses_the_oldest_sessions_first() -> None:
    many = [session(number, status="x" * 100) for number in range(500)]
    many.append(session(1_000, ended=True))
    signed = say(DESK, word(sessions=many))
    assert len(signed.raw) <= PRESENCE_BYTES
    kept = msgspec.json.decode(signed.raw, type=Presence).sessions
    assert len(kept) > 50
    assert kept[0].id == "s-499"
    assert all(not one.ended for one in kept)


def test_what_others_are_told_of_is_bounded_and_begins_with_the_longest_away() -> None:
    book = Book()
    keys = {key(number).node_id: key(number).public for number in range(10, 10 + SEEN_TOLD + 5)}
    for number in range(10, 10 + SEEN_TOLD + 5):
        book.book.hear(
            say(key(number), word(key(number))),
            source=key(number).node_id,
            key_of=keys.get,
            now=NOW + number,
        )
    seen = book.book.seen(NOW + 1_000)
    assert len(seen) == SEEN_TOLD
    assert seen[0] == SeenWord(node=key(10).node_id, boot="one", counter=1, ago_ms=990)
    say(DESK, word(seen=seen))


def test_machines_that_left_are_forgotten_and_the_book_is_bounded() -> None:
    book = Book()
    book.hear(word())
    book.book.keep_only([LAPTOP.node_id])
    assert book.book.all() == []
    for number in range(PRESENCES):
        book.book._known[b"%d" % number] = None  # type: ignore[assignment]
    with pytest.raises(BadFrame):
        book.hear(word())
