"""How ids are written: node ids in base32, asks as `<node>-<number>`.

Messages are `<node>-m<number>`: they are counted by themselves.
"""

import base64
import re
from functools import lru_cache

from sync.errors import Invalid

SHORT = 4
"""Characters of the shortest short id; lengthened when two nodes share them."""

NUMBER_MAX = 10**18 - 1
"""The largest number of an ask: what `_ASK` reads."""

_MESSAGE = re.compile(r"(?:([a-z2-7]{1,52})-)?m([1-9][0-9]{0,17})\Z")
_ASK = re.compile(r"(?:([a-z2-7]{1,52})-)?([1-9][0-9]{0,17})\Z")


@lru_cache(maxsize=1024)
def node_name(node_id: bytes) -> str:
    """Return the 52 characters that name a node (lower-case base32, no padding)."""
    return base64.b32encode(node_id).decode("ascii").rstrip("=").lower()


def node_bytes(name: str) -> bytes:
    """Return the 32 bytes behind a node's full name.

    Raises `Invalid`, also for another spelling of a name: one id has one text.
    """
    try:
        raw = base64.b32decode(name.upper() + "====")
    except ValueError:
        raw = b""
    if len(raw) != 32 or node_name(raw) != name:
        raise Invalid(f"{name[:60]!r} is not a node's id.")
    return raw


def ask_name(node_id: bytes, number: int) -> str:
    """Return the full id of an ask."""
    return f"{node_name(node_id)}-{number}"


def split_ask(text: str) -> tuple[str, int]:
    """Split what a person typed into a prefix of the home's id ("" for none) and a number.

    Raises `Invalid` when it is not an ask's id.
    """
    match = _ASK.match(text.strip().lower())
    if match is None:
        raise Invalid(f"{text[:80]!r} is not an ask's id.", hint="An id looks like k7qf-142.")
    return match[1] or "", int(match[2])


def message_name(node_id: bytes, number: int) -> str:
    """Return the full id of a message."""
    return f"{node_name(node_id)}-m{number}"


def split_message(text: str) -> tuple[str, int]:
    """Split what somebody typed into a prefix of the sender's node id and a number.

    Raises `Invalid` when it is not a message's id.
    """
    match = _MESSAGE.match(text.strip().lower())
    if match is None:
        raise Invalid(f"{text[:80]!r} is not a message's id.", hint="An id looks like k7qf-m12.")
    return match[1] or "", int(match[2])


def is_message(full_id: str) -> bool:
    """Whether a full id is a message's, not an ask's."""
    return full_id.rpartition("-")[2].startswith("m")
