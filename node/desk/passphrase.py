"""Passphrases: stored as scrypt hashes, tried at most a few times a minute."""

import hashlib
import hmac
from collections import deque
from collections.abc import Callable

from node import limits
from sync.errors import Invalid, NotAllowed, TooMany

_COST = 2**15
"""About 70 ms and 32 MiB a try: unnoticed once, expensive by the million."""
_MEMORY = 64 * 1024 * 1024
SALT_BYTES = 16


def digest(passphrase: str, salt: bytes) -> bytes:
    """Return the hash that is stored. Takes tens of milliseconds: call it in a thread."""
    return hashlib.scrypt(
        passphrase.encode(), salt=salt, n=_COST, r=8, p=1, maxmem=_MEMORY, dklen=32
    )


def same(passphrase: str, salt: bytes, stored: bytes) -> bool:
    """Whether this is the passphrase, in the same time for every wrong one."""
    return hmac.compare_digest(digest(passphrase, salt), stored)


def check_new(passphrase: str) -> None:
    """Raises `Invalid` when a new passphrase is too easy to guess or cannot be typed."""
    if len(passphrase) < limits.PASSPHRASE_CHARACTERS_MIN:
        raise Invalid(
            f"The passphrase has {len(passphrase)} characters;"
            f" at least {limits.PASSPHRASE_CHARACTERS_MIN} are needed.",
            hint="A few unrelated words are easy to keep and hard to guess.",
        )
    if len(passphrase) > limits.PASSPHRASE_CHARACTERS_MAX or not passphrase.isprintable():
        raise Invalid("The passphrase is too long, or holds a character that cannot be typed.")


class Tries:
    """Wrong tries within the last minute, over all places; on the event loop only."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._wrong: deque[float] = deque()

    def check(self) -> None:
        """Raises `TooMany` while there were too many wrong tries."""
        now = self._seconds()
        while self._wrong and self._wrong[0] <= now - 60:
            self._wrong.popleft()
        if len(self._wrong) >= limits.PASSPHRASE_TRIES_MINUTE:
            raise TooMany(
                "Too many wrong tries; signing in is closed for a minute.",
                hint="Wait a minute, then try again.",
            )

    def wrong(self) -> NotAllowed:
        """Count a wrong try and return the error to raise."""
        self._wrong.append(self._seconds())
        return NotAllowed("That is not right.", hint="Check it and try again.")
