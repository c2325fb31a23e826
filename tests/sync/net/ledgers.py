"""A store in memory: what links need of one, and ways to make it fail."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from sync.errors import BadEntry, Forked, StoreError
from sync.log.chain import EMPTY, Head, extend
from sync.log.entry import Entry, NodeKey, seal, sha256
from sync.log.fork import Evidence, Frozen
from sync.log.kinds import EntryType
from sync.log.vector import Place, Wanted
from sync.net.ledger import Address, Kept, Member
from sync.wire.testimony import Testimony
from tests.sync.log.entries import FLEET, SALT


class MemoryLedger:
    """Implements `sync.net.ledger.Ledger`. Everything is held in lists."""

    def __init__(self, key: NodeKey, *, fleet: bytes = FLEET) -> None:
        self.key = key
        self.fleet = fleet
        self.clock = 1_700_000_000_000
        self.logs: dict[Place, list[Entry]] = defaultdict(list)
        self.blobs: dict[bytes, bytes] = {}
        self.wanted_blobs: set[bytes] = set()
        self.known: dict[bytes, Member] = {}
        self.where: dict[bytes, list[Address]] = defaultdict(list)
        self.reached_log: list[tuple[bytes, Address | None, str]] = []
        self.told_log: list[tuple[bytes, tuple[Address, ...]]] = []
        self.proofs: list[Sequence[Entry]] = []
        self.keeps = 0
        self.failing: StoreError | None = None
        """Every `keep` and `read` fails with this."""
        self.gate = asyncio.Event()
        """Unset: storing waits."""
        self.gate.set()

    @property
    def node(self) -> bytes:
        """Our own node id."""
        return self.key.node_id

    def now(self) -> int:
        """The judging clock."""
        return self.clock

    def append(
        self, count: int = 1, *, kind: int = EntryType.ASK, text: bytes = b"{}"
    ) -> list[Entry]:
        """Write so many entries of our own."""
        made = []
        for _ in range(count):
            place = (self.node, 0 if kind < 64 else 1)
            head = self.head(place)
            one = seal(
                self.key,
                fleet=self.fleet,
                seq=head.seq + 1,
                prev=head.hash,
                hlc=7 << 16,
                entry_type=kind,
                facts=b'{"number":%d}' % (head.seq + 1),
                text=SALT + text,
            )
            self.logs[one.header.author, one.header.log].append(one)
            made.append(one)
        return made

    def head(self, place: Place) -> Head:
        """The head of one log."""
        log = self.logs.get(place)
        return Head(seq=log[-1].header.seq, hash=log[-1].hash) if log else EMPTY

    def count(self) -> int:
        """All entries held."""
        return sum(map(len, self.logs.values()))

    # --- the protocol -----------------------------------------------------------------------

    async def vector(self) -> dict[Place, Head]:
        """How far every log is held."""
        return {place: self.head(place) for place, log in self.logs.items() if log}

    async def members(self) -> list[Member]:
        """Every other node."""
        return list(self.known.values())

    async def read(self, wanted: Wanted, *, entries: int, size: int) -> list[Entry]:
        """A stretch of one log."""
        self._may_fail()
        log = self.logs.get((wanted.author, wanted.log), [])[wanted.first - 1 : wanted.last]
        found: list[Entry] = []
        for one in log[:entries]:
            length = len(one.raw) + len(one.facts) + len(one.text or b"")
            if found and length > size:
                break
            size -= length
            found.append(one)
        return found

    def foresee(self, run: Sequence[Entry]) -> None:
        """Nothing takes long here."""

    async def keep(self, run: Sequence[Entry], source: bytes) -> Kept:
        """Store what continues what is here."""
        del source
        await self.gate.wait()
        self._may_fail()
        self.keeps += 1
        heads: dict[Place, Head] = {}
        for one in run:
            place = (one.header.author, one.header.log)
            if one.header.fleet != self.fleet:
                return Kept(heads=heads, trouble="An entry is of another fleet.")
            try:
                after = extend(self.head(place), one)
            except (BadEntry, Forked) as error:
                return Kept(heads=heads, trouble=error.sentence)
            if after != self.head(place):
                self.logs[place].append(one)
                heads[place] = after
        return Kept(heads=heads)

    async def frozen(self) -> dict[Place, Frozen]:
        """None: here nobody forks."""
        return {}

    async def convict(self, proofs: Sequence[Evidence]) -> Kept:
        """Nothing is kept of it."""
        del proofs
        return Kept(heads={})

    async def testimony(self) -> Testimony:
        """None."""
        return {}

    async def testify(self, hashes: Sequence[bytes], *, size: int) -> list[Entry]:
        """None."""
        del hashes, size
        return []

    async def attest(self, statements: Sequence[Entry]) -> Kept:
        """Nothing is kept of it."""
        del statements
        return Kept(heads={})

    async def blob(self, name: bytes) -> bytes | None:
        """A blob."""
        self._may_fail()
        return self.blobs.get(name)

    async def keep_blob(self, name: bytes, data: bytes) -> None:
        """Store a blob that is wanted."""
        self._may_fail()
        if name in self.wanted_blobs and sha256(data) == name:
            self.blobs[name] = data

    async def missing_blobs(self, limit: int) -> list[bytes]:
        """Wanted blobs that are not here."""
        return sorted(self.wanted_blobs - self.blobs.keys())[:limit]

    async def farewell(self, node: bytes) -> list[Entry]:
        """What proves a removal."""
        del node
        return self.logs[self.node, 0][:1]

    async def removed(self, proof: Sequence[Entry]) -> None:
        """We were removed, it is said."""
        self.proofs.append(proof)

    async def addresses(self, node: bytes) -> list[Address]:
        """Where a node may be."""
        return list(self.where[node])

    async def reached(self, node: bytes, address: Address | None, version: str) -> None:
        """A link lives."""
        self.reached_log.append((node, address, version))

    async def told(self, node: bytes, addresses: Sequence[Address]) -> None:
        """Somebody says where a node is."""
        self.told_log.append((node, tuple(addresses)))

    def _may_fail(self) -> None:
        if self.failing is not None:
            raise self.failing
