"""The golden vectors: written once, read and written alike by every version."""

import json
from typing import Any

import msgspec
import pytest

from sync.log.chain import Head
from sync.log.entry import Header, decode, unpack, verify
from sync.wire import frames, letter, presence
from sync.wire.held import digest
from sync.wire.signed import Signed, check, read
from tests.sync.wire import golden


def vectors(name: str) -> dict[str, Any]:
    found = json.loads((golden.VECTORS / name).read_text("utf-8"))
    assert isinstance(found, dict)
    return found


FRAMES = vectors("frames.json")


def test_every_type_of_frame_has_a_vector() -> None:
    assert {vector["type"] for vector in FRAMES.values()} == {
        kind.name for kind in frames.FrameType
    }
    assert FRAMES.keys() == golden.cases().keys()


@pytest.mark.parametrize("name", golden.cases())
def test_a_frame_is_written_and_read_as_it_always_was(name: str) -> None:
    frame, raw = golden.cases()[name], bytes.fromhex(FRAMES[name]["hex"])
    assert frames.FrameType[FRAMES[name]["type"]] == raw[0]
    assert frames.encode(frame) == raw
    assert frames.decode_frame(raw) == frame


@pytest.mark.parametrize("name", vectors("entries.json"))
def test_an_entry_is_read_as_it_always_was(name: str) -> None:
    vector = vectors("entries.json")[name]
    raw, signature = bytes.fromhex(vector["header"]), bytes.fromhex(vector["signature"])
    text = None if vector["text"] is None else bytes.fromhex(vector["text"])
    entry = decode(raw, signature, bytes.fromhex(vector["facts"]), text)
    author = next(
        one for one in (golden.FIRST, golden.SECOND) if one.node_id == entry.header.author
    )
    verify(entry, author.public)
    assert entry.hash.hex() == vector["hash"]
    fields: dict[str, Any] = {
        name: bytes.fromhex(value) if isinstance(value, str) else value
        for name, value in vector["fields"].items()
    }
    assert Header(**fields) == unpack(raw)
    assert Header(**fields).pack() == raw


def test_entries_are_made_as_they_always_were() -> None:
    shown = vectors("entries.json")
    for name, made in (
        ("note", golden.note()),
        ("mark", golden.mark()),
        ("redacted", golden.redacted()),
    ):
        assert golden.entry_vector(made) == shown[name]
    remade: Any = golden.files()["entries.json"]
    assert remade == shown


def test_the_digest_of_a_vector() -> None:
    vector = vectors("vector.json")
    heads = {
        (bytes.fromhex(row["author"]), row["log"]): Head(
            seq=row["seq"], hash=bytes.fromhex(row["hash"])
        )
        for row in vector["heads"]
    }
    assert heads == golden.vector()
    assert digest(heads).hex() == vector["digest"]
    assert digest(dict(reversed(heads.items()))).hex() == vector["digest"]
    assert digest({**heads, (bytes(32), 0): Head()}).hex() == vector["digest"]
    forked = digest(heads, {(golden.FIRST.node_id, 1): 3})
    assert forked.hex() == vector["digest, a fork known"]
    stated = digest(heads, {(golden.FIRST.node_id, 0): 2}, golden.testimony())
    assert stated.hex() == vector["digest, something stated beyond a fork"]


@pytest.mark.parametrize(
    ("name", "prefix", "made"),
    [
        ("presence", presence.PREFIX, golden.signed_presence()),
        ("letter", letter.PREFIX, golden.signed_letter()),
    ],
)
def test_a_signed_message(name: str, prefix: bytes, made: Signed) -> None:
    vector = vectors("signed.json")[name]
    assert bytes.fromhex(vector["prefix"]) == prefix
    signed = Signed(raw=vector["raw"].encode(), signature=bytes.fromhex(vector["signature"]))
    assert signed == made
    check(signed, prefix, bytes.fromhex(vector["public_key"]), golden.FIRST.node_id)


def test_signed_messages_are_read_back() -> None:
    shown = vectors("signed.json")
    said = read(presence.Presence, shown["presence"]["raw"].encode(), 32_768)
    assert said.sessions[0].status == "running the tests"
    written = read(letter.Letter, shown["letter"]["raw"].encode(), 16_384)
    assert msgspec.json.decode(written.body) == {"id": "wish"}
    assert '"from":"' in shown["letter"]["raw"]
