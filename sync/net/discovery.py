"""Finding other machines near by (mDNS): a hint about where to dial, never a decision.

Nothing that is announced is secret, and nothing that is read is believed: whoever answers
must still show the pinned certificate, or know the pairing code.
"""

from collections.abc import Callable, Sequence

import msgspec

from sync.net.ledger import Address


class Offered(msgspec.Struct, frozen=True, kw_only=True):
    """A machine near by that shows a pairing code right now."""

    name: str
    sid: bytes
    addresses: tuple[Address, ...]
    """Of its pairing listener, to be tried in this order."""


class Announced(msgspec.Struct, frozen=True, kw_only=True):
    """What this node tells its network."""

    port: int
    sid: bytes | None = None
    """While pairing: the id of the offer, the port of its listener and our name."""
    pairing_port: int = 0
    name: str = ""


class Discovery:
    """mDNS of one node. No fault of the network raises; `state` says what does not work."""

    def __init__(
        self,
        node: bytes,
        seen: Callable[[bytes, Sequence[Address]], None],
        *,
        random: Callable[[int], bytes],
        bind: str | None = None,
        interfaces: Sequence[str] | None = None,
    ) -> None:
        raise NotImplementedError

    @property
    def state(self) -> str:
        """`on`, `off`, or the sentence why it does not work."""
        raise NotImplementedError

    async def start(self) -> None:
        """Begin to look for others."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Say goodbye and close."""
        raise NotImplementedError

    def announce(self, announced: Announced | None) -> None:
        """Tell this from now on (None: nothing)."""
        raise NotImplementedError

    async def offers(self, seconds: float = 2.0) -> list[Offered]:
        """Return who shows a pairing code; looks for so long."""
        raise NotImplementedError
