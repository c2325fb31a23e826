"""This node's key, and the recovery words of a fleet."""

import os
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from mnemonic import Mnemonic

from sync.errors import Invalid, StoreError
from sync.log.entry import NodeKey

KEY_FILE = "node.key"
NEXT_FILE = ".node.key.next"
"""The key of an identity that is being taken on: the store says whether it counts."""
RECOVERY_BYTES = 16
"""128 bits: twelve words, and no search can find them."""

_words = Mnemonic("english")


def create_key(home: Path) -> NodeKey:
    """Make a key and store it, readable by this user only.

    The caller holds the directory's lock. The key is there whole or not at all, so that a
    start that was killed is finished by the next. Raises `StoreError` when a key is there
    already.
    """
    path = home / KEY_FILE
    if path.exists():
        raise StoreError(f"{path} exists already; a second key is never made.")
    return _make(home, path)


def next_key(home: Path) -> NodeKey:
    """Make the key of a new identity beside the one in use, durably, and use it for nothing.

    Once the store says that it counts, `settle_key` puts it in the place of the other.
    """
    return _make(home, home / NEXT_FILE)


def settle_key(home: Path, node: bytes | None) -> NodeKey:
    """Return the key that the store counts (its node id; None: it has not said).

    A change of identity that was cut off is finished, or cleared away if the store never
    had it. Raises `StoreError` when there is no key.
    """
    key, following = load_key(home), home / NEXT_FILE
    if not following.exists():
        return key
    if node is None or key.node_id == node:
        following.unlink(missing_ok=True)
        return key
    other = load_key(home, NEXT_FILE)
    if other.node_id != node:
        return key
    following.rename(home / KEY_FILE)
    _sync(home)
    return other


def _make(home: Path, path: Path) -> NodeKey:
    private = Ed25519PrivateKey.generate()
    begun = home / f".{KEY_FILE}.new"
    begun.unlink(missing_ok=True)
    with os.fdopen(os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(private.private_bytes_raw())
        file.flush()
        os.fsync(file.fileno())
    begun.rename(path)
    _sync(home)
    return NodeKey(private)


def _sync(home: Path) -> None:
    folder = os.open(home, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def load_key(home: Path, name: str = KEY_FILE) -> NodeKey:
    """Read this node's key. Raises `StoreError` when it is missing or open to others."""
    path = home / name
    try:
        mode = path.stat().st_mode & 0o777
        raw = path.read_bytes()
    except OSError as error:
        raise StoreError(
            f"This node's key cannot be read: {error.strerror}: {path}.",
            hint="Without it nothing here can be signed; restore it from a backup.",
        ) from None
    if mode & 0o077:
        raise StoreError(
            f"Others can read this node's key ({path} has mode {mode:o}).",
            hint=f"Run: chmod 600 {path}",
        )
    try:
        return NodeKey(Ed25519PrivateKey.from_private_bytes(raw))
    except ValueError:
        raise StoreError(f"{path} does not hold a key.") from None


def recovery_words(entropy: bytes) -> list[str]:
    """Return the twelve words (BIP-39 English) that stand for `entropy`."""
    return str(_words.to_mnemonic(entropy)).split()


def recovery_key(entropy: bytes) -> NodeKey:
    """Return the recovery key behind `entropy` (HKDF-SHA256, no salt)."""
    seed = HKDF(
        algorithm=hashes.SHA256(), length=32, salt=None, info=b"askmesh/recovery/v1"
    ).derive(entropy)
    return NodeKey(Ed25519PrivateKey.from_private_bytes(seed))


def recovery_from_words(words: str) -> NodeKey:
    """Return the key behind typed words. Raises `Invalid`, never telling how close."""
    text = " ".join(words.lower().split())
    if not _words.check(text):
        raise Invalid(
            "These are not recovery words.",
            hint="Twelve words, in their order; a mistyped one shows here.",
        )
    return recovery_key(bytes(_words.to_entropy(text)))
