"""This node among the others: its links, what it says of itself, letters, what it shows.

Wires `sync.net.mesh` to the store and the desks. Nothing here decides about an ask.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from node.desk import far, holding
from node.desk.answers import Answers
from node.desk.context import Context
from node.fleet import addresses
from node.fleet.ledger import StoreLedger
from node.fleet.letters import Letters
from node.fleet.presences import Presences
from node.fleet.sight import LinkSight
from node.store import hold, introduced
from node.store.transaction import Transaction
from node.version import VERSION
from sync.errors import AskmeshError, BadFrame
from sync.limits import HOUR_MS, STORE_RETRY_S
from sync.log.entry import Entry, sha256
from sync.log.names import node_bytes, node_name
from sync.net.ledger import Address
from sync.net.mesh import Callbacks, Mesh, Settings
from sync.wire.comparing import Sight
from sync.wire.letter import Postbox
from sync.wire.presence import Known, PresenceBook
from sync.wire.signed import Signed

HOLD_POLL_S = 0.5
"""While this node is on hold, how often the links are asked whether one knows its last entries."""
TELL_S = 0.25
"""What changes on several links at once is numbered in one go."""
HOMES_EVERY_S = 1.0
"""How often the homes of open asks are read anew while asks come and go."""
TAKEN_BACK_MS = HOUR_MS
"""An answer is taken back soon after it was given, or hardly ever."""
OWN_NAME = "SELECT name FROM node WHERE id = ?"
HOMES = (
    "SELECT home FROM (SELECT home, created FROM ask WHERE state = 'waiting'"
    " UNION ALL SELECT home, created FROM ask WHERE +state = 'closed' AND closed > ?)"
    " WHERE home != ? GROUP BY home ORDER BY max(created) DESC"
)
"""Homes that an answer from here may have to reach, those of the newest asks first."""

LetterTo = Callable[[str, str, Any], Awaitable[None]]
Linked = Callable[[str], Awaitable[None]]

_log = logging.getLogger("askmesh.link")


class Seen(NamedTuple):
    """That a machine was running, to be remembered over a restart of this one."""

    at: int
    by: bytes
    version: str


class Network:
    """Everything of one node that talks to other nodes."""

    def __init__(
        self,
        context: Context,
        answers: Answers,
        sight: LinkSight,
        settings: Settings,
    ) -> None:
        self._context = context
        self._sight = sight
        self._settings = settings
        self.ledger = StoreLedger(context, answers, self.members_changed)
        self._keys: dict[bytes, bytes] = {}
        self._homes: tuple[bytes, ...] = ()
        self._asks_moved = asyncio.Event()
        self._linked: set[bytes] = set()
        self._moved: set[bytes] = set()
        self._sightings: dict[bytes, Seen] = {}
        self._early: dict[bytes, Signed] = {}
        """The last presence of each link that was of nobody known here, or not sound."""
        self._news: dict[tuple[str, str], None] = {}
        self._to_tell = asyncio.Event()
        self._look_at_hold = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._switching = asyncio.Lock()
        self._stopped = False
        self._letter: LetterTo | None = None
        self._on_link: Linked | None = None
        self._make()

    def _make(self) -> None:
        """Begin with the fleet and the key of now."""
        self._linked.clear()
        self._keys.clear()
        self._early.clear()
        context = self._context
        node = context.identity.key.node_id
        self._fleet = context.identity.fleet
        self._book = PresenceBook(self._fleet, node)
        self.mesh = Mesh(
            self.ledger,
            context.identity.key,
            self._settings,
            Callbacks(
                heard=self._heard,
                carried=self._carried,
                changed=self._changed,
                opened=self._greet,
                homes=lambda: self._homes,
                links_of=self._book.links_of,
            ),
            random=context.random,
        )
        self.letters = Letters(
            context,
            self.mesh,
            Postbox(self._fleet, node),
            members=lambda: [one for one in self._keys if one != node],
            key_of=self._keys.get,
        )
        self._presences = Presences(context, self.mesh, self._book, boot=self._settings.boot)
        self._sight.look_through(self.mesh, self._book, here=node, version=VERSION)

    # --- from the node --------------------------------------------------------------------

    def serve(self, letter: LetterTo, linked: Linked) -> None:
        """Say who reads letters, and who is told of a new link."""
        self._letter = letter
        self._on_link = linked

    async def start(self) -> None:
        """Read who belongs; link, speak, tell. After `stop` as well."""
        if self._stopped:
            self._stopped = False
            self._make()
        await self._begin()

    async def _begin(self) -> None:
        await self._read()
        await self.mesh.start()
        self._run(self._presences.run())
        self._run(self._tell())
        self._run(self._follow_homes())
        self._run(self._watch_hold())

    async def stop(self) -> None:
        """End every link with a goodbye."""
        self._stopped = True
        async with self._switching:
            await self._end()

    async def _end(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.mesh.stop()

    async def renew(self) -> None:
        """This node has another fleet, or another key: begin with these."""
        # Two at once would leave a mesh behind that nobody stops.
        async with self._switching:
            if self._stopped:
                return
            await self._end()
            self._make()
            await self._begin()
        self._news["fleet", self._context.identity.name] = None
        self._to_tell.set()

    def unacknowledged(self) -> bool:
        """Whether somebody who is linked has not yet acknowledged all there is."""
        return any(
            status is not None and status.behind_them
            for status in map(self.mesh.status, self.mesh.linked())
        )

    def stored(self, entries: Sequence[Entry]) -> None:
        """Entries were committed here: everyone else wants them."""
        if any(entry.header.fleet != self._fleet for entry in entries):
            entries = [entry for entry in entries if entry.header.fleet == self._fleet]
        if entries:
            self.mesh.push(entries)

    async def send(self, to: str | None, kind: str, body: dict[str, Any]) -> bool:
        """Send a letter (`node.desk.post.Post`)."""
        return await self.letters.send(to, kind, body)

    def noticed(self, topics: Iterable[str]) -> None:
        """Changes of these topics were numbered; some are told to others."""
        if "session" in topics:
            self._presences.changed()
        if "ask" in topics:
            self._asks_moved.set()
        if "fleet" in topics:
            self._look_at_hold.set()

    async def _watch_hold(self) -> None:
        """Go on once somebody who is linked has told this node its own last entries."""
        context = self._context
        while True:
            self._look_at_hold.clear()
            while await context.reader.run(hold.kept) is not None:
                if self.mesh.knows_us() is Sight.SAME:
                    with contextlib.suppress(AskmeshError):
                        await context.writer.run("go on", holding.known)
                await asyncio.sleep(HOLD_POLL_S)
            await self._look_at_hold.wait()

    def members_changed(self) -> None:
        """Members, their certificates or addresses changed."""
        if self._stopped:
            return
        self.mesh.members_changed()
        self._run(self._read())

    # --- who belongs -----------------------------------------------------------------------

    async def _read(self) -> None:
        def read(
            connection: sqlite3.Connection,
        ) -> tuple[dict[bytes, bytes], tuple[bytes, ...], str]:
            keys = {one.node: one.public_key for one in introduced.known(connection)}
            keys |= {
                sha256(public_key): bytes(public_key)
                for (public_key,) in connection.execute(
                    "SELECT public_key FROM node WHERE removed IS NULL"
                )
            }
            own = connection.execute(OWN_NAME, (self._context.identity.name,)).fetchone()
            name = self._context.machine if own is None else str(own[0])
            return keys, self._read_homes(connection), name

        with contextlib.suppress(AskmeshError):
            keys, self._homes, name = await self._context.reader.run(read)
            self._context.machine = self._settings.machine = name
            fresh = keys.keys() - self._keys.keys()
            self._keys.clear()
            self._keys.update(keys)
            self._book.keep_only(keys)
            self._presences.changed()
            # A link may be up before its key is known here: what was said then said nothing.
            for node in fresh & self._linked:
                self._greet(node)
            if fresh:
                early, self._early = self._early, {}
                for source, signed in early.items():
                    self._heard(signed.raw, signed.signature, source)

    def _read_homes(self, connection: sqlite3.Connection) -> tuple[bytes, ...]:
        since = self._context.clock.now() - TAKEN_BACK_MS
        homes = connection.execute(HOMES, (since, self._context.identity.name))
        return tuple(node_bytes(home) for (home,) in homes)

    async def _follow_homes(self) -> None:
        """In a large fleet, link to the home of an ask as soon as the ask is here."""
        while True:
            await self._asks_moved.wait()
            self._asks_moved.clear()
            if not self.mesh.is_full:
                with contextlib.suppress(AskmeshError):
                    self._homes = await self._context.reader.run(self._read_homes)
                    self.mesh.homes_changed()
            await asyncio.sleep(HOMES_EVERY_S)

    # --- from the mesh (`sync.net.settings.Callbacks`) --------------------------------------

    def _heard(self, raw: bytes, signature: bytes, source: bytes) -> None:
        try:
            known = self._book.hear(
                Signed(raw=raw, signature=signature),
                source=source,
                key_of=self._keys.get,
                now=self._context.clock.now(),
            )
        except BadFrame as error:
            _log.info("presence was passed over: %s", error.sentence)
            # Whose key comes with the next entries is listened to then.
            self._early[source] = Signed(raw=raw, signature=signature)
            return
        if known is not None:
            self._presences.pass_on(known)
            self._learn(known)

    def _learn(self, known: Known) -> None:
        """Use what a machine says of itself."""
        presence = known.presence
        node = node_name(presence.node)
        for word in presence.sessions:
            self._news["session", word.id] = None
        self._news["fleet", node] = None
        own = known.by == presence.node
        by = self._context.identity.key.node_id if own else known.by
        self._sightings[presence.node] = Seen(known.heard, by, presence.version)
        self._to_tell.set()
        told = [
            Address(host=word.host, port=word.port, source="told") for word in presence.addresses
        ]
        if told:
            self._run(self._told(presence.node, told))

    async def _told(self, node: bytes, told: Sequence[Address]) -> None:
        with contextlib.suppress(AskmeshError):
            await self.ledger.told(node, told)

    def _carried(self, raw: bytes, signature: bytes, source: bytes) -> None:
        try:
            self.letters.carried(Signed(raw=raw, signature=signature), source, self._deliver)
        except BadFrame as error:
            _log.info("a letter was passed over: %s", error.sentence)

    def _deliver(self, sender: str, kind: str, body: Any) -> None:  # noqa: ANN401 -- any JSON
        if self._letter is not None:
            self._run(self._letter(sender, kind, body))

    def _changed(self, node: bytes | None) -> None:
        self._news["fleet", self._context.identity.name if node is None else node_name(node)] = None
        linked = set(self.mesh.linked())
        for gone in self._linked - linked:
            self._lost(gone)
        self._moved |= linked ^ self._linked
        if linked != self._linked:
            self._presences.changed()
        self._linked = linked
        self._to_tell.set()

    def _lost(self, node: bytes) -> None:
        """Remember until when a machine was there."""
        status = self.mesh.status(node)
        if status is not None and status.last_heard is not None:
            here = self._context.identity.key.node_id
            self._sightings[node] = Seen(status.last_heard, here, status.version or "")

    def _greet(self, node: bytes) -> None:
        """Tell a machine that is linked what it missed so far."""
        self._presences.linked(node)
        if self._on_link is not None:
            self._run(self._on_link(node_name(node)))

    # --- telling the pages -------------------------------------------------------------------

    async def _tell(self) -> None:
        """Number what changed by links alone, so that pages and waiters look again."""
        while True:
            await self._to_tell.wait()
            self._to_tell.clear()
            news, self._news = self._news, {}
            moved, self._moved = self._moved, set()
            sightings, self._sightings = self._sightings, {}
            job = partial(_tell, news=news, moved=moved, sightings=sightings)
            try:
                await self._context.writer.run("links", job)
            except AskmeshError as error:
                _log.warning("the pages were not told of the links: %s", error.sentence)
                # They are told once there is room again: what moved meanwhile stays true.
                self._news = news | self._news
                self._moved |= moved
                self._sightings = sightings | self._sightings
                self._to_tell.set()
                await asyncio.sleep(STORE_RETRY_S)
            else:
                await asyncio.sleep(TELL_S)

    def _run(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("a task of the links failed", exc_info=task.exception())


def _tell(
    transaction: Transaction,
    *,
    news: Iterable[tuple[str, str]],
    moved: Iterable[bytes],
    sightings: Mapping[bytes, Seen],
) -> None:
    for node, seen in sightings.items():
        addresses.sighted(
            transaction, node_name(node), seen.at, by=node_name(seen.by), version=seen.version
        )
    for node in moved:
        far.tell_cards(transaction, node_name(node))
    for topic, ref in news:
        transaction.change(topic, ref)
