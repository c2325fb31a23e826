"""The other machines as this one sees them: from the tables, the links and what others said.

Implements `node.desk.sight.FleetSight`. It is read on any thread: the links and the book of
presence are only asked for single values, which takes no lock.
"""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from node.desk import far
from node.desk.sight import FarSession, Sight
from node.fleet import addresses, removal
from node.fleet.privacy import Running, lines
from node.limits import KEEP_TEXTS_DAYS
from node.store import derive, hold
from sync.decide.card_state import HomeState
from sync.log.names import SHORT, node_bytes, node_name
from sync.net.keeper import LinkState, LinkStatus
from sync.wire.presence import Known, PresenceBook
from web.views import ChildView, FleetMachine, FleetView, MachineView, PrivacyLine

State = Literal["here", "connected", "away", "never_seen", "removed", "must_rejoin"]

ROWS = (
    "SELECT node.id, node.name, joined, removed, coalesce(person.name, removed_by) FROM node"
    " LEFT JOIN person ON person.id = removed_by"
    " ORDER BY removed IS NOT NULL, node.id != ?, node.name, node.id"
)


SPLIT = (
    "The history of {name} split in two: its disk was copied or an old copy was put back. What it"
    " says from then on is disputed, and no machine takes it. Run `askmesh node rejoin` there."
)


class Links(Protocol):
    """What the mesh tells of its links."""

    def status(self, node: bytes) -> LinkStatus | None:
        """How the link to a node stands; None: there never was an attempt."""
        ...

    @property
    def port(self) -> int | None:
        """Where links are taken; None: they are not."""
        ...

    @property
    def mdns(self) -> str:
        """`on`, `off`, or the sentence why it does not work."""
        ...


class Ways(msgspec.Struct, frozen=True, kw_only=True):
    """What runs on this machine that others can reach, for the page on privacy."""

    web_port: int
    mdns_wanted: bool
    keep_texts_days: int = KEEP_TEXTS_DAYS


class LinkSight:
    """What the links and presence tell; without links every machine is away."""

    def __init__(self, ways: Ways) -> None:
        self._ways = ways
        self._here = b""
        self._version = ""
        self._links: Links | None = None
        self._book: PresenceBook | None = None
        self.pairing: Callable[[], bool] = lambda: False
        """Whether a code is being shown."""

    def look_through(self, links: Links, book: PresenceBook, *, here: bytes, version: str) -> None:
        """Take what there is to know from these, from now on."""
        self._here = here
        self._version = version
        self._book = book
        self._links = links

    # --- node.desk.sight.FleetSight -------------------------------------------------------

    def seen(self, connection: sqlite3.Connection, node: str) -> Sight:
        """Return how a machine stands, by its full id."""
        name = node_bytes(node)
        if name == self._here:
            return Sight(state=HomeState.HERE)
        status = self.status(name)
        if status is not None and status.state is LinkState.CONNECTED:
            return Sight(state=HomeState.CONNECTED)
        at, by = self.last(connection, name)
        if at is None:
            return Sight(state=HomeState.NEVER_SEEN)
        names = dict(connection.execute("SELECT id, name FROM node"))
        return Sight(state=HomeState.AWAY, at=at, by=None if by is None else names.get(by))

    def sessions(self) -> Sequence[FarSession]:
        """Return the sessions on other machines, latest word first; times by our clock."""
        known = () if self._book is None else self._book.all()
        return [session for one in known for session in _sessions(one)]

    def view(self, connection: sqlite3.Connection, now: int) -> FleetView:
        """Return every machine as the page shows it."""
        look = _Look(self, connection, now)
        here = node_name(self._here)
        links = self._links
        return FleetView(
            fleet=derive.fleet_of(connection).hex(),
            machines=[look.machine(row) for row in connection.execute(ROWS, (here,))],
            port=None if links is None else links.port,
            mdns="off" if links is None else links.mdns,
            removed=removal.sentence(connection),
            hold=None if (held := hold.kept(connection)) is None else hold.sentence(held),
        )

    def privacy(self, connection: sqlite3.Connection) -> list[PrivacyLine]:
        """Return what leaves this machine, and to whom."""
        links = self._links
        here = node_name(self._here)
        return lines(
            Running(
                web_port=self._ways.web_port,
                port=None if links is None else links.port,
                announces=links is not None and links.port is not None and links.mdns == "on",
                mdns_wanted=self._ways.mdns_wanted,
                machines=[
                    name
                    for (name,) in connection.execute(
                        "SELECT name FROM node WHERE id != ? AND removed IS NULL ORDER BY name",
                        (here,),
                    )
                ],
                pairing=self.pairing(),
                keep_texts_days=self._ways.keep_texts_days,
            )
        )

    # --- what is known of one machine ------------------------------------------------------

    @property
    def version(self) -> str:
        """The program this machine runs."""
        return self._version

    @property
    def here(self) -> bytes:
        """This machine."""
        return self._here

    def status(self, node: bytes) -> LinkStatus | None:
        """How the link to it stands; None: there never was an attempt."""
        return None if self._links is None else self._links.status(node)

    def word(self, node: bytes) -> Known | None:
        """Its newest presence."""
        return None if self._book is None else self._book.get(node)

    def last(self, connection: sqlite3.Connection, node: bytes) -> tuple[int | None, str | None]:
        """When it was last known to be running, and by whom (None: by us)."""
        found: list[tuple[int, str | None]] = []
        status = self.status(node)
        if status is not None and status.last_heard is not None:
            found.append((status.last_heard, None))
        sighting = None if self._book is None else self._book.sighting(node)
        if sighting is not None:
            found.append((sighting.at, None if sighting.by is None else node_name(sighting.by)))
        row = connection.execute(
            "SELECT at, by FROM seen WHERE node = ?", (node_name(node),)
        ).fetchone()
        if row is not None:
            found.append((row[0], None if row[1] == node_name(self._here) else row[1]))
        return max(found, key=lambda one: one[0], default=(None, None))


def _sessions(known: Known) -> list[FarSession]:
    """Return what a machine says of its sessions; its clock may differ from ours."""
    ahead = known.presence.at - known.heard
    return [
        FarSession(
            node=node_name(known.presence.node),
            id=word.id,
            agent=word.agent,
            project=word.project,
            branch=word.branch,
            started=max(0, word.started - ahead),
            last_heard=max(0, word.last_heard - ahead),
            gate_last=None if word.gate_last is None else max(0, word.gate_last - ahead),
            status=word.status,
            status_at=None if word.status_at is None else max(0, word.status_at - ahead),
            children=[ChildView(name=one.name, doing=one.doing) for one in word.children],
            ended=word.ended,
            heard=known.heard,
        )
        for word in known.presence.sessions
    ]


class _Look:
    """One look at the machines in one snapshot."""

    def __init__(self, sight: LinkSight, connection: sqlite3.Connection, now: int) -> None:
        self._sight = sight
        self._connection = connection
        self._now = now
        self._names = dict(connection.execute("SELECT id, name FROM node"))
        self._forked = far.forked(connection)
        self._persons: dict[str, list[str]] = {}
        for node, person in connection.execute(
            "SELECT node, person.name FROM speaks_for JOIN person ON person.id = person"
            " WHERE live AND NOT ended ORDER BY person.name"
        ):
            self._persons.setdefault(node, []).append(person)

    def machine(self, row: tuple[str, str, int, int | None, str | None]) -> FleetMachine:
        """Return one machine as it is shown."""
        node, name, joined, removed, removed_by = row
        raw = node_bytes(node)
        here = raw == self._sight.here
        status = None if here else self._sight.status(raw)
        connected = status is not None and status.state is LinkState.CONNECTED
        seen, by = (
            (self._now, None) if here or connected else self._sight.last(self._connection, raw)
        )
        known = self._sight.word(raw)
        status = status or LinkStatus(state=LinkState.WAITING)
        return FleetMachine(
            machine=MachineView(id=node, short=node[:SHORT], name=name),
            here=here,
            state=self._state(node, removed=removed, here=here, connected=connected, seen=seen),
            seen=seen,
            seen_by=None if by is None else self._names.get(by, by[:SHORT]),
            address=status.address,
            round_trip_ms=status.round_trip_ms,
            behind_us=status.behind_us,
            behind_them=status.behind_them,
            version=self._version(here=here, status=status, known=known),
            skew_ms=status.skew_ms,
            trouble=status.trouble or None,
            persons=self._persons.get(node, []),
            given=addresses.given(self._connection, node),
            joined=joined,
            removed=removed,
            removed_by=removed_by,
            forked=self._forked_here(node, name, here=here) if removed is None else None,
        )

    def _forked_here(self, node: str, name: str, *, here: bool) -> str | None:
        if node not in self._forked:
            return None
        return hold.FORKED if here else SPLIT.format(name=name)

    def _state(
        self, node: str, *, removed: int | None, here: bool, connected: bool, seen: int | None
    ) -> State:
        if removed is not None:
            return "removed"
        if node in self._forked:
            return "must_rejoin"
        if here:
            return "here"
        if connected:
            return "connected"
        return "never_seen" if seen is None else "away"

    def _version(self, *, here: bool, status: LinkStatus, known: Known | None) -> str | None:
        if here:
            return self._sight.version
        return status.version or (None if known is None else known.presence.version)
