"""Lines of the client, each bounded: a message too long is answered, never taken in."""

import re
from typing import BinaryIO, Final

LINE_BYTES: Final = 16 * 1024 * 1024 - 64 * 1024
"""A little below what the node takes, as an id is added to a call."""

LOOK_BYTES: Final = 512
PIECE_BYTES: Final = 1024 * 1024

ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\\x00-\x1f]{0,200}")\s*'
VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
FIRST = re.compile(rb"\s*\{\s*(?:" + VERSION + rb",\s*)?" + ID + rb",")
LAST = re.compile(rb",\s*" + ID + rb"(?:,\s*" + VERSION + rb")?\}\s*$")


class TooLong(Exception):
    """The message is longer than a message may be."""

    def __init__(self, request: str | int | None) -> None:
        super().__init__(f"A message of more than {LINE_BYTES} bytes; nothing was recorded.")
        self.request = request
        """Its id, when it stands where it can be told from an id inside the message."""


def read_line(source: BinaryIO, limit: int = LINE_BYTES) -> bytes | None:
    """The next whole line; None at the end, where a torn last line is dropped.

    Raises `TooLong` after the whole of a line that is too long was read and dropped.
    """
    line = source.readline(limit + 1)
    if line.endswith(b"\n"):
        return line
    if len(line) <= limit:
        return None
    first, last = line[:LOOK_BYTES], line[-LOOK_BYTES:]
    del line
    while not last.endswith(b"\n"):
        piece = source.readline(PIECE_BYTES)
        if not piece:
            return None
        last = (last + piece)[-LOOK_BYTES:]
    raise TooLong(outer_id(first, last))


def outer_id(first: bytes, last: bytes) -> str | int | None:
    """The id of a message seen only at its ends: before anything nested, or after all of it."""
    found = FIRST.match(first) or LAST.search(last)
    if found is None:
        return None
    text = found[1].decode(errors="replace")
    return text[1:-1] if text.startswith('"') else int(text)
