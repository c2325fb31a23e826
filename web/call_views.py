"""The exact call behind an approval, as it is shown."""

from typing import Any

import msgspec


class CallSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The call an approval is about, in one line."""

    tool: str
    summary: str
    cwd: str
    size: int
    """Bytes of the canonical call."""
    here: bool
    """Whether the blob is on this node and matches its hash."""
    hidden: int = 0
    """How many arguments never leave the machine that asks."""
    hidden_note: str = ""
    """What that means to who looks, in a sentence; empty where nothing is hidden."""


class FileView(msgspec.Struct, frozen=True, kw_only=True):
    """A file the call would change, as it was when the call was shown."""

    path: str
    sha256: str | None
    """None: the file did not exist."""


class CallView(msgspec.Struct, frozen=True, kw_only=True):
    """The exact call: what is released is what is shown."""

    tool: str
    arguments: Any
    cwd: str
    files: list[FileView]
    diff: str | None
    canonical: str
    """The RFC 8785 text whose digest is compared when the call comes back."""
    digest: str
    whole: bool = True
    """False: some arguments are markers; they can be read on the machine that asks."""
