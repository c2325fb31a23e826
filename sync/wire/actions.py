"""What a session wants done: the shell (`sync.net.link`) carries it out, in this order."""

import msgspec

from sync.log.entry import Entry
from sync.log.fork import Evidence
from sync.log.vector import Wanted


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all actions."""


class Send(Action, frozen=True, kw_only=True):
    """Send one frame (a binary WebSocket message)."""

    frame: bytes


class Read(Action, frozen=True, kw_only=True):
    """Read these entries and call `Session.have_read`."""

    wanted: Wanted
    entries: int
    size: int


class Keep(Action, frozen=True, kw_only=True):
    """Store these entries and call `Session.kept` once that is durable."""

    entries: tuple[Entry, ...]


class Convict(Action, frozen=True, kw_only=True):
    """Verify and store evidence of forks, and call `Session.froze`."""

    evidence: tuple[Evidence, ...]


class Testify(Action, frozen=True, kw_only=True):
    """Read these statements from beyond a fork and call `Session.have_testimony`."""

    hashes: tuple[bytes, ...]
    size: int


class Attest(Action, frozen=True, kw_only=True):
    """Verify and store statements from beyond a fork, and call `Session.attested`."""

    author: bytes
    statements: tuple[Entry, ...]


class Recount(Action, frozen=True, kw_only=True):
    """Read the vector of the store and call `Session.moved`."""


class FindBlobs(Action, frozen=True, kw_only=True):
    """Read which blobs are lacking and call `Session.want_blobs`."""

    limit: int


class ReadBlob(Action, frozen=True, kw_only=True):
    """Read a blob and call `Session.have_blob`."""

    name: bytes


class KeepBlob(Action, frozen=True, kw_only=True):
    """Store a blob that came whole and matches its name."""

    name: bytes
    data: bytes


class Heard(Action, frozen=True, kw_only=True):
    """Signed presence of some node (`sync.wire.presence.Signed`), not checked yet."""

    raw: bytes
    signature: bytes


class Carried(Action, frozen=True, kw_only=True):
    """A signed letter to some node (`sync.wire.letter.Letter`), not checked yet."""

    raw: bytes
    signature: bytes


class Farewell(Action, frozen=True, kw_only=True):
    """The peer says that we were removed, with the entries that prove it."""

    proof: tuple[Entry, ...]


class Opened(Action, frozen=True, kw_only=True):
    """The peer's HELLO fits ours: the link counts as connected from here on."""

    port: int | None = None
    """Where the peer takes links."""
    run: str = ""
    """Which run of its program the peer is."""


class Close(Action, frozen=True, kw_only=True):
    """Close the link; `reason` is a sentence for persons on this side."""

    code: int
    reason: str
