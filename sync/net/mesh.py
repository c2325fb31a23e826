"""Every link of one node: who is dialled, who is let in, and how each link stands.

One keeper for each member dials until there is a link; links that come in count just the
same. Nothing here decides about entries: links run `sync.wire.session.Session` over the
`Ledger`.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum

import msgspec

from sync.log.entry import Entry, NodeKey
from sync.net.discovery import Offered
from sync.net.ledger import Address, Ledger


class LinkState(Enum):
    """How the link to one member stands."""

    CONNECTED = "connected"
    DIALLING = "dialling"
    WAITING = "waiting"
    """Between two tries, or not dialled from here (a fleet larger than a full mesh)."""


class LinkStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the link to one member stands, for persons."""

    state: LinkState
    address: str | None = None
    """`host:port` of the other end, now or at the last link."""
    round_trip_ms: float | None = None
    behind_us: int = 0
    """Entries it has told of that are not here yet."""
    behind_them: int = 0
    """Entries here that it has not acknowledged."""
    version: str | None = None
    skew_ms: int | None = None
    """How far its clock is ahead of ours."""
    trouble: str | None = None
    """Why there is no link, or what hinders this one; a sentence."""
    since: int | None = None
    """Judging clock: since when the state is as it is."""
    last_heard: int | None = None
    """Judging clock: when it last said anything on a link."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a mesh is told once. Tests use smaller times."""

    version: str
    machine: str
    boot: str
    """Names this run of this machine: another value means that it restarted."""
    bind: str | None = None
    port: int = 7717
    mdns: bool = True
    interfaces: tuple[str, ...] | None = None
    """Names of the only interfaces mDNS may use; None: all that fit."""


class Callbacks(msgspec.Struct, frozen=True, kw_only=True):
    """What the mesh tells the node. All are called on the event loop and return at once."""

    heard: Callable[[bytes, bytes, bytes], None]
    """Signed presence came: raw, signature, from which node's link. Not checked."""
    carried: Callable[[bytes, bytes, bytes], None]
    """A signed letter came: raw, signature, from which node's link. Not checked."""
    changed: Callable[[bytes | None], None]
    """The status of a member's link changed; None: the port, mDNS or several did."""
    homes: Callable[[], Iterable[bytes]] = tuple
    """Homes of open asks: a large fleet keeps links to these besides random ones."""


class Mesh:
    """The links of one node."""

    def __init__(
        self,
        ledger: Ledger,
        key: NodeKey,
        settings: Settings,
        callbacks: Callbacks,
        *,
        random: Callable[[int], bytes],
    ) -> None:
        raise NotImplementedError

    # --- from the node ------------------------------------------------------------------

    async def start(self) -> None:
        """Read the members; listen, dial and announce where there are any.

        Raises nothing for the network's faults.
        """
        raise NotImplementedError

    async def stop(self) -> None:
        """Say goodbye on every link and close everything, within about a second."""
        raise NotImplementedError

    async def listen(self) -> int:
        """Open the listener, if it is not open yet, and return its port (pairing tells it)."""
        raise NotImplementedError

    def members_changed(self) -> None:
        """Read members, fleet and addresses again; close at once what may not stay."""
        raise NotImplementedError

    def push(self, entries: Sequence[Entry], source: bytes | None = None) -> None:
        """Send entries that were just committed; `source`: the node they came from."""
        raise NotImplementedError

    def presence(self, raw: bytes, signature: bytes, *, without: bytes | None = None) -> None:
        """Send signed presence on every link but the one to `without`."""
        raise NotImplementedError

    def send_letter(self, to: bytes, raw: bytes, signature: bytes, *, relay: bool = True) -> bool:
        """Send a signed letter to a node, or (`relay`) to all linked ones to pass on.

        False: it went out on no link.
        """
        raise NotImplementedError

    def pairing(self, sid: bytes | None, port: int = 0) -> None:
        """Announce that a pairing listener waits at `port` (None: no more)."""
        raise NotImplementedError

    async def offers(self, seconds: float = 2.0) -> list[Offered]:
        """Return the machines near by that show a pairing code (none without mDNS)."""
        raise NotImplementedError

    def sighted(self, node: bytes, addresses: Sequence[Address] = ()) -> None:
        """A hint that a node is (at these addresses): dial it now."""
        raise NotImplementedError

    # --- for persons --------------------------------------------------------------------

    def status(self, node: bytes) -> LinkStatus | None:
        """How the link to a node stands; None: there never was an attempt."""
        raise NotImplementedError

    def linked(self) -> list[bytes]:
        """The nodes with a live link now."""
        raise NotImplementedError

    @property
    def port(self) -> int | None:
        """Where links are taken; None: they are not."""
        raise NotImplementedError

    @property
    def mdns(self) -> str:
        """`on`, `off`, or the sentence why it does not work."""
        raise NotImplementedError

    def addresses(self) -> list[str]:
        """Our own addresses that others can use (no port)."""
        raise NotImplementedError
