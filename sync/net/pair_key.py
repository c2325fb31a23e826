"""The key that a pairing code stands for: slow to derive on purpose."""

import asyncio
import hashlib
from typing import Final

from sync.wire.pairing_code import Code

COST: Final = 2**16
"""With 8 blocks: 64 MiB and some 140 ms for each guess."""
BLOCKS: Final = 8
MEMORY: Final = 128 * 1024 * 1024
"""OpenSSL refuses more than 32 MiB unless told."""
KEY_BYTES: Final = 32
SALT: Final = b"pair/v1"


def stretched(code: Code, sid: bytes) -> bytes:
    """Return scrypt of the code's twelve symbols; the offer's id is part of the salt."""
    return hashlib.scrypt(
        code.secret, salt=SALT + sid, n=COST, r=BLOCKS, p=1, maxmem=MEMORY, dklen=KEY_BYTES
    )


async def stretch(code: Code, sid: bytes) -> bytes:
    """The same without stopping the loop."""
    return await asyncio.to_thread(stretched, code, sid)
