"""What a link needs of the store: a Protocol, so that `sync` never imports `node`."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from sync.log.chain import Head
from sync.log.entry import Entry
from sync.log.fork import Evidence, Frozen
from sync.log.vector import Place, Wanted
from sync.wire.testimony import Testimony


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the fleet as a link knows it."""

    node: bytes
    """The node id: SHA-256 of its public key."""
    certificate: bytes
    """DER; pinned."""
    name: str
    removed: bool = False
    """Still answered, but only with the farewell that tells it so."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where a node may be reached."""

    host: str
    """A literal IP address, or a name that someone gave."""
    port: int
    source: str
    """`given` by a person, `good` before, `told` by another node, `mdns`."""
    good_at: int = 0


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a received run."""

    heads: dict[Place, Head]
    """The heads that moved."""
    trouble: str | None = None
    """Why the rest of the run was not stored, as a sentence; None: all was."""
    frozen: dict[Place, Frozen] = {}
    """Logs that this showed to have forked, or to have forked earlier than was known."""
    testimony: Testimony = {}
    """All that was stated beyond forks, where that may have changed."""


class Ledger(Protocol):
    """The store of one node. Everything that is returned is durable."""

    @property
    def node(self) -> bytes:
        """Our own node id."""
        ...

    @property
    def fleet(self) -> bytes:
        """The fleet this node belongs to now."""
        ...

    def now(self) -> int:
        """The judging clock, Unix milliseconds."""
        ...

    async def vector(self) -> dict[Place, Head]:
        """Return how far every log of the fleet is held here."""
        ...

    async def members(self) -> list[Member]:
        """Return every other node whose certificate is known, removed ones too."""
        ...

    async def read(self, wanted: Wanted, *, entries: int, size: int) -> list[Entry]:
        """Return entries from `wanted.first` on, in order, not beyond `wanted.last`.

        At most `entries` of them and about `size` bytes; always one, where there is one.
        """
        ...

    async def keep(self, run: Sequence[Entry], source: bytes) -> Kept:
        """Verify and store received entries (of any authors, each author's in order).

        Never raises for what a peer got wrong: that stands in `Kept.trouble`. Raises
        `StoreError` when the store itself fails; then nothing was stored.
        """
        ...

    def foresee(self, run: Sequence[Entry]) -> None:
        """Be told that `keep` will get this run once those before it are stored.

        What takes long and needs no store may be done meanwhile. Nothing depends on it.
        """
        ...

    async def frozen(self) -> dict[Place, Frozen]:
        """Return every log of the fleet that is known to have forked."""
        ...

    async def convict(self, proofs: Sequence[Evidence]) -> Kept:
        """Verify and keep evidence of forks, as `keep` does entries."""
        ...

    async def testimony(self) -> Testimony:
        """Return what was stated beyond forks, as far as it is kept here."""
        ...

    async def testify(self, hashes: Sequence[bytes], *, size: int) -> list[Entry]:
        """Return these statements from beyond forks: about `size` bytes, but one."""
        ...

    async def attest(self, statements: Sequence[Entry]) -> Kept:
        """Verify and keep statements from beyond forks, as `keep` does entries."""
        ...

    async def blob(self, name: bytes) -> bytes | None:
        """Return a blob with its salt, None when it is not here whole."""
        ...

    async def keep_blob(self, name: bytes, data: bytes) -> None:
        """Store a blob that some ask names; one that none names, or a wrong one, is dropped."""
        ...

    async def missing_blobs(self, limit: int) -> list[bytes]:
        """Return blobs that asks name and that are not here, those of open asks first."""
        ...

    async def farewell(self, node: bytes) -> list[Entry]:
        """Return the entries that prove to a removed node that it was removed."""
        ...

    async def removed(self, proof: Sequence[Entry]) -> None:
        """A peer says that we were removed: check the proof, and remember it if it holds."""
        ...

    async def addresses(self, node: bytes) -> list[Address]:
        """Return where a node may be, best first."""
        ...

    async def reached(self, node: bytes, address: Address | None, version: str) -> None:
        """A link to `node` lives (at `address`, where we dialled)."""
        ...

    async def told(self, node: bytes, addresses: Sequence[Address]) -> None:
        """Another node says where `node` can be reached."""
        ...
