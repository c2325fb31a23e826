"""What a machine says of itself now: signed, relayed, kept in memory with its age only.

The newest word counts, by the run of the program it is from and its number in that run.
Ages are told as spans, never as times: clocks of machines differ.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from sync.errors import BadFrame
from sync.limits import (
    CHILDREN,
    NAME_CHARACTERS,
    PRESENCE_BYTES,
    PRESENCE_MS,
    PRESENCES,
    PROJECT_CHARACTERS,
)
from sync.log.entry import NodeKey
from sync.wire.frames import FleetId, Hash, Number, Small
from sync.wire.signed import Signed, check, read, sign

PREFIX = b"askmesh/presence/v1\0"
BOOTS_REMEMBERED = 8
"""Former runs of one machine whose word is not taken any more."""
STATUS_CHARACTERS = 300
SEEN_TOLD = 64
"""Others spoken of in one word: those heard least lately, whose age nobody would guess."""

Word = Annotated[str, Meta(max_length=NAME_CHARACTERS)]
Long = Annotated[str, Meta(max_length=PROJECT_CHARACTERS)]


class Said(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the parts of presence."""


class ChildWord(Said, frozen=True, kw_only=True):
    """A sub-agent of a session, in the session's own words."""

    name: Word
    doing: Annotated[str, Meta(max_length=STATUS_CHARACTERS)] = ""


class SessionWord(Said, frozen=True, kw_only=True):
    """A session of an agent on that machine. Times are of its own judging clock."""

    id: Long
    agent: Word
    project: Long
    branch: Long | None = None
    started: Number
    last_heard: Number
    gate_last: Number | None = None
    status: Annotated[str, Meta(max_length=STATUS_CHARACTERS)] = ""
    status_at: Number | None = None
    """When it said so."""
    children: Annotated[list[ChildWord], Meta(max_length=CHILDREN)] = []
    ended: bool = False


class AddressWord(Said, frozen=True, kw_only=True):
    """Where that machine can be reached."""

    host: Annotated[str, Meta(max_length=255)]
    port: Small


class SeenWord(Said, frozen=True, kw_only=True):
    """What that machine last heard of another one, and how long ago."""

    node: Hash
    boot: Word
    counter: Number
    ago_ms: Number


class Presence(Said, frozen=True, kw_only=True):
    """One word of a machine about itself."""

    fleet: FleetId
    node: Hash
    boot: Word
    """Names this run of the program."""
    started: Number
    """When the run began, by its own clock."""
    counter: Number
    """Rises with each word of one run."""
    at: Number
    """Its judging clock now."""
    version: Word
    machine: Word
    sessions: Annotated[list[SessionWord], Meta(max_length=1_000)] = []
    links: Annotated[list[Hash], Meta(max_length=PRESENCES)] = []
    """Whom it is linked to."""
    addresses: Annotated[list[AddressWord], Meta(max_length=64)] = []
    seen: Annotated[list[SeenWord], Meta(max_length=PRESENCES)] = []


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """The newest word of one machine."""

    presence: Presence
    signed: Signed
    heard: int
    """Our judging clock when it was said."""
    by: bytes
    """Over the link to whom it came."""


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """When a machine was last known to be running, and who saw it."""

    at: int
    """Our judging clock."""
    by: bytes | None
    """None: we did."""


def say(key: NodeKey, presence: Presence) -> Signed:
    """Sign presence; what is said of the oldest sessions goes first where it is too much."""
    sessions = sorted(presence.sessions, key=lambda one: (one.ended, -one.last_heard))
    while True:
        fitting = msgspec.structs.replace(presence, sessions=sessions)
        try:
            return sign(key, PREFIX, fitting, PRESENCE_BYTES)
        except BadFrame:
            if not sessions:
                if not presence.seen:
                    raise
                presence = msgspec.structs.replace(presence, seen=[])
            sessions = sessions[: len(sessions) * 3 // 4]


class PresenceBook:
    """The newest word of each machine of a fleet, as one node has heard it."""

    def __init__(self, fleet: bytes, node: bytes) -> None:
        self._fleet = fleet
        self._node = node
        self._known: dict[bytes, Known] = {}
        self._over: dict[bytes, list[str]] = {}
        """Former runs of each machine."""
        self._moves = 0
        """Rises with each word that is new here."""
        self._sightings: tuple[int, dict[bytes, Sighting]] = (0, {})
        """What follows from the words so far, and how many there were."""

    def hear(
        self,
        signed: Signed,
        *,
        source: bytes,
        key_of: Callable[[bytes], bytes | None],
        now: int,
    ) -> Known | None:
        """Take presence that came over the link to `source`; None: it is nothing new.

        `key_of` tells the public key of a member, None for anyone else. Raises `BadFrame`
        for what is not what it claims to be.
        """
        presence = read(Presence, signed.raw, PRESENCE_BYTES)
        if presence.fleet != self._fleet:
            raise BadFrame("Presence is of another fleet.")
        if presence.node == self._node or not self._newer(presence, source, now):
            return None
        public_key = key_of(presence.node)
        if public_key is None:
            raise BadFrame("Presence is of nobody of this fleet.")
        check(signed, PREFIX, public_key, presence.node)
        if presence.node not in self._known and len(self._known) >= PRESENCES:
            raise BadFrame(f"Presence came of more than {PRESENCES} machines.")
        known = Known(
            presence=presence, signed=signed, heard=now - self._age(presence, source), by=source
        )
        self._remember(known)
        return known

    def _newer(self, presence: Presence, source: bytes, now: int) -> bool:
        before = self._known.get(presence.node)
        if before is None:
            return True
        if presence.boot == before.presence.boot:
            return presence.counter > before.presence.counter
        if presence.boot in self._over.get(presence.node, ()):
            return False
        # A clock that was set back between two runs must not silence the second one: the
        # machine itself is believed, and so is anyone once the former run says nothing more.
        fresh = now - before.heard < 3 * PRESENCE_MS
        own_word = source == presence.node
        return own_word or not fresh or presence.started > before.presence.started

    def _age(self, presence: Presence, source: bytes) -> int:
        """Return how old relayed presence is by the word of who relays it."""
        relay = self._known.get(source)
        if relay is None or source == presence.node:
            return 0
        for seen in relay.presence.seen:
            if seen.node == presence.node:
                same = (seen.boot, seen.counter) == (presence.boot, presence.counter)
                return seen.ago_ms if same else 0
        return 0

    def _remember(self, known: Known) -> None:
        node = known.presence.node
        before = self._known.get(node)
        if before is not None and before.presence.boot != known.presence.boot:
            over = self._over.setdefault(node, [])
            over.append(before.presence.boot)
            del over[:-BOOTS_REMEMBERED]
        self._known[node] = known
        self._moves += 1

    # --- what is known ----------------------------------------------------------------------

    def get(self, node: bytes) -> Known | None:
        """The newest word of a machine."""
        return self._known.get(node)

    def all(self) -> list[Known]:
        """The newest word of every machine, latest heard first."""
        return sorted(self._known.values(), key=lambda known: -known.heard)

    def links_of(self, node: bytes) -> Collection[bytes]:
        """Whom a machine says it is linked to."""
        known = self._known.get(node)
        return () if known is None else known.presence.links

    def sighting(self, node: bytes) -> Sighting | None:
        """When a machine was last known to be running; None: nobody has said."""
        # Asked for each machine of each snapshot, and from other threads while words come in.
        moves, found = self._sightings
        if moves != self._moves:
            moves = self._moves
            found = _sightings(list(self._known.values()))
            self._sightings = (moves, found)
        return found.get(node)

    def seen(self, now: int) -> list[SeenWord]:
        """What to say of others in our own presence: first of those who are away longest."""
        return [
            SeenWord(
                node=known.presence.node,
                boot=known.presence.boot,
                counter=known.presence.counter,
                ago_ms=max(0, now - known.heard),
            )
            for known in self.all()[: -SEEN_TOLD - 1 : -1]
        ]

    def relayed_to(self, known: Known, linked: Iterable[bytes]) -> list[bytes]:
        """Return the linked machines that do not hear this word from its author itself."""
        author = known.presence.node
        hears = {author, known.by, *known.presence.links}
        return [node for node in linked if node not in hears]

    def for_new_link(self, peer: bytes) -> list[Signed]:
        """Return what a machine that was just linked may not have heard.

        It is to follow our own presence, which says how old each is.
        """
        return [known.signed for known in self.all() if known.presence.node != peer]

    def keep_only(self, members: Collection[bytes]) -> None:
        """Forget machines that are no members any more."""
        for node in [node for node in self._known if node not in members]:
            del self._known[node]
            self._over.pop(node, None)
            self._moves += 1


def _sightings(known: Sequence[Known]) -> dict[bytes, Sighting]:
    """Return the latest that anyone says of each machine; its own word goes before others'."""
    found = {one.presence.node: _sighting(one) for one in known}
    for one in known:
        for seen in one.presence.seen:
            at = one.heard - seen.ago_ms
            before = found.get(seen.node)
            if seen.node != one.presence.node and (before is None or at > before.at):
                found[seen.node] = Sighting(at=at, by=one.presence.node)
    return found


def _sighting(known: Known) -> Sighting:
    own = known.by == known.presence.node
    return Sighting(at=known.heard, by=None if own else known.by)
