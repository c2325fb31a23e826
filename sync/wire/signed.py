"""Small signed messages that are not stored: what is signed is kept apart by its prefix."""

from typing import Any, TypeVar

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sync.errors import BadFrame
from sync.log.entry import NodeKey, sha256

Message = TypeVar("Message", bound=msgspec.Struct)
_encode = msgspec.json.Encoder().encode
_decoders: dict[type[Any], msgspec.json.Decoder[Any]] = {}


class Signed(msgspec.Struct, frozen=True, kw_only=True):
    """The exact bytes that were signed, as they are relayed, and the signature."""

    raw: bytes
    signature: bytes


def sign(key: NodeKey, prefix: bytes, message: msgspec.Struct, limit: int) -> Signed:
    """Sign a message. Raises `BadFrame` when it is larger than it may be."""
    raw = _encode(message)
    if len(raw) > limit:
        raise BadFrame(f"A message of {len(raw)} bytes was to be signed; at most {limit} fit.")
    return Signed(raw=raw, signature=key.sign(prefix, raw))


def read(kind: type[Message], raw: bytes, limit: int) -> Message:
    """Decode a message whose signature is not checked yet. Raises `BadFrame`."""
    if len(raw) > limit:
        raise BadFrame(f"A signed message has {len(raw)} bytes; at most {limit} fit.")
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    try:
        return decoder.decode(raw)  # type: ignore[no-any-return]  # decoders are kept untyped
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFrame(f"A signed message does not read: {error}") from None


def check(signed: Signed, prefix: bytes, public_key: bytes, node: bytes) -> None:
    """Check that `node`, whose key this is, signed it. Raises `BadFrame`."""
    if sha256(public_key) != node:
        raise BadFrame("A signed message was checked against a key that is not its author's.")
    try:
        key = Ed25519PublicKey.from_public_bytes(public_key)
        key.verify(signed.signature, prefix + signed.raw)
    except (InvalidSignature, ValueError):
        raise BadFrame("The signature of a message does not verify.") from None
