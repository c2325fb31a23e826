"""What a mesh is told once, and what it tells and asks the node."""

from collections.abc import Callable, Iterable

import msgspec

from sync.limits import (
    ANNOUNCE_MAX_S,
    ANNOUNCE_MIN_S,
    BACKOFF_FIRST_S,
    BACKOFF_MAX_S,
    NETWORK_POLL_S,
    TICK_S,
)


class Settings(msgspec.Struct, kw_only=True):
    """What a mesh is told once. Tests use smaller times."""

    version: str
    machine: str
    """Alone may change: a machine can be renamed."""
    boot: str
    """Names this run of this machine: another value means that it restarted."""
    bind: str | None = None
    port: int = 7717
    mdns: bool = True
    interfaces: tuple[str, ...] | None = None
    """Names of the only interfaces mDNS may use; None: all that fit."""
    announce_s: tuple[float, float] = (ANNOUNCE_MIN_S, ANNOUNCE_MAX_S)
    backoff_s: tuple[float, float] = (BACKOFF_FIRST_S, BACKOFF_MAX_S)
    tick_s: float = TICK_S
    network_poll_s: float = NETWORK_POLL_S


class Callbacks(msgspec.Struct, frozen=True, kw_only=True):
    """What the mesh tells and asks the node. All are called on the loop and return at once."""

    heard: Callable[[bytes, bytes, bytes], None]
    """Signed presence came: raw, signature, from which node's link. Not checked."""
    carried: Callable[[bytes, bytes, bytes], None]
    """A signed letter came: raw, signature, from which node's link. Not checked."""
    changed: Callable[[bytes | None], None]
    """The status of a member's link changed; None: the port, mDNS or several did."""
    opened: Callable[[bytes], None] = lambda _node: None
    """A link to a member is kept from now on; what an earlier one carried may be lost."""
    homes: Callable[[], Iterable[bytes]] = tuple
    """Homes of open asks: a large fleet keeps links to these besides random ones."""
    links_of: Callable[[bytes], Iterable[bytes]] = lambda _node: ()
    """Whom a node says it is linked to (its presence): these need no relaying to it."""
