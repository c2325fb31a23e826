"""Evidence of a fork: what two signed headers prove, and that nothing else passes for it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.errors import BadEntry
from sync.log.entry import Entry
from sync.log.fork import EVIDENCE_BYTES, Evidence, decode, evidence, side
from sync.log.kinds import EntryType
from tests.sync.log.entries import chain, entry, head_of, key

RUN = chain(3)
TWICE = entry(head_of(RUN[0]), hlc=1)
ON = entry(head_of(TWICE), hlc=2)


def proof(first: Entry, second: Entry) -> Evidence:
    return evidence(side(first), side(second))


@pytest.mark.parametrize(("first", "second"), [(RUN[1], TWICE), (RUN[1], ON)])
def test_two_histories_are_proved_from_where_they_part(first: Entry, second: Entry) -> None:
    made = proof(first, second)
    assert (made.place, made.seq) == ((key().node_id, 0), 2)
    assert decode(made.pack()) == made
    made.verify(key().public)


OTHERS = {
    "the same twice": (RUN[1], RUN[1]),
    "one after the other": (RUN[1], RUN[2]),
    "a gap": (RUN[0], ON),
    "the later one first": (ON, RUN[1]),
    "of two authors": (RUN[1], chain(2, by=key(2))[1]),
    "of two logs": (RUN[0], entry(kind=EntryType.NOTE)),
    "of two fleets": (RUN[0], entry(fleet=bytes(16), hlc=1)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_one_history_can_hold_proves_nothing(name: str) -> None:
    with pytest.raises(BadEntry):
        proof(*OTHERS[name])


def test_both_sides_must_be_signed_by_the_author() -> None:
    made = proof(RUN[1], TWICE)
    with pytest.raises(BadEntry):
        made.verify(key(2).public)
    for name in ("first", "second"):
        spoiled = msgspec.structs.replace(getattr(made, name), signature=bytes(64))
        with pytest.raises(BadEntry):
            msgspec.structs.replace(made, **{name: spoiled}).verify(key().public)


@given(st.integers(0, EVIDENCE_BYTES * 8 - 1))
def test_no_bit_can_be_changed(bit: int) -> None:
    raw = bytearray(proof(RUN[1], TWICE).pack())
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(BadEntry):
        decode(bytes(raw)).verify(key().public)


@given(st.binary(max_size=2 * EVIDENCE_BYTES))
def test_whatever_comes_is_refused_in_words(raw: bytes) -> None:
    with pytest.raises(BadEntry):
        decode(raw)
