"""The recovery words, used: what the fleet's recovery key signs, so that every machine hears it.

It stands in a version of the owner who is let in, and so reaches every machine with the log,
whenever that is. Nobody without the words can make it, and it says nothing in another fleet,
nor from another node.
"""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sync.decide.statements import TIME_MAX
from sync.log.entry import NodeKey
from sync.log.facts import PersonFacts

PREFIX = b"askmesh/recovered/v1\0"
"""Before what is signed: the same signature means nothing elsewhere."""


def sign(key: NodeKey, *, fleet: bytes, author: bytes, person: str, at: int) -> bytes:
    """Return what a version of `person` carries when the words let them in."""
    return key.sign(PREFIX, _said(fleet, author, person, at))


def holds(facts: PersonFacts, *, fleet: bytes, author: bytes, key: bytes) -> bool:
    """Whether the words of this fleet were used for this version. Never raises."""
    if facts.recovered is None or not 0 <= facts.at < TIME_MAX:
        return False
    try:
        public = Ed25519PublicKey.from_public_bytes(key)
        public.verify(facts.recovered, PREFIX + _said(fleet, author, facts.person, facts.at))
    except (InvalidSignature, ValueError):
        return False
    return True


def _said(fleet: bytes, author: bytes, person: str, at: int) -> bytes:
    return fleet + author + at.to_bytes(8, "big") + person.encode()
