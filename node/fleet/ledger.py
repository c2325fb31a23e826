"""The store as links see it: implements `sync.net.ledger.Ledger`.

What arrives is verified and stored by `node.store.receive`; votes that reach their home
are ruled on in the same transaction, so that an answer given far away waits for nothing.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial

from node.desk import carrying, erasing, holding, recovering
from node.desk.answers import Answers
from node.desk.context import Context
from node.fleet import addresses, removal
from node.fleet.foreseeing import check, public_keys
from node.store import exchange, forks, introduced, receive, testimony
from node.store.transaction import Transaction
from node.store.writer import Job
from node.whole import follow, whole
from sync.log.chain import Head
from sync.log.entry import Entry, sha256
from sync.log.fork import Evidence, Frozen
from sync.log.names import node_name
from sync.log.vector import Place, Wanted
from sync.net.certificate import fits
from sync.net.ledger import Address, Kept, Member
from sync.wire.testimony import Testimony

FORESEEN_LEAST = 64
"""Entries from which on it is worth a thread: fewer are stored before that has begun."""

_own = lru_cache(maxsize=1024)(fits)
"""Whether a certificate is of this key: decoding one is too slow for every look."""


class StoreLedger:
    """One node's store, for the mesh and its links."""

    def __init__(
        self, context: Context, answers: Answers, members_changed: Callable[[], None]
    ) -> None:
        self._context = context
        self._answers = answers
        self._members_changed = members_changed
        self._over: set[exchange.Named] = set()
        """Blobs that are lacking and belong here no more, in the fleet of `_over_of`."""
        self._over_of = b""

    @property
    def node(self) -> bytes:
        """Our own node id."""
        return self._context.identity.key.node_id

    @property
    def fleet(self) -> bytes:
        """The fleet this node belongs to now."""
        return self._context.identity.fleet

    def now(self) -> int:
        """The judging clock."""
        return self._context.clock.now()

    async def vector(self) -> dict[Place, Head]:
        """How far every log of the fleet is held here."""
        return await self._context.reader.run(exchange.vector)

    async def members(self) -> list[Member]:
        """Every other node whose certificate is known.

        Those who let this node in are among them before its log names anyone: without a
        link to them it would never learn the log. Nobody else is linked to on the word of
        a statement that does not count yet: who brings what it waits for is a member.
        """
        here = self._context.identity.name
        return await self._context.reader.run(partial(_members, here=here))

    async def read(self, wanted: Wanted, *, entries: int, size: int) -> list[Entry]:
        """A stretch of one log."""
        fleet = self.fleet
        return await self._context.reader.run(
            lambda connection: exchange.entries(
                connection, fleet, wanted, entries=entries, size=size
            )
        )

    async def keep(self, run: Sequence[Entry], source: bytes) -> Kept:  # noqa: ARG002 -- for logs
        """Verify, store, and rule on the votes among them, in one transaction."""

        def job(transaction: Transaction) -> receive.Received:
            received = receive.keep(transaction, run)
            if any(author == self.node for author, _ in received.kept.heads):
                # Only a store that was put back lacks what it has said itself.
                holding.behind(transaction)
            if transaction.erases:
                erasing.close_erased(transaction)
            return self._after(transaction, received)

        return await whole(self._stored("receive", job))

    def _after(self, transaction: Transaction, received: receive.Received) -> receive.Received:
        """Do what arrived asks of this home."""
        if received.members_moved:
            recovering.hear(transaction)
        if received.mailed:
            carrying.receive(transaction, anew=received.members_moved)
        for ask in received.voted:
            self._answers.rule(transaction, ask)
        return received

    def foresee(self, run: Sequence[Entry]) -> None:
        """Check a run's signatures on other processors while the writer is at work."""
        if len(run) >= FORESEEN_LEAST:
            follow(self._foresee(run))

    async def _foresee(self, run: Sequence[Entry]) -> None:
        keys = await self._context.reader.run(public_keys)
        await asyncio.to_thread(check, run, keys)

    async def _stored(self, name: str, job: Job[receive.Received]) -> Kept:
        """Store, and do what follows; the link that brought it may be gone by then."""
        received = await self._context.writer.run(name, job)
        if received.members_moved:
            self._members_changed()
        if received.erased:
            await erasing.wipe(self._context)
        return received.kept

    async def frozen(self) -> dict[Place, Frozen]:
        """Every log of the fleet that is known to have forked."""
        fleet = self.fleet
        return await self._context.reader.run(lambda connection: forks.known(connection, fleet))

    async def convict(self, proofs: Sequence[Evidence]) -> Kept:
        """Verify and keep evidence of forks."""

        def job(transaction: Transaction) -> receive.Received:
            received = receive.convict(transaction, proofs)
            return self._after(transaction, received)

        return await whole(self._stored("convict", job))

    async def testimony(self) -> Testimony:
        """What was stated beyond forks."""
        fleet = self.fleet
        return await self._context.reader.run(lambda connection: testimony.said(connection, fleet))

    async def testify(self, hashes: Sequence[bytes], *, size: int) -> list[Entry]:
        """Some of it."""
        fleet = self.fleet
        return await self._context.reader.run(
            lambda connection: testimony.read(connection, fleet, hashes, size=size)
        )

    async def attest(self, statements: Sequence[Entry]) -> Kept:
        """Verify and keep statements from beyond forks."""

        def job(transaction: Transaction) -> receive.Received:
            received = receive.attest(transaction, statements)
            return self._after(transaction, received)

        return await whole(self._stored("attest", job))

    async def blob(self, name: bytes) -> bytes | None:
        """A blob with its salt."""
        return await asyncio.to_thread(self._context.blobs.salted, name)

    async def keep_blob(self, name: bytes, data: bytes) -> None:
        """Store a blob that some ask names."""
        asks = await self._context.reader.run(
            lambda connection: [
                ask for (ask,) in connection.execute("SELECT id FROM ask WHERE blob = ?", (name,))
            ]
        )
        if not await self._wanted(name):
            return
        if await asyncio.to_thread(self._context.blobs.keep, name, data):
            if not await self._wanted(name):
                # Its words were erased meanwhile.
                await asyncio.to_thread(self._context.blobs.wipe, [name])
            await self._tell(asks)

    async def _wanted(self, blob: bytes) -> bool:
        return await self._context.reader.run(
            lambda connection: exchange.is_wanted(connection, blob)
        )

    async def missing_blobs(self, limit: int) -> list[bytes]:
        """Blobs that asks name and that are not here."""
        if self._over_of != self.fleet:
            self._over_of, self._over = self.fleet, set()
        over = self._over

        def read(connection: sqlite3.Connection) -> list[bytes]:
            here = self._context.blobs.names()
            return exchange.missing_blobs(connection, here, over, limit)

        return await self._context.reader.run(read)

    async def farewell(self, node: bytes) -> list[Entry]:
        """What proves to a removed node that it was removed."""
        return await self._context.reader.run(
            lambda connection: removal.proof(connection, self.fleet, node)
        )

    async def removed(self, proof: Sequence[Entry]) -> None:
        """A peer says that we were removed."""
        await whole(self._accepted(proof))

    async def _accepted(self, proof: Sequence[Entry]) -> None:
        if await self._context.writer.run(
            "removed", lambda transaction: removal.accept(transaction, proof)
        ):
            self._members_changed()

    async def addresses(self, node: bytes) -> list[Address]:
        """Where a node may be, best first."""
        return await self._context.reader.run(
            lambda connection: addresses.known(connection, node_name(node))
        )

    async def reached(self, node: bytes, address: Address | None, version: str) -> None:
        """A link to `node` lives."""
        here = self._context.identity.name
        await self._context.writer.run(
            "reached",
            lambda transaction: addresses.reached(
                transaction, node_name(node), address, version=version, by=here
            ),
        )

    async def told(self, node: bytes, given: Sequence[Address]) -> None:
        """Another node says where `node` can be reached."""
        fresh = await self._context.reader.run(
            lambda connection: addresses.fresh(connection, node_name(node), given)
        )
        if fresh:
            await self._context.writer.run(
                "told",
                lambda transaction: addresses.told(transaction, node_name(node), fresh),
            )

    async def _tell(self, asks: Iterable[str]) -> None:
        def job(transaction: Transaction) -> None:
            for ask in asks:
                transaction.change("ask", ask)

        await self._context.writer.run("blob", job)


def _members(connection: sqlite3.Connection, *, here: str) -> list[Member]:
    stated = [
        Member(
            node=sha256(public_key),
            certificate=certificate,
            name=name,
            removed=removed is not None,
        )
        for public_key, certificate, name, removed in connection.execute(
            "SELECT public_key, certificate, name, removed FROM node"
            " WHERE id != ? AND certificate IS NOT NULL",
            (here,),
        )
        # Whoever states another one's certificate for its own would take its place at the door.
        if _own(certificate, public_key)
    ]
    named = [
        Member(node=one.node, certificate=one.certificate, name=one.name)
        for one in introduced.known(connection)
        if node_name(one.node) != here and _own(one.certificate, one.public_key)
    ]
    return stated + named
