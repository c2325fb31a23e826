"""Reading frames: hostile bytes become one sentence, and everything else reads back."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.errors import BadFrame
from sync.limits import (
    BLOB_BYTES,
    BLOB_CHUNK_BYTES,
    FRAME_BYTES,
    FRAME_ENTRIES,
    LETTER_BYTES,
    PLACES,
    PRESENCE_BYTES,
    RUNS_WANTED,
    SALT_BYTES,
    SERVED_BYTES,
    WRITE_BYTES,
)
from sync.wire import frames
from sync.wire.frames import FrameType, decode_frame, encode
from tests.sync.log.entries import SALT, chain, entry
from tests.sync.wire.golden import cases

ONE = entry()
RAW = encode(frames.Entries(entries=(ONE,)))
B64 = "A" * 43 + "="


def json_frame(kind: FrameType, text: str) -> bytes:
    return bytes([kind]) + text.encode()


def blob(offset: int, total: int, chunk: bytes) -> bytes:
    return b"\x09" + bytes(32) + offset.to_bytes(8, "big") + total.to_bytes(8, "big") + chunk


def have(*heads: str) -> bytes:
    return json_frame(FrameType.HAVE, f'{{"digest":"{B64}","heads":[{",".join(heads)}]}}')


def want(*runs: str) -> bytes:
    return json_frame(FrameType.WANT, f'{{"runs":[{",".join(runs)}]}}')


BAD = {
    "nothing": b"",
    "too long": b"\x0b" + bytes(FRAME_BYTES),
    "no JSON": b"\x02",
    "not UTF-8": b'\x05{"trouble":"\xff"}',
    "not an object": b"\x0b[]",
    "deep": b"\x02" + b"[" * 100_000,
    "a field is missing": b"\x0c" + b'{"number":1}',
    "a negative number": b'\x0b{"number":-1}',
    "a number of 64 bits": b'\x0b{"number":9223372036854775808}',
    "an endless number": b'\x0b{"number":1' + b"0" * 5_000 + b"}",
    "a fraction": b'\x0b{"number":1.5}',
    "a short hash": json_frame(FrameType.BLOB_NONE, '{"name":"AAAA"}'),
    "no base64": json_frame(FrameType.BLOB_NONE, '{"name":"' + "*" * 44 + '"}'),
    "an offset beyond any blob": json_frame(
        FrameType.BLOB_WANT, f'{{"name":"{B64}","offset":{BLOB_BYTES + SALT_BYTES + 1}}}'
    ),
    "a head of number 0": have(f'["{B64}",0,0,"{B64}"]'),
    "a head of an unknown log": have(f'["{B64}",2,1,"{B64}"]'),
    "a head cut short": have(f'["{B64}",0,1]'),
    "too many heads": have(*[f'["{B64}",0,1,"{B64}"]'] * (PLACES + 1)),
    "a run from 0": want(f'["{B64}",0,0,1]'),
    "too many runs": want(*[f'["{B64}",0,1,1]'] * (RUNS_WANTED + 1)),
    "words without end": json_frame(FrameType.ACK, '{"trouble":"' + "x" * 301 + '"}'),
    "an entry cut in its header": RAW[:100],
    "an entry cut in its signature": RAW[:200],
    "an entry cut in its facts": RAW[:240],
    "an entry cut in its text": RAW[:-1],
    "a byte behind an entry": RAW + b"\0",
    "an unknown mark": RAW[:236] + b"\x02" + RAW[237:],
    "other facts": RAW[:237] + b"X" + RAW[238:],
    "other text": RAW[:-1] + b"X",
    "another entry protocol": RAW[:1] + b"\x02" + RAW[2:],
    "a huge text announced": RAW[: 1 + 135] + b"\xff\xff\xff\xff" + RAW[1 + 139 :],
    "too many entries": encode(frames.Entries(entries=(ONE,) * (FRAME_ENTRIES + 1))),
    "presence without words": b"\x06" + bytes(64),
    "presence too long": b"\x06" + bytes(64 + PRESENCE_BYTES + 1),
    "a letter too long": b"\x07" + bytes(64 + LETTER_BYTES + 1),
    "a signature cut short": b"\x07" + bytes(63),
    "a piece cut in its head": blob(0, 1, b"")[:40],
    "a piece beyond its blob": blob(1, 1, b"x"),
    "a piece at an endless offset": blob(2**64 - 1, 2**64 - 1, b"x"),
    "an empty piece": blob(0, 1, b""),
    "a blob too large": blob(0, BLOB_BYTES + SALT_BYTES + 1, b"x"),
    "a piece too large": blob(0, BLOB_BYTES, bytes(BLOB_CHUNK_BYTES + 1)),
}


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_fit_is_one_sentence(name: str) -> None:
    with pytest.raises(BadFrame) as caught:
        decode_frame(BAD[name])
    assert caught.value.sentence.startswith("It sent ")
    assert len(caught.value.sentence) < 300


@pytest.mark.parametrize("kind", [0, 18, 99, 255])
def test_an_unknown_type_is_none(kind: int) -> None:
    assert decode_frame(bytes([kind]) + b"anything") is None


def test_fields_of_a_newer_minor_are_passed_over() -> None:
    assert decode_frame(b'\x0b{"number":3,"new":{"deep":[1]}}') == frames.Ping(number=3)
    row = f'["{B64}",0,1,"{B64}","new"]'
    assert isinstance(decode_frame(have(row)), frames.Have)


@pytest.mark.parametrize("name", cases())
def test_a_frame_cut_anywhere_never_reads_as_another(name: str) -> None:
    raw = encode(cases()[name])
    whole = cases()[name]
    for end in range(len(raw)):
        try:
            found = decode_frame(raw[:end])
        except BadFrame:
            continue
        # What carries no length of its own (a piece, a signed message) is judged later.
        assert found != whole
        if isinstance(found, frames.Entries | frames.Farewell):
            assert isinstance(whole, frames.Entries | frames.Farewell)
            assert found.entries == whole.entries[: len(found.entries)]


@given(st.binary(max_size=400), st.integers(min_value=0, max_value=20))
def test_no_bytes_do_harm(data: bytes, kind: int) -> None:
    with contextlib.suppress(BadFrame):
        decode_frame(bytes([kind]) + data)


@given(st.sampled_from(sorted(cases())), st.data())
def test_no_changed_byte_does_harm(name: str, data: st.DataObject) -> None:
    raw = bytearray(encode(cases()[name]))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(BadFrame):
        decode_frame(bytes(raw))


def test_the_largest_entry_fits_many_times() -> None:
    largest = entry(facts=b"f" * 16_384, text=SALT + b"t" * 65_536)
    assert frames.size_of(largest) == len(encode(frames.Entries(entries=(largest,)))) - 1
    assert 3 * frames.size_of(largest) < SERVED_BYTES
    assert 4 * SERVED_BYTES < WRITE_BYTES // 2


def test_a_whole_vector_fits_one_frame() -> None:
    rows = [frames.HeadRow(bytes([255]) * 32, 1, 2**63 - 1, bytes([255]) * 32)] * PLACES
    raw = encode(frames.Have(digest=bytes(32), heads=rows, whole=True, ask=True))
    assert len(raw) < FRAME_BYTES
    assert decode_frame(raw) is not None


def test_batches_are_within_size_and_count() -> None:
    made = chain(50)
    size = frames.size_of(made[0])
    found = list(frames.batches(made, 10 * size))
    assert [one for batch in found for one in batch] == made
    assert len(found) <= 6
    assert all(sum(map(frames.size_of, batch)) <= 10 * size for batch in found)
    assert [len(batch) for batch in frames.batches(made * 30, 10**9)] == [FRAME_ENTRIES, 500]
    assert [len(batch) for batch in frames.batches(made[:3], 1)] == [1, 1, 1]
    assert list(frames.batches([])) == []


def test_an_erased_text_stays_erased() -> None:
    erased = msgspec.structs.replace(ONE, text=None)
    found = decode_frame(encode(frames.Entries(entries=(erased, ONE))))
    assert found == frames.Entries(entries=(erased, ONE))
