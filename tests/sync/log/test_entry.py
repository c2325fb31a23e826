"""One entry's bytes: round trips, and no changed bit gets through."""

import contextlib
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from sync.errors import BadEntry, TooLarge
from sync.limits import FACTS_BYTES, SALT_BYTES, TEXT_BYTES
from sync.log.entry import (
    GENESIS_PREV,
    HEADER_BYTES,
    PROTO,
    SIGNATURE_BYTES,
    SIGNED_PREFIX,
    Entry,
    decode,
    seal,
    sha256,
    unpack,
    verify,
    verify_header,
)
from sync.log.kinds import EntryType, log_of
from tests.sync.log.entries import FLEET, SALT, chain, entry, head_of, key

SECOND = chain(2)[1]
"""An entry in the middle of a log: every field of its header says something."""
SEGMENTS = ("raw", "signature", "facts", "text")
OUR_TYPES = st.sampled_from([int(kind) for kind in EntryType])


def accepted(raw: bytes, signature: bytes, facts: bytes, text: bytes | None) -> Entry:
    """Decode and verify, as every receiver does. Raises `BadEntry`."""
    found = decode(raw, signature, facts, text)
    verify(found, key().public)
    return found


def flip(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_the_header_is_the_documented_one() -> None:
    """Built a second time by hand, field by field, from docs/protocol.md."""
    facts, text = b'{"number":1}', SALT + b"{}"
    made = seal(
        key(),
        fleet=FLEET,
        seq=1,
        prev=GENESIS_PREV,
        hlc=0x0123456789ABCDEF,
        entry_type=EntryType.NOTE,
        facts=facts,
        text=text,
    )
    by_hand = b"".join(
        (
            b"\x01",
            FLEET,
            sha256(key().public),
            b"\x01",
            struct.pack(">Q", 1),
            bytes(32),
            bytes.fromhex("0123456789abcdef"),
            b"\x40",
            struct.pack(">I", len(facts)),
            sha256(facts),
            struct.pack(">I", len(text)),
            sha256(text),
        )
    )
    assert made.raw == by_hand
    assert (len(by_hand), HEADER_BYTES, len(made.signature)) == (171, 171, SIGNATURE_BYTES)
    assert made.signature == key().sign(b"", b"askmesh/entry/v1\0" + by_hand)
    assert made.hash == sha256(by_hand + made.signature)


@given(
    kind=st.integers(0, 255),
    seq=st.integers(1, 2**63 - 1),
    hlc=st.integers(0, 2**63 - 1),
    facts=st.binary(max_size=64),
    words=st.binary(max_size=64),
)
def test_round_trip(kind: int, seq: int, hlc: int, facts: bytes, words: bytes) -> None:
    prev = GENESIS_PREV if seq == 1 else b"p" * 32
    made = seal(
        key(),
        fleet=FLEET,
        seq=seq,
        prev=prev,
        hlc=hlc,
        entry_type=kind,
        facts=facts,
        text=SALT + words,
    )
    assert accepted(made.raw, made.signature, facts, SALT + words) == made
    assert unpack(made.raw) == made.header
    assert made.header.log == log_of(kind)


def test_the_text_may_be_gone_and_all_else_verifies() -> None:
    found = accepted(SECOND.raw, SECOND.signature, SECOND.facts, None)
    assert found.text is None
    assert found.hash == SECOND.hash


@pytest.mark.parametrize("segment", SEGMENTS)
def test_every_flipped_bit_is_refused(segment: str) -> None:
    parts = {name: getattr(SECOND, name) for name in SEGMENTS}
    for bit in range(len(parts[segment]) * 8):
        with pytest.raises(BadEntry):
            accepted(**{**parts, segment: flip(parts[segment], bit)})


@given(data=st.data(), segment=st.sampled_from(SEGMENTS))
def test_no_other_bytes_pass_for_an_entry(data: st.DataObject, segment: str) -> None:
    """Cut, lengthened, swapped or spliced: only the bytes that were signed are accepted."""
    true = getattr(SECOND, segment)
    at = data.draw(st.integers(0, len(true)))
    until = data.draw(st.integers(at, len(true)))
    changed = true[:at] + data.draw(st.binary(max_size=8)) + true[until:]
    parts = {name: getattr(SECOND, name) for name in SEGMENTS} | {segment: changed}
    if changed == true:
        accepted(**parts)
        return
    with pytest.raises(BadEntry):
        accepted(**parts)


@given(raw=st.binary(max_size=HEADER_BYTES + 8))
@example(raw=b"")
@example(raw=bytes(HEADER_BYTES))
@example(raw=b"\xff" * HEADER_BYTES)
def test_arbitrary_bytes_are_no_header_or_pack_to_themselves(raw: bytes) -> None:
    with contextlib.suppress(BadEntry):
        assert unpack(raw).pack() == raw


@given(
    rest=st.binary(min_size=HEADER_BYTES - 1, max_size=HEADER_BYTES - 1),
    signature=st.binary(max_size=80),
    facts=st.binary(max_size=80),
    text=st.none() | st.binary(max_size=80),
)
def test_arbitrary_entries_never_crash(
    rest: bytes, signature: bytes, facts: bytes, text: bytes | None
) -> None:
    with pytest.raises(BadEntry):
        accepted(bytes([PROTO]) + rest, signature, facts, text)


def test_a_signature_of_another_purpose_is_refused() -> None:
    signature = key().sign(b"askmesh/other/v1\0", SECOND.raw)
    with pytest.raises(BadEntry, match="does not verify"):
        verify_header(SECOND.raw, signature, key().public)
    verify_header(SECOND.raw, key().sign(SIGNED_PREFIX, SECOND.raw), key().public)


def test_the_key_of_another_node_does_not_verify() -> None:
    with pytest.raises(BadEntry, match="not its author's"):
        verify(SECOND, key(2).public)
    with pytest.raises(BadEntry):
        verify_header(SECOND.raw, SECOND.signature, b"short")


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("seq", 0, "predecessor"),
        ("seq", 1, "predecessor"),
        ("prev", GENESIS_PREV, "predecessor"),
        ("log", 1, "where it cannot"),
        ("log", 2, "where it cannot"),
        ("type", int(EntryType.NOTE), "where it cannot"),
        ("facts_len", FACTS_BYTES + 1, "larger"),
        ("text_len", TEXT_BYTES + SALT_BYTES + 1, "larger"),
    ],
)
def test_a_header_that_cannot_be_is_refused(field: str, value: int | bytes, told: str) -> None:
    header = SECOND.header
    parts = {name: getattr(header, name) for name in header.__struct_fields__}
    with pytest.raises(BadEntry, match=told):
        unpack(type(header)(**{**parts, field: value}).pack())


def test_segments_have_limits() -> None:
    full = entry(facts=b"f" * FACTS_BYTES, text=SALT + b"t" * TEXT_BYTES)
    accepted(full.raw, full.signature, full.facts, full.text)
    with pytest.raises(TooLarge, match=str(FACTS_BYTES)):
        entry(facts=b"f" * (FACTS_BYTES + 1))
    with pytest.raises(TooLarge, match=str(TEXT_BYTES)):
        entry(text=SALT + b"t" * (TEXT_BYTES + 1))


def test_each_entry_names_the_one_before_with_its_signature() -> None:
    first, second = chain(2)
    assert second.header.prev == sha256(first.raw + first.signature) == head_of(first).hash


@given(kind=OUR_TYPES)
def test_the_log_follows_from_the_type(kind: int) -> None:
    assert entry(kind=kind).header.log == (1 if kind >= 64 else 0)


@pytest.mark.parametrize("field", ["seq", "hlc"])
@pytest.mark.parametrize("value", [2**63, 2**64 - 1])
def test_a_number_that_no_store_can_keep_is_refused(field: str, value: int) -> None:
    header = SECOND.header
    below = replace(header, **{field: 2**63 - 1})
    assert unpack(below.pack()) == below
    with pytest.raises(BadEntry, match="larger than a store can keep"):
        unpack(replace(header, **{field: value}).pack())
