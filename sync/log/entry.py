"""One signed item of a node's log: its exact bytes, hashes and signature.

Header, big-endian (docs/protocol.md, "Entries"): proto 1 | fleet 16 | author 32 | log 1 |
seq 8 | prev 32 | hlc 8 | type 1 | facts_len 4 | facts_hash 32 | text_len 4 | text_hash 32.
The signature is Ed25519 over `SIGNED_PREFIX` and the header. The hash of an entry covers
header and signature, so a chain proves each signature it runs through.
"""

import hashlib
import struct
from functools import lru_cache

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from sync.errors import BadEntry, TooLarge
from sync.limits import FACTS_BYTES, SALT_BYTES, SIGNATURES_REMEMBERED, TEXT_BYTES
from sync.log.kinds import log_of

PROTO = 1
SIGNED_PREFIX = b"askmesh/entry/v1\0"
GENESIS_PREV = bytes(32)
"""`prev` of the first entry of every log."""
INTEGER_MAX = 2**63 - 1
"""Stores keep numbers as signed 64-bit integers; no clock gets there before the year 6429."""

_HEADER = struct.Struct(">B16s32sBQ32sQBI32sI32s")
HEADER_BYTES = _HEADER.size
SIGNATURE_BYTES = 64
HASH_BYTES = 32


def sha256(data: bytes) -> bytes:
    """Return the SHA-256 digest of `data`."""
    return hashlib.sha256(data).digest()


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The signed part of an entry. Hashes and ids are raw bytes."""

    fleet: bytes
    author: bytes
    log: int
    seq: int
    prev: bytes
    hlc: int
    type: int
    facts_len: int
    facts_hash: bytes
    text_len: int
    text_hash: bytes

    def pack(self) -> bytes:
        """Return the exact bytes that are signed, stored and relayed."""
        return _HEADER.pack(
            PROTO,
            self.fleet,
            self.author,
            self.log,
            self.seq,
            self.prev,
            self.hlc,
            self.type,
            self.facts_len,
            self.facts_hash,
            self.text_len,
            self.text_hash,
        )


def unpack(raw: bytes) -> Header:
    """Decode a header. Raises `BadEntry` when it is not one of ours."""
    if len(raw) != HEADER_BYTES:
        raise BadEntry(f"An entry's header has {len(raw)} bytes instead of {HEADER_BYTES}.")
    proto, *fields = _HEADER.unpack(raw)
    if proto != PROTO:
        raise BadEntry(f"An entry speaks protocol {proto}; this askmesh speaks {PROTO}.")
    fleet, author, log, seq, prev, hlc, kind, flen, fhash, tlen, thash = fields
    if seq > INTEGER_MAX or hlc > INTEGER_MAX:
        raise BadEntry("An entry's number or stamp is larger than a store can keep.")
    if seq == 0 or (seq == 1) != (prev == GENESIS_PREV):
        raise BadEntry("An entry's number and its predecessor do not fit together.")
    if log != log_of(kind):
        raise BadEntry(f"An entry of type {kind} stands in log {log}, where it cannot.")
    if flen > FACTS_BYTES or tlen > TEXT_BYTES + SALT_BYTES:
        raise BadEntry("An entry is larger than any entry may be.")
    return Header(
        fleet=fleet,
        author=author,
        log=log,
        seq=seq,
        prev=prev,
        hlc=hlc,
        type=kind,
        facts_len=flen,
        facts_hash=fhash,
        text_len=tlen,
        text_hash=thash,
    )


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A header, its signature and the two segments of its body.

    `text` is None once it was erased; the chain and every proof still verify then.
    """

    header: Header
    raw: bytes
    signature: bytes
    facts: bytes
    text: bytes | None

    @property
    def hash(self) -> bytes:
        """SHA-256 of header and signature: what `prev` and `seen` name."""
        return sha256(self.raw + self.signature)


class NodeKey:
    """A node's Ed25519 key. The node id is the SHA-256 of the raw public key."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public = private.public_key().public_bytes_raw()
        self.node_id = sha256(self.public)

    def sign(self, prefix: bytes, message: bytes) -> bytes:
        """Sign under a prefix that keeps different uses of the key apart."""
        return self._private.sign(prefix + message)

    def pem(self) -> bytes:
        """Return the private key as PKCS #8 PEM text, for TLS only (`sync.net.certificate`)."""
        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def seal(
    key: NodeKey,
    *,
    fleet: bytes,
    seq: int,
    prev: bytes,
    hlc: int,
    entry_type: int,
    facts: bytes,
    text: bytes,
) -> Entry:
    """Make and sign an entry. `text` begins with its salt.

    Raises `TooLarge` when a segment is over its limit.
    """
    if len(facts) > FACTS_BYTES:
        raise TooLarge(f"The facts have {len(facts)} bytes; at most {FACTS_BYTES} fit.")
    if len(text) > TEXT_BYTES + SALT_BYTES:
        raise TooLarge(f"The text has {len(text) - SALT_BYTES} bytes; at most {TEXT_BYTES} fit.")
    header = Header(
        fleet=fleet,
        author=key.node_id,
        log=log_of(entry_type),
        seq=seq,
        prev=prev,
        hlc=hlc,
        type=entry_type,
        facts_len=len(facts),
        facts_hash=sha256(facts),
        text_len=len(text),
        text_hash=sha256(text),
    )
    raw = header.pack()
    return Entry(
        header=header,
        raw=raw,
        signature=key.sign(SIGNED_PREFIX, raw),
        facts=facts,
        text=text,
    )


def decode(
    raw: bytes,
    signature: bytes,
    facts: bytes,
    text: bytes | None,
    *,
    header: Header | None = None,
) -> Entry:
    """Build an entry from stored or received bytes, checking sizes and segment hashes.

    `header`: what `unpack` has made of `raw` before. Raises `BadEntry`. The signature is
    checked by `verify`.
    """
    header = header or unpack(raw)
    if len(signature) != SIGNATURE_BYTES:
        raise BadEntry("An entry's signature has the wrong length.")
    if len(facts) != header.facts_len or sha256(facts) != header.facts_hash:
        raise BadEntry("An entry's facts are not those that were signed.")
    if text is not None and (len(text) != header.text_len or sha256(text) != header.text_hash):
        raise BadEntry("An entry's text is not the one that was signed.")
    return Entry(header=header, raw=raw, signature=signature, facts=facts, text=text)


def verify(entry: Entry, public_key: bytes) -> None:
    """Check that the author signed this entry. Raises `BadEntry`."""
    if sha256(public_key) != entry.header.author:
        raise BadEntry("An entry was checked against a key that is not its author's.")
    verify_header(entry.raw, entry.signature, public_key)


def verify_header(raw: bytes, signature: bytes, public_key: bytes) -> None:
    """Check a signature over a header alone (finals embed votes so). Raises `BadEntry`."""
    if not _signed(raw, signature, public_key):
        raise BadEntry("An entry's signature does not verify.")


@lru_cache(maxsize=SIGNATURES_REMEMBERED)
def _signed(raw: bytes, signature: bytes, public_key: bytes) -> bool:
    """Whether a signature verifies; what was asked lately is known, whoever asked."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, SIGNED_PREFIX + raw)
    except (InvalidSignature, ValueError):
        return False
    return True
