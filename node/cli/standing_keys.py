"""Keys of operators in files, and words signed with them. Needs no node."""

import base64
import binascii
import time
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.serialization import (
    load_pem_private_key,
    load_pem_public_key,
)

from node.cli.stop import Stop
from sync.decide import word

KEY_FILE_BYTES: Final = 16 * 1024
"""A PEM file of such a key has 120."""
MAKE: Final = (
    "Make one: openssl genpkey -algorithm ed25519 -out operator.key;"
    " openssl pkey -in operator.key -pubout -out operator.pub"
)


def public_key(file: Path) -> bytes:
    """Return the raw public key in a file: PEM, or 32 bytes in base64. Raises `Stop`."""
    content = _read(file)
    if b"PRIVATE KEY" in content:
        raise Stop(
            f"{file} holds a private key: whoever has that can hold this fleet's answers back.",
            hint="Give the public one: openssl pkey -in FILE -pubout",
            code="not_a_key",
        )
    try:
        if b"-----BEGIN" in content:
            key = load_pem_public_key(content)
            if isinstance(key, Ed25519PublicKey):
                return key.public_bytes_raw()
        else:
            raw = base64.b64decode(content.strip(), validate=True)
            if len(raw) == word.KEY_BYTES:
                return raw
    except (ValueError, binascii.Error, UnsupportedAlgorithm):
        pass
    raise Stop(f"{file} holds no public Ed25519 key.", hint=MAKE, code="not_a_key")


def private_key(file: Path) -> Ed25519PrivateKey:
    """Return the private key in a PEM file. Raises `Stop`."""
    key: object = None
    try:
        key = load_pem_private_key(_read(file), password=None)
    except TypeError:
        raise Stop(
            f"{file} is encrypted.",
            hint="Decrypt it for this command alone: --key <(openssl pkey -in FILE)",
            code="not_a_key",
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        pass
    if not isinstance(key, Ed25519PrivateKey):
        raise Stop(f"{file} holds no private Ed25519 key.", hint=MAKE, code="not_a_key")
    return key


def signed(key: Ed25519PrivateKey, said: word.Word) -> dict[str, Any]:
    """Return a word as it is sent: three values in base64. Raises `Invalid`."""
    raw = word.pack(said)
    word.read(raw)
    parts = {
        "operator": key.public_key().public_bytes_raw(),
        "word": raw,
        "signature": key.sign(word.PREFIX + raw),
    }
    return {name: base64.b64encode(value).decode() for name, value in parts.items()}


def now_ms() -> int:
    """Return the time of this machine."""
    return time.time_ns() // 1_000_000


def _read(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(KEY_FILE_BYTES)
