"""Letters from one node to another: signed, small, for somebody who looks at a screen now.

They are not stored. A letter goes over the link to its addressee, or over one node that is
linked to both: who gets a letter for another from its author passes it on, once.
"""

from collections.abc import Callable, Collection
from enum import Enum
from typing import Annotated

import msgspec
from msgspec import Meta

from sync.errors import BadFrame
from sync.limits import LETTER_AGE_MS, LETTER_BYTES, LETTERS_REMEMBERED, NAME_CHARACTERS
from sync.log.entry import NodeKey
from sync.wire.frames import FleetId, Hash, Number
from sync.wire.signed import Signed, check, read, sign

PREFIX = b"askmesh/letter/v1\0"
LETTER_ID_BYTES = 16


class Letter(msgspec.Struct, frozen=True, kw_only=True, rename={"sender": "from"}):
    """What one node says to another."""

    fleet: FleetId
    id: Annotated[bytes, Meta(min_length=LETTER_ID_BYTES, max_length=LETTER_ID_BYTES)]
    """Random."""
    sender: Hash
    to: Hash
    at: Number
    """The sender's judging clock."""
    kind: Annotated[str, Meta(max_length=NAME_CHARACTERS)]
    body: msgspec.Raw
    """JSON; what it is depends on `kind`."""


class Way(Enum):
    """Where a letter that came goes."""

    HERE = "here"
    ON = "on"
    """Over the link to its addressee."""
    NOWHERE = "nowhere"


def write(key: NodeKey, letter: Letter) -> Signed:
    """Sign a letter. Raises `BadFrame` when it is too large."""
    return sign(key, PREFIX, letter, LETTER_BYTES)


class Postbox:
    """Reads the letters that come to one node; each counts once, and only while it is fresh."""

    def __init__(self, fleet: bytes, node: bytes) -> None:
        self._fleet = fleet
        self._node = node
        self._seen: dict[bytes, dict[bytes, int]] = {}
        """For each member the ids of its letters, and until when each could be fresh."""

    def open(
        self,
        signed: Signed,
        *,
        source: bytes,
        linked: Collection[bytes],
        key_of: Callable[[bytes], bytes | None],
        now: int,
        skew_ms: int = 0,
    ) -> tuple[Letter, Way]:
        """Return a letter that came over the link to `source`, and where it goes.

        `key_of` tells the public key of a member, None for anyone else. `skew_ms`: how far
        the sender's clock is known to be ahead of ours. Raises `BadFrame` for one that is
        not what it claims to be, is old, or came before.
        """
        letter = read(Letter, signed.raw, LETTER_BYTES)
        if letter.fleet != self._fleet:
            raise BadFrame("A letter is of another fleet.")
        public_key = key_of(letter.sender)
        if public_key is None or letter.sender == self._node:
            raise BadFrame("A letter is from nobody of this fleet.")
        check(signed, PREFIX, public_key, letter.sender)
        if abs(now + skew_ms - letter.at) > LETTER_AGE_MS:
            raise BadFrame("A letter came too late, or its sender's clock is wrong.")
        self._once(letter, now)
        return letter, self._way(letter, source, linked)

    def _once(self, letter: Letter, now: int) -> None:
        """Remember a letter for as long as it can be fresh. Raises `BadFrame` at the second."""
        before = self._seen.get(letter.sender, {})
        seen = {one: until for one, until in before.items() if until >= now}
        self._seen[letter.sender] = seen
        if letter.id in seen:
            raise BadFrame("A letter came twice.")
        if len(seen) >= LETTERS_REMEMBERED:
            raise BadFrame("A machine sends more letters than can be told apart.")
        # A stamp may lie ahead of our clock by its age, and is fresh as long after.
        seen[letter.id] = now + 2 * LETTER_AGE_MS

    def _way(self, letter: Letter, source: bytes, linked: Collection[bytes]) -> Way:
        if letter.to == self._node:
            return Way.HERE
        if source == letter.sender and letter.to in linked and letter.to != source:
            return Way.ON
        return Way.NOWHERE
