"""The form of a backup file: a head, then sealed pieces; docs/backup.md has the bytes.

Every byte is covered: what was changed, cut off, appended or put in another place does not
open. Without a passphrase the key follows from the head: that finds damage, hides nothing.
"""

import hashlib
import hmac
import struct
from collections.abc import Callable
from typing import BinaryIO, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from node.limits import BACKUP_PIECE_BYTES, BACKUP_SCRYPT_COST, BACKUP_SCRYPT_MEMORY
from sync.errors import AskmeshError

MAGIC: Final = b"askmesh backup "
FORMAT: Final = 1
SALT_BYTES: Final = 16
CHECK_BYTES: Final = 16
_LINE: Final = MAGIC + str(FORMAT).encode() + b"\n"
_OPEN, _LOCKED = b"0", b"1"
_HEAD_BYTES: Final = len(_LINE) + 1 + SALT_BYTES + CHECK_BYTES
_PIECE: Final = struct.Struct(">BI")
"""Whether it is the last one, and how long it is as sealed."""
_TAG_BYTES: Final = 16


class BackupUnsound(AskmeshError):
    """This backup cannot be used; nothing was changed."""

    code = "backup_unsound"
    status = 400


class WrongPassphrase(AskmeshError):
    """That is not the passphrase of this backup."""

    code = "wrong_passphrase"
    status = 403


def damaged(how: str) -> BackupUnsound:
    """Return the error for a file that is not as it was written."""
    return BackupUnsound(
        f"This backup is damaged: {how}. Nothing was changed.",
        hint="Copy the file anew from where it was kept, or use an older backup.",
    )


class Sealing:
    """Writes one sealed file. `close` writes the last piece, without which nothing opens."""

    def __init__(self, file: BinaryIO, *, passphrase: str | None, salt: bytes) -> None:
        self._file = file
        mode = _OPEN if passphrase is None else _LOCKED
        self._head, key = _head(mode, salt, passphrase)
        self._cipher = ChaCha20Poly1305(key)
        self._held = bytearray()
        self._count = 0
        file.write(self._head)

    def write(self, data: bytes) -> None:
        """Add bytes."""
        self._held += data
        while len(self._held) > BACKUP_PIECE_BYTES:
            piece = bytes(self._held[:BACKUP_PIECE_BYTES])
            del self._held[:BACKUP_PIECE_BYTES]
            self._seal(piece, last=False)

    def close(self) -> None:
        """Seal what is left. The file stays open: the caller makes it durable."""
        self._seal(bytes(self._held), last=True)

    def _seal(self, piece: bytes, *, last: bool) -> None:
        sealed = self._cipher.encrypt(_nonce(self._count, last=last), piece, self._head)
        self._file.write(_PIECE.pack(last, len(sealed)))
        self._file.write(sealed)
        self._count += 1


class Opening:
    """Reads a sealed file, piece by piece, and never returns a byte that was not sealed."""

    def __init__(self, file: BinaryIO, passphrase: Callable[[], str]) -> None:
        """`passphrase` is called once, for a file that needs one.

        Raises `BackupUnsound`, `WrongPassphrase`.
        """
        self._file = file
        self._head = _take(file, _HEAD_BYTES)
        _check_format(self._head)
        mode = self._head[len(_LINE) : len(_LINE) + 1]
        if mode not in (_OPEN, _LOCKED):
            raise damaged("its head was changed")
        salt = self._head[len(_LINE) + 1 : -CHECK_BYTES]
        expected, key = _head(mode, salt, passphrase() if mode == _LOCKED else None)
        if not hmac.compare_digest(expected, self._head):
            if mode == _LOCKED:
                raise WrongPassphrase(hint="It was chosen when the backup was made.")
            raise damaged("its head was changed")
        self._cipher = ChaCha20Poly1305(key)
        self._held = b""
        self._count = 0
        self._ended = False

    def read(self, size: int) -> bytes:
        """Return exactly `size` bytes. Raises `BackupUnsound`."""
        parts: list[bytes] = []
        while size:
            if not self._held:
                self._held = self._open()
            part, self._held = self._held[:size], self._held[size:]
            size -= len(part)
            parts.append(part)
        return b"".join(parts)

    def end(self) -> None:
        """Check that nothing follows. Raises `BackupUnsound`."""
        while not self._ended and not self._held:
            self._held = self._open()
        if self._held or self._file.read(1):
            raise damaged("more follows than belongs to it")

    def _open(self) -> bytes:
        if self._ended:
            raise damaged("it holds less than it says")
        last, size = _PIECE.unpack(_take(self._file, _PIECE.size))
        if last not in (0, 1) or not _TAG_BYTES <= size <= BACKUP_PIECE_BYTES + _TAG_BYTES:
            raise damaged("a byte of it was changed")
        nonce = _nonce(self._count, last=bool(last))
        try:
            piece = self._cipher.decrypt(nonce, _take(self._file, size), self._head)
        except InvalidTag:
            raise damaged("a byte of it was changed") from None
        self._ended = bool(last)
        self._count += 1
        return piece


def _check_format(head: bytes) -> None:
    if not head.startswith(MAGIC):
        raise BackupUnsound("This file is not a backup of askmesh; nothing was changed.")
    if head.startswith(_LINE):
        return
    number = head[len(MAGIC) :].partition(b"\n")[0]
    if number.isdigit() and len(number) <= 4 and int(number) > FORMAT:
        raise BackupUnsound(
            f"This backup has format {int(number)}, which a newer askmesh wrote;"
            f" this one reads format {FORMAT}. Nothing was changed.",
            hint="Install that version of askmesh or a later one, then restore.",
        )
    raise damaged("its head was changed")


def _take(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise damaged("its end is missing")
    return data


def _nonce(count: int, *, last: bool) -> bytes:
    """Each place in a file has its own, and the last piece is known as the last."""
    return count.to_bytes(11, "big") + bytes([last])


def _head(mode: bytes, salt: bytes, passphrase: str | None) -> tuple[bytes, bytes]:
    """Return the head and the key behind it."""
    secret = _stretched(salt, passphrase)
    start = _LINE + mode + salt
    check = hmac.digest(secret[32:], start, hashlib.sha256)[:CHECK_BYTES]
    return start + check, secret[:32]


def _stretched(salt: bytes, passphrase: str | None) -> bytes:
    if passphrase is None:
        return hashlib.sha512(b"askmesh/backup/open/v1\0" + salt).digest()
    return hashlib.scrypt(
        passphrase.encode(),
        salt=salt,
        n=BACKUP_SCRYPT_COST,
        r=8,
        p=1,
        maxmem=BACKUP_SCRYPT_MEMORY,
        dklen=64,
    )
