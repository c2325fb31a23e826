"""An operator's word on an account: the bytes it signs, and how they are checked.

What is signed is exactly what is sent and kept, so nobody has to write JSON in one certain
way. The word names the fleet, so it says nothing in another; and a serial that only rises,
so an older word that is sent again changes nothing.
"""

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sync.decide.standing import Level, check_words
from sync.errors import Invalid, NotAllowed
from sync.limits import NAME_CHARACTERS, SERIAL_MAX, WORD_BYTES
from sync.log.entry import sha256
from sync.log.facts import StandingFacts

PREFIX = b"askmesh/standing/v1\0"
"""Before what is signed: the same signature means nothing elsewhere."""
KEY_BYTES = 32
SIGNATURE_BYTES = 64
CHECKED_KEPT = 65_536
"""Signatures that are not checked again at each settling: more than a fleet has words."""


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator says. Fields of a newer askmesh are passed over."""

    fleet: str
    """Hex id."""
    standing: str
    serial: int
    at: int
    """When it was said, by the operator's clock; shown, never trusted."""
    person: str | None = None
    """A person's id; none: the whole fleet."""
    remedy: str | None = None
    reason: str = ""


_decode = msgspec.json.Decoder(Word).decode
_encode = msgspec.json.Encoder().encode
_checked: dict[bytes, bool] = {}


def pack(word: Word) -> bytes:
    """Return the bytes that stand for a word."""
    return _encode(word)


def read(raw: bytes) -> Word:
    """Decode a word whose signature is not checked here. Raises `Invalid`."""
    if len(raw) > WORD_BYTES:
        raise Invalid(f"The word has {len(raw)} bytes; at most {WORD_BYTES} fit.")
    try:
        word = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Invalid(
            "The word does not read.",
            hint="It is a JSON object with fleet, standing, serial and at; and person, remedy"
            " and reason where they are needed.",
        ) from None
    if not 0 < word.serial <= SERIAL_MAX or not 0 <= word.at <= SERIAL_MAX:
        raise Invalid(f"serial and at are whole numbers up to {SERIAL_MAX}; serial is above 0.")
    if word.person is not None and not 0 < len(word.person) <= NAME_CHARACTERS:
        raise Invalid("The word names nobody: person is a person's id.")
    check_words(word.standing, word.remedy, word.reason)
    return word


def check(key: bytes, raw: bytes, signature: bytes) -> Word:
    """Return the word that was signed with this key. Raises `Invalid`, `NotAllowed`."""
    word = read(raw)
    if not _signed(key, raw, signature):
        raise NotAllowed(
            "The signature is not by that key over these bytes, so the word changed nothing.",
            hint="Sign the bytes of the word exactly as they are sent, with"
            " 'askmesh/standing/v1' and a zero byte before them.",
        )
    return word


def word_in(facts: StandingFacts) -> Word | None:
    """Return the operator's word in a statement; None where it is not sound."""
    if facts.operator is None:
        return None
    try:
        return check(facts.operator, facts.word, facts.signature)
    except (Invalid, NotAllowed):
        return None


def level(word: Word) -> Level:
    """Return what a checked word says."""
    return Level(word.standing)


def _signed(key: bytes, raw: bytes, signature: bytes) -> bool:
    if len(key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    # By its hash, so that it costs the same to keep however long the word is.
    mark = sha256(key + signature + raw)
    found = _checked.get(mark)
    if found is None:
        if len(_checked) >= CHECKED_KEPT:
            _checked.clear()
        found = _checked[mark] = _verified(key, raw, signature)
    return found


def _verified(key: bytes, raw: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, PREFIX + raw)
    except (InvalidSignature, ValueError):
        return False
    return True
