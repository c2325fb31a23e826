"""What two machines say while they are paired, and what proves it (docs/protocol.md, "Pairing").

A message is one type byte, proofs of fixed length, then JSON. Everything proved is proved
of the exact bytes that went over the line: the transcript covers OFFER and ANSWER whole.
"""

import hashlib
import hmac
import struct
from enum import IntEnum
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from sync.decide.name import made_plain
from sync.errors import BadFrame
from sync.limits import FRAME_BYTES, PAIR_FORKS, PAIR_MESSAGE_BYTES, PAIR_PARTS
from sync.log.entry import SIGNATURE_BYTES, NodeKey, sha256
from sync.log.fork import EVIDENCE_BYTES
from sync.wire.frames import FleetId, Hash, Small, Word, Words
from sync.wire.signed import Signed, check

LABEL: Final = b"pair/v1"
SID_BYTES: Final = 8
NONCE_BYTES: Final = 32
TAG_BYTES: Final = 32
CERTIFICATE_BYTES: Final = 4096

CONFIRM_A: Final = b"pair/v1/A\0"
CONFIRM_B: Final = b"pair/v1/B\0"
WELCOME: Final = b"pair/v1/welcome\0"
JOINED: Final = b"pair/v1/joined\0"
REFUSED: Final = b"pair/v1/refused\0"
_LENGTH: Final = struct.Struct(">I")


class Kind(IntEnum):
    """The first byte of a message."""

    OFFER = 1
    ANSWER = 2
    PROOF = 3
    CONFIRM = 4
    WELCOME = 5
    JOINED = 6
    REFUSED = 7
    MORE = 8


Proved = Annotated[bytes, Meta(min_length=EVIDENCE_BYTES, max_length=EVIDENCE_BYTES)]
"""`sync.log.fork.Evidence.pack`."""


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the JSON parts."""


class Offer(Message, frozen=True, kw_only=True):
    """M1, by the machine that shows the code."""

    least: Small
    """The lowest protocol of links it speaks,"""
    most: Small
    """and the highest."""
    sid: Annotated[bytes, Meta(min_length=SID_BYTES, max_length=SID_BYTES)]
    """Names the code; salts the key that is derived from it."""
    nonce: Hash
    key: Hash
    """Its node's public key (Ed25519, raw)."""
    machine: Word
    version: Word


class Answer(Message, frozen=True, kw_only=True):
    """M2, by the machine on which the code was typed."""

    least: Small
    most: Small
    nonce: Hash
    key: Hash
    certificate: Annotated[bytes, Meta(max_length=CERTIFICATE_BYTES)]
    machine: Word
    version: Word
    port: Small | None = None
    """Where it takes links."""
    alone: bool
    """Whether its fleet has no other machine: only such a one may join."""


class Welcome(Message, frozen=True, kw_only=True):
    """M5: the fleet that the machine belongs to now."""

    fleet: FleetId
    founder: Hash
    """Node id of who founded it: its genesis is the first of the statements."""
    port: Small | None = None
    """Where the first machine takes links."""
    more: Annotated[tuple[Hash, ...], Meta(max_length=PAIR_PARTS)] = ()
    """SHA-256 of the body of each `MORE` that follows, in turn."""
    forks: Annotated[tuple[Proved, ...], Meta(max_length=PAIR_FORKS)] = ()
    """Evidence of the forks beyond which some of the statements stand."""


class Refusal(Message, frozen=True, kw_only=True):
    """Why a side ends it. The sentence counts only where a signature shows whose it is."""

    reason: Word
    sentence: Words | None = None


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """A message taken apart: tag and signature (empty where it has none), and the rest."""

    tag: bytes
    signature: bytes
    body: bytes


_PROOFS: Final[dict[Kind, tuple[int, int]]] = {
    Kind.OFFER: (0, 0),
    Kind.ANSWER: (TAG_BYTES, 0),
    Kind.PROOF: (TAG_BYTES, SIGNATURE_BYTES),
    Kind.CONFIRM: (0, SIGNATURE_BYTES),
    Kind.WELCOME: (0, SIGNATURE_BYTES),
    Kind.JOINED: (0, SIGNATURE_BYTES),
    Kind.REFUSED: (0, SIGNATURE_BYTES),
    Kind.MORE: (0, 0),
}
_EMPTY: Final = frozenset({Kind.PROOF, Kind.CONFIRM, Kind.JOINED})
"""Messages of nothing but proofs."""
_LONG: Final = frozenset({Kind.WELCOME, Kind.MORE})
"""Messages with statements."""

NO_SIGNATURE: Final = bytes(SIGNATURE_BYTES)
"""Of a refusal before there is a transcript to sign."""

Part = TypeVar("Part", bound=Message)
_encode = msgspec.json.Encoder().encode
_decoders: Final[dict[type[Any], msgspec.json.Decoder[Any]]] = {
    kind: msgspec.json.Decoder(kind) for kind in (Offer, Answer, Welcome, Refusal)
}


def pack(kind: Kind, *, tag: bytes = b"", signature: bytes = b"", body: bytes = b"") -> bytes:
    """Return the bytes of a message."""
    return bytes([kind]) + tag + signature + body


def unpack(raw: bytes) -> tuple[Kind, Proof]:
    """Take a message apart, checking sizes only. Raises `BadFrame`."""
    try:
        kind = Kind(raw[0])
    except (IndexError, ValueError):
        raise BadFrame("It sent a message of no known type.") from None
    if len(raw) > (FRAME_BYTES if kind in _LONG else PAIR_MESSAGE_BYTES):
        raise BadFrame(f"It sent a message of {len(raw)} bytes.")
    tag, signature = _PROOFS[kind]
    body = 1 + tag + signature
    if len(raw) < body or (kind in _EMPTY and len(raw) != body):
        raise BadFrame(f"Its message {kind.name} has {len(raw)} bytes.")
    return kind, Proof(tag=raw[1 : 1 + tag], signature=raw[1 + tag : body], body=raw[body:])


def write(message: Message) -> bytes:
    """Return the JSON of a message."""
    return _encode(message)


def read(kind: type[Part], body: bytes) -> Part:
    """Decode the JSON of a message. Raises `BadFrame`.

    Of a machine's name is left out what may not be in one, so that it can be shown and typed:
    an older machine or a strange host may bring such a name along, and joins all the same.
    """
    try:
        message: Part = _decoders[kind].decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFrame(f"It sent a message that does not read: {error}") from None
    words = {
        name: made_plain(text)
        for name in ("machine", "version")
        if (text := getattr(message, name, None)) is not None
    }
    return msgspec.structs.replace(message, **words) if words else message


def transcript(offer: bytes, certificate: bytes, answer: bytes) -> bytes:
    """Return what both sides prove they saw alike.

    `offer` and `answer` are the JSON as sent; `certificate` is the one of the machine that
    shows the code: its own there, the one seen in TLS on the other side.
    """
    parts = (LABEL, offer, sha256(certificate), answer)
    return sha256(b"".join(_LENGTH.pack(len(part)) + part for part in parts))


def tag(key: bytes, side: bytes, said: bytes) -> bytes:
    """Return the proof that `side` (`A` shows the code, `B` types it) knows the code."""
    return hmac.new(key, side + said, hashlib.sha256).digest()


def same(left: bytes, right: bytes) -> bool:
    """Compare proofs in constant time."""
    return hmac.compare_digest(left, right)


def signature(key: NodeKey, prefix: bytes, said: bytes, body: bytes = b"") -> bytes:
    """Sign a transcript, and the hash of a body that goes with it."""
    return key.sign(prefix, said + sha256(body) if body else said)


def signed(public: bytes, prefix: bytes, said: bytes, proof: Proof) -> bool:
    """Whether the holder of a node's key signed this message of this transcript."""
    message = said + sha256(proof.body) if proof.body else said
    try:
        check(Signed(raw=message, signature=proof.signature), prefix, public, sha256(public))
    except BadFrame:
        return False
    return True
