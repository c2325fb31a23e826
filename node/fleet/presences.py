"""What this machine says of itself to the others, and when it says it again.

Said at once after a link came, within a second of a change, and once a minute: nobody is
told more often than a person could look.
"""

import asyncio
import contextlib
import logging
import sqlite3
from typing import Protocol

import msgspec

from node.desk.context import Context
from node.desk.sessions import told
from node.version import VERSION
from sync.errors import AskmeshError
from sync.limits import CHILDREN, DAY_MS, NAME_CHARACTERS, PRESENCE_MS, PROJECT_CHARACTERS
from sync.wire.presence import (
    STATUS_CHARACTERS,
    AddressWord,
    ChildWord,
    Known,
    Presence,
    PresenceBook,
    SessionWord,
    say,
)

DAMPING_S = 1.0
"""Changes within this time are said in one word."""
LAST_HEARD_S = 15.0
"""That a session was merely heard again is said this often at most."""
SESSIONS_TOLD = 100
"""Sessions in one word; the latest are those that someone looks for."""
SESSION_TOLD_MS = DAY_MS
"""A session that nobody heard of for a day is of its own machine's history."""

TOLD = (
    "SELECT id, agent, project, branch, started, last_heard, gate_last, status, ended, at, children"
    " FROM agent_session LEFT JOIN agent_status ON session = id"
    " WHERE last_heard > ? ORDER BY last_heard DESC LIMIT ?"
)

_log = logging.getLogger("askmesh.link")


class Speakers(Protocol):
    """What the mesh does with presence."""

    @property
    def port(self) -> int | None:
        """Where links are taken."""
        ...

    def addresses(self) -> list[str]:
        """Our own addresses that others can use."""
        ...

    def linked(self) -> list[bytes]:
        """The nodes with a live link now."""
        ...

    def presence(self, raw: bytes, signature: bytes, *, without: bytes | None = None) -> None:
        """Send signed presence on every link but one."""
        ...

    def presence_to(self, node: bytes, raw: bytes, signature: bytes) -> None:
        """Send signed presence on the link to one node."""
        ...


class Presences:
    """Speaks for this machine, and passes on what others said."""

    def __init__(self, context: Context, mesh: Speakers, book: PresenceBook, *, boot: str) -> None:
        self._context = context
        self._mesh = mesh
        self._book = book
        self._boot = boot
        self._counter = 0
        self._stale = asyncio.Event()
        self._urgent = asyncio.Event()
        self._fresh: set[bytes] = set()
        self._said: Presence | None = None
        self._said_at = 0.0

    def changed(self) -> None:
        """Something that others are told has changed, or may have."""
        self._stale.set()

    def linked(self, node: bytes) -> None:
        """A link came: it hears from us, then what we know of others."""
        self._fresh.add(node)
        self._stale.set()
        self._urgent.set()

    def pass_on(self, known: Known) -> None:
        """Relay a word to who does not hear it from its author."""
        for node in self._book.relayed_to(known, self._mesh.linked()):
            self._mesh.presence_to(node, known.signed.raw, known.signed.signature)

    async def run(self) -> None:
        """Speak until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PRESENCE_MS / 1000):
                    await self._stale.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DAMPING_S):
                    await self._urgent.wait()
            self._stale.clear()
            self._urgent.clear()
            try:
                await self._speak()
            except AskmeshError as error:
                _log.warning("presence was not said: %s", error.sentence)

    async def _speak(self) -> None:
        fresh, self._fresh = self._fresh, set()
        if not self._mesh.linked():
            return
        presence = await self._context.reader.run(self._presence)
        now = asyncio.get_running_loop().time()
        if not fresh and self._says_nothing_new(presence, now - self._said_at):
            return
        self._said, self._said_at = presence, now
        self._counter += 1
        presence = msgspec.structs.replace(presence, counter=self._counter)
        signed = say(self._context.identity.key, presence)
        self._mesh.presence(signed.raw, signed.signature)
        for node in fresh:
            for other in self._book.for_new_link(node):
                self._mesh.presence_to(node, other.raw, other.signature)

    def _says_nothing_new(self, presence: Presence, elapsed_s: float) -> bool:
        if self._said is None or elapsed_s >= PRESENCE_MS / 1000 - DAMPING_S:
            return False
        if _material(presence) != _material(self._said):
            return False
        return elapsed_s < LAST_HEARD_S or presence.sessions == self._said.sessions

    def _presence(self, connection: sqlite3.Connection) -> Presence:
        context = self._context
        now = context.clock.now()
        port = self._mesh.port
        return Presence(
            fleet=context.identity.fleet,
            node=context.identity.key.node_id,
            boot=self._boot,
            started=context.started,
            counter=0,
            at=now,
            version=VERSION,
            machine=context.machine,
            sessions=_sessions(connection, now),
            links=self._mesh.linked(),
            addresses=[
                AddressWord(host=host, port=port)
                for host in self._mesh.addresses()
                if port is not None
            ],
            seen=self._book.seen(now),
        )


def _material(presence: Presence) -> Presence:
    """Return what of a word somebody would want to hear at once."""
    return msgspec.structs.replace(
        presence,
        counter=0,
        at=0,
        seen=[],
        links=sorted(presence.links),
        sessions=[
            msgspec.structs.replace(
                word, last_heard=0, gate_last=None if word.gate_last is None else 0
            )
            for word in sorted(presence.sessions, key=lambda word: word.id)
        ],
    )


def _sessions(connection: sqlite3.Connection, now: int) -> list[SessionWord]:
    """Return what is said of the sessions here, cut to what a word may hold."""
    return [
        SessionWord(
            id=name[:PROJECT_CHARACTERS],
            agent=agent[:NAME_CHARACTERS],
            project=project[:PROJECT_CHARACTERS],
            branch=None if branch is None else branch[:PROJECT_CHARACTERS],
            started=started,
            last_heard=heard,
            gate_last=gate,
            status=status[:STATUS_CHARACTERS],
            status_at=at,
            children=[
                ChildWord(name=one.name[:NAME_CHARACTERS], doing=one.doing[:STATUS_CHARACTERS])
                for one in told(children)[:CHILDREN]
            ],
            ended=bool(ended),
        )
        for name, agent, project, branch, started, heard, gate, status, ended, at, children in (
            connection.execute(TOLD, (now - SESSION_TOLD_MS, SESSIONS_TOLD))
        )
    ]
