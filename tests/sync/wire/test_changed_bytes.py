"""Presence and letters as a relay may spoil them: nothing harms, no changed bit is taken."""

import contextlib
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sync.errors import BadFrame
from sync.wire.letter import Letter, Postbox, Way, write
from sync.wire.presence import AddressWord, Known, Presence, PresenceBook, SeenWord, say
from sync.wire.signed import Signed
from tests.counts import counted
from tests.sync.log.entries import FLEET, key
from tests.sync.wire.test_letter import DESK, KEYS, LAPTOP, ME, NOW, letter
from tests.sync.wire.test_presence import session, word

WORD = say(
    DESK,
    word(
        sessions=[session(1, status="builds", branch="main")],
        links=[LAPTOP.node_id],
        addresses=[AddressWord(host="192.0.2.7", port=7717)],
        seen=[SeenWord(node=LAPTOP.node_id, boot="one", counter=3, ago_ms=5)],
    ),
)
LETTER = write(DESK, letter())


def hear(signed: Signed) -> Known | None:
    book = PresenceBook(FLEET, ME.node_id)
    return book.hear(signed, source=LAPTOP.node_id, key_of=KEYS.get, now=NOW)


def opened(signed: Signed) -> tuple[Letter, Way]:
    return Postbox(FLEET, ME.node_id).open(
        signed, source=DESK.node_id, linked=[LAPTOP.node_id], key_of=KEYS.get, now=NOW
    )


TAKES = pytest.mark.parametrize(
    ("take", "true"), [(hear, WORD), (opened, LETTER)], ids=["presence", "letter"]
)
Take = Callable[[Signed], object]


@TAKES
def test_what_was_signed_is_taken(take: Take, true: Signed) -> None:
    assert take(true) is not None


@TAKES
def test_no_flipped_bit_is_taken(take: Take, true: Signed) -> None:
    for part in ("raw", "signature"):
        data = getattr(true, part)
        for bit in range(len(data) * 8):
            spoilt = bytearray(data)
            spoilt[bit // 8] ^= 1 << bit % 8
            try:
                found = take(msgspec.structs.replace(true, **{part: bytes(spoilt)}))
            except BadFrame:
                continue
            # It may say that it is this machine's own word: that is passed over.
            assert found is None, (part, bit)


@TAKES
@settings(max_examples=counted(200))
@given(data=st.data(), part=st.sampled_from(["raw", "signature"]))
def test_no_other_bytes_are_taken(take: Take, true: Signed, data: st.DataObject, part: str) -> None:
    was = getattr(true, part)
    at = data.draw(st.integers(0, len(was)))
    until = data.draw(st.integers(at, len(was)))
    spoilt = was[:at] + data.draw(st.binary(max_size=12)) + was[until:]
    if spoilt == was:
        return
    with contextlib.suppress(BadFrame):
        assert take(msgspec.structs.replace(true, **{part: spoilt})) is None


@TAKES
@settings(max_examples=counted(100))
@given(raw=st.binary(max_size=300), signature=st.binary(max_size=80))
def test_arbitrary_bytes_do_no_harm(take: Take, true: Signed, raw: bytes, signature: bytes) -> None:
    for spoilt in (Signed(raw=raw, signature=signature), Signed(raw=true.raw, signature=signature)):
        with contextlib.suppress(BadFrame):
            assert take(spoilt) is None


@settings(max_examples=counted(50))
@given(
    counters=st.lists(st.tuples(st.sampled_from([2, 3, 4]), st.integers(1, 9)), max_size=12),
    chance=st.randoms(use_true_random=False),
)
def test_words_of_one_run_come_to_the_same_in_any_order(
    counters: list[tuple[int, int]], chance: object
) -> None:
    """Commutative, associative, idempotent: the highest number of each machine stands."""

    def known(order: list[tuple[int, int]]) -> dict[bytes, int]:
        book = PresenceBook(FLEET, ME.node_id)
        for number, counter in order:
            by = key(number)
            book.hear(say(by, word(by, counter)), source=LAPTOP.node_id, key_of=_key_of, now=NOW)
        return {one.presence.node: one.presence.counter for one in book.all()}

    shuffled = [*counters, *counters]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    highest: dict[bytes, int] = {}
    for number, counter in counters:
        node = key(number).node_id
        highest[node] = max(counter, highest.get(node, 0))
    assert known(counters) == known(shuffled) == highest


def _key_of(node: bytes) -> bytes | None:
    return next((key(n).public for n in (2, 3, 4) if key(n).node_id == node), None)


def test_a_word_names_its_fields_for_good() -> None:
    """What a spoilt copy is compared with covers every field."""
    said = msgspec.json.decode(WORD.raw)
    optional = {"sessions", "links", "addresses", "seen"}
    assert optional <= set(said)
    assert {field.encode_name for field in msgspec.structs.fields(Presence)} == set(said)
