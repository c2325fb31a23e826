"""The sessions of a node's links: what they share, and how each is begun."""

from collections.abc import Callable, Sequence

from sync.log.entry import Entry
from sync.log.kinds import EntryType
from sync.net.contract import Session
from sync.net.dialling import chance_of
from sync.net.ledger import Ledger, Member
from sync.net.settings import Settings
from sync.wire import session
from sync.wire.claims import Claims
from sync.wire.held import Held

LOADS = 3
"""Readings before a node that stores all the time is only moved on."""


class Sessions:
    """Makes the session of each link."""

    def __init__(
        self,
        ledger: Ledger,
        settings: Settings,
        *,
        random: Callable[[int], bytes],
        port: Callable[[], int | None],
    ) -> None:
        self._ledger = ledger
        self._settings = settings
        self._chance = chance_of(random)
        self._port = port
        self._held = Held()
        self._claims = Claims()

    async def load(self) -> None:
        """Read how far everything is held. Raises `StoreError`.

        A removal lowers how far a log counts, so heads are replaced, unless entries were
        stored meanwhile: then they only move up, until the next reading.
        """
        for _ in range(LOADS):
            moves = self._held.moves
            frozen = await self._ledger.frozen()
            vector = await self._ledger.vector()
            testimony = await self._ledger.testimony()
            self._held.froze(frozen)
            still = self._held.moves == moves
            self._held.testified(testimony, whole=True)
            if still:
                self._held.replace(vector)
                return
        self._held.moved(vector)

    def stored(self, entries: Sequence[Entry]) -> None:
        """These entries are durable here."""
        self._held.stored(entries)
        own = self._ledger.node
        if any(one.header.type == EntryType.ASK and one.header.author != own for one in entries):
            self._claims.blobs_moved += 1

    def forget(self) -> None:
        """This node belongs to another fleet: nothing is shared with what was."""
        self._held = Held()
        self._claims = Claims()

    def new(self, member: Member) -> Session:
        """Return the session of a new link to `member`."""
        us = session.Us(
            fleet=self._ledger.fleet,
            node=self._ledger.node,
            boot=self._settings.boot,
            version=self._settings.version,
            machine=self._settings.machine,
            port=self._port(),
        )
        return session.Session(
            us,
            member.node,
            held=self._held,
            claims=self._claims,
            clock=self._ledger.now,
            chance=self._chance,
        )
