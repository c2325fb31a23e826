"""Why this machine may not decide anything right now: it is on hold, or its log forked.

A directory that was copied or put back would sign what it has signed before, differently.
So votes, finals and hand-overs wait until a peer has told this node its own head, or a
person says go; asks never wait.
"""

import sqlite3
from enum import Enum

import msgspec

from sync.log.kinds import EntryType

HOLD = "hold"
"""Name of the local value; absent: not on hold."""
NEVER_HELD = frozenset(
    {
        EntryType.ASK,
        EntryType.NOTE,
        EntryType.RESOLVED,
        EntryType.CERTIFICATE,
        EntryType.MESSAGE,
        EntryType.RECEIPT,
        EntryType.BOARD,
    }
)
"""What is written on hold as well: it decides nothing, and agents are never blocked by it."""


class Sign(Enum):
    """What looks as if the directory were a copy, or an old one."""

    COPIED = "copied"
    """It lies on another machine than it was made on, or in another place."""
    PUT_BACK = "put_back"
    """Its store is not the one that was last used in it."""
    BEHIND = "behind"
    """Another machine has more of this machine's own log."""
    RESTORED = "restored"
    """It was restored from a backup."""


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """That this machine is on hold, and since when."""

    sign: Sign
    at: int


_SEEN = {
    Sign.COPIED: "This machine's askmesh data was copied or moved",
    Sign.PUT_BACK: "An older copy of this machine's askmesh data was put back",
    Sign.BEHIND: "Other machines know more of what this one decided than it does itself",
    Sign.RESTORED: "This machine's askmesh data was restored from a backup",
}
FORKED = (
    "The history of this machine split in two: its disk was copied or an old copy was put back."
    " What is decided here from then on reaches nobody. Run `askmesh node rejoin` here."
)


def kept(connection: sqlite3.Connection) -> Hold | None:
    """Return why this machine is on hold; None: it is not."""
    row = connection.execute("SELECT value FROM local WHERE name = ?", (HOLD,)).fetchone()
    return None if row is None else msgspec.json.decode(row[0], type=Hold)


def sentence(hold: Hold) -> str:
    """Return what persons and agents are told."""
    return (
        f"{_SEEN[hold.sign]}, so answers wait on hold until another machine has told it what it"
        " decided last. If none can, and no other copy runs, say so: askmesh node go"
    )


def silenced(connection: sqlite3.Connection, fleet: bytes, node: bytes) -> str | None:
    """Return why nothing may be decided here now, as a sentence; None: all may."""
    forked = connection.execute(
        "SELECT 1 FROM fork WHERE fleet = ? AND author = ?", (fleet, node)
    ).fetchone()
    if forked is not None:
        return FORKED
    hold = kept(connection)
    return None if hold is None else sentence(hold)
