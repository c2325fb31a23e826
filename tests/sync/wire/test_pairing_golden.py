"""A whole pairing, byte for byte: rebuilt here by hand from docs/protocol.md."""

import base64
import hashlib
import hmac
import json
import struct
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sync.wire.pairing_code import new_code, read_code
from sync.wire.pairing_words import Kind
from tests.sync.log.entries import key
from tests.sync.wire import golden

SHOWN: dict[str, Any] = json.loads((golden.VECTORS / "pairing.json").read_text("utf-8"))
MESSAGES = {name: bytes.fromhex(raw) for name, raw in SHOWN["messages"].items()}
TRANSCRIPT = bytes.fromhex(SHOWN["transcript"])


def test_a_pairing_is_what_it_always_was() -> None:
    assert golden.pairing() == SHOWN


@pytest.mark.parametrize("random", SHOWN["codes"])
def test_a_code_is_what_it_always_was(random: str) -> None:
    shown = SHOWN["codes"][random]
    assert new_code(bytes.fromhex(random)).shown() == shown
    assert read_code(shown).shown() == shown


def test_the_key_is_scrypt_of_the_twelve_symbols() -> None:
    symbols = SHOWN["code"].replace("-", "")[:12].encode()
    sid = bytes.fromhex(SHOWN["sid"])
    derived = hashlib.scrypt(
        symbols, salt=b"pair/v1" + sid, n=65536, r=8, p=1, dklen=32, maxmem=2**27
    )
    assert derived.hex() == SHOWN["key"]


def test_the_transcript_and_the_tags() -> None:
    offer, answer = MESSAGES["OFFER"], MESSAGES["ANSWER"]
    certificate = hashlib.sha256(bytes.fromhex(SHOWN["certificate of A"])).digest()
    parts = (b"pair/v1", offer[1:], certificate, answer[33:])
    made = b"".join(struct.pack(">I", len(part)) + part for part in parts)
    assert hashlib.sha256(made).digest() == TRANSCRIPT
    secret = bytes.fromhex(SHOWN["key"])
    for side, tag in ((b"B", answer[1:33]), (b"A", MESSAGES["PROOF"][1:33])):
        assert hmac.new(secret, side + TRANSCRIPT, "sha256").digest() == tag
        assert tag.hex() == SHOWN[f"tag of {side.decode()}"]


@pytest.mark.parametrize(
    ("name", "by", "prefix", "at"),
    [
        ("PROOF", 1, b"pair/v1/A\0", 33),
        ("CONFIRM", 2, b"pair/v1/B\0", 1),
        ("WELCOME", 1, b"pair/v1/welcome\0", 1),
        ("JOINED", 2, b"pair/v1/joined\0", 1),
    ],
)
def test_the_signatures(name: str, by: int, prefix: bytes, at: int) -> None:
    raw = MESSAGES[name]
    body = raw[at + 64 :]
    said = prefix + TRANSCRIPT + (hashlib.sha256(body).digest() if body else b"")
    Ed25519PublicKey.from_public_bytes(key(by).public).verify(raw[at : at + 64], said)


def test_every_message_has_a_vector() -> None:
    others = {Kind.REFUSED, Kind.MORE}
    assert [*MESSAGES] == [kind.name for kind in Kind if kind not in others]
    assert [raw[0] for raw in MESSAGES.values()] == [1, 2, 3, 4, 5, 6]


def test_a_welcome_names_the_messages_that_follow_it() -> None:
    welcome, more = (
        bytes.fromhex(SHOWN["a welcome in two messages"][name]) for name in ("WELCOME", "MORE")
    )
    body = welcome[65:]
    said = b"pair/v1/welcome\0" + TRANSCRIPT + hashlib.sha256(body).digest()
    Ed25519PublicKey.from_public_bytes(key(1).public).verify(welcome[1:65], said)
    (length,) = struct.unpack_from(">I", body)
    (named,) = json.loads(body[4 : 4 + length])["more"]
    assert base64.b64decode(named) == hashlib.sha256(more[1:]).digest()
    assert (welcome[0], more[0]) == (5, 8)
