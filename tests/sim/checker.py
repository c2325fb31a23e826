"""What must hold of the stores of all machines once they have met again."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection

from node.store import derive, exchange, testimony
from node.store.connection import open_reader
from node.store.rebuild import compare
from sync.log.kinds import EntryType
from sync.log.names import node_name
from tests.sim import cards
from tests.sim.law import counts_wrongly
from tests.sim.log import Line, Log, log_of
from tests.sim.machine import Machine
from tests.sim.release import unlawful, wrong_votes
from tests.sim.world import World

SAME = {
    "ask": "SELECT * FROM ask ORDER BY id",
    "vote": "SELECT hash, ask, node, person, decision, choice, seen, at, ruling, counted FROM vote"
    " ORDER BY hash",
    "ruling": "SELECT * FROM ruling ORDER BY vote",
    "mark": "SELECT * FROM mark ORDER BY ask, person",
    "node": "SELECT * FROM node ORDER BY id",
    "person": "SELECT * FROM person ORDER BY id",
    "speaks_for": "SELECT * FROM speaks_for ORDER BY node, person",
}
"""What every machine derives alike."""
OF_THE_FLEET = ("node", "person", "speaks_for")
"""What also those derive alike who hold different histories of some machine."""
WEEK_MS = 6 * 86_400_000
"""Nearly a week: what was kept for so long was kept while its home was away."""


def members(world: World) -> list[Machine]:
    """The machines that belong to the fleet and still run."""
    return [
        one for one in world.machines.values() if one.name not in world.removed and not one.retired
    ]


def vectors(world: World) -> list[dict[tuple[bytes, int | str], object]]:
    """How far each of them holds everything, and what it keeps of what was stated beyond forks."""
    found: list[dict[tuple[bytes, int | str], object]] = []
    for machine in members(world):
        store = open_reader(machine.home)
        held: dict[tuple[bytes, int | str], object] = {}
        held.update(exchange.vector(store).items())
        said = testimony.said(store, derive.fleet_of(store))
        held.update(((author, "stated"), kept) for author, kept in said.items())
        found.append(held)
        store.close()
    return found


def odd(world: World) -> str:
    """Say how their logs differ."""
    held = vectors(world)
    places = sorted({place for one in held for place in one}, key=str)
    said = [
        f"{node_name(place[0])[:4]}/{place[1]}: "
        + " ".join(
            f"{one.name}={_head(found.get(place))}"
            for one, found in zip(members(world), held, strict=True)
        )
        for place in places
        if len({str(found.get(place)) for found in held}) > 1
    ]
    return "; ".join(said)


def _head(head: object) -> str:
    if isinstance(head, frozenset):
        return str(sorted(one.hex()[:6] for _, _, one in head))
    return "-" if head is None else f"{head.seq}:{head.hash.hex()[:6]}"  # type: ignore[attr-defined]


class Checker:
    """The end of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.wrong = world.history.wrong
        self.members = members(world)
        self.logs = {one.name: log_of(one) for one in world.machines.values()}
        self.forks = self._forks()

    def _forks(self, *, without: Collection[str] = ()) -> set[str]:
        """The authors who said two things under one number, wherever that is known."""
        said: dict[tuple[bytes, int, int], set[bytes]] = defaultdict(set)
        for log in (log for name, log in self.logs.items() if name not in without):
            for place, entry_hash in log.places.items():
                said[place].add(entry_hash)
        return {node_name(author) for (author, _, _), found in said.items() if len(found) > 1}

    def check(self, *, late: bool = False) -> None:
        """Everything (`late`: what was stamped ahead of time counts by now)."""
        self.evident()
        self.equal(late=late)
        for machine in self.members:
            self.lives(machine.name, self.logs[machine.name])
            cards.check(self.world, machine)
            if self.logs[machine.name].waiting:
                self.wrong(f"{machine.name} still waits for statements that some final names")
        # Where nobody forked, all derived the same: one stands for them.
        for machine in self.members if self.forks else self.members[:1]:
            for finding in compare(machine.home)[:2]:
                self.wrong(f"{machine.name}: {finding}")
        self.kept()
        self.counts()

    # --- forks ----------------------------------------------------------------------------

    def evident(self) -> None:
        """A fork is known to everybody."""
        gone = {self.world.template.ids[name] for name in self.world.removed}
        # Nothing is taken of who was removed, or told by it: nobody need learn of such a fork.
        for author in self._forks(without=self.world.removed) - gone:
            knowing = [name for name, log in self.logs.items() if author in log.forked]
            self.world.sometimes("fork seen" if knowing else "fork not seen")
            for machine in self.members:
                if machine.name not in knowing:
                    self.wrong(f"{machine.name} does not know that {author[:4]} forked")
            if not knowing:
                self.wrong(f"nobody knows that {author[:4]} forked")
        for machine in self.members:
            for author in self.logs[machine.name].forked - self.forks:
                if not self.world.copied:
                    self.wrong(f"{machine.name} says that {author[:4]} forked, which it did not")

    # --- replicas -------------------------------------------------------------------------

    def equal(self, *, late: bool) -> None:
        """Every member derives the same tables."""
        first: dict[str, list[tuple[object, ...]]] = {}
        for machine in self.members:
            store = open_reader(machine.home)
            for table, sql in SAME.items():
                if (table == "mark" and not late) or (self.forks and table not in OF_THE_FLEET):
                    continue
                rows = self._rows(store, sql)
                known = first.setdefault(table, rows)
                if rows != known:
                    odd = [row for row in rows if row not in known] or known[len(rows) :]
                    self.wrong(f"{table} differs at {machine.name}: {str(odd[:1])[:200]}")
            store.close()

    @staticmethod
    def _rows(store: sqlite3.Connection, sql: str) -> list[tuple[object, ...]]:
        return store.execute(sql).fetchall()

    # --- asks -----------------------------------------------------------------------------

    def lives(self, name: str, log: Log) -> None:
        """Each ask of this log has one life."""
        store = open_reader(self.world.machines[name].home)
        for asked in log.of(EntryType.ASK):
            if asked.author in self.forks:
                continue
            finals = log.of(EntryType.FINAL, asked.ask)
            self._once(name, asked, log, finals)
            for final in finals:
                if final.facts.votes:
                    for wrong in wrong_votes(self.world, store, asked.ask, final.facts):
                        self.wrong(f"{name}: final of {asked.title}: {wrong}")
            self._rulings(name, asked, log)
            if asked.author == self.world.machines[name].id:
                self._lawful(name, asked, log, finals)
        store.close()

    def _lawful(self, name: str, asked: Line, log: Log, finals: list[Line]) -> None:
        """A home decided by what it knew of persons and accounts at that moment."""
        votes = {one.hash: one for one in log.of(EntryType.VOTE, asked.ask)}
        for wrong in counts_wrongly(log, asked, votes):
            self.wrong(f"{name}: {asked.title}: {wrong}")
        handed = [
            one.n for one in log.of(EntryType.HANDOVER, asked.ask) if one.facts.status == "handed"
        ]
        for final in finals:
            for wrong in unlawful(log, final, handed[0] if handed else None):
                self.wrong(f"{name}: final of {asked.title}: {wrong}")
            if len(final.facts.votes) > 1:
                self.world.sometimes("final by several persons")

    def _once(self, name: str, asked: Line, log: Log, finals: list[Line]) -> None:
        handed = [
            one for one in log.of(EntryType.HANDOVER, asked.ask) if one.facts.status == "handed"
        ]
        handed.sort(key=lambda one: one.seq)
        tokens = [one.facts.token for one in handed]
        if len(finals) > 1:
            self.wrong(f"{name}: {asked.title} has {len(finals)} finals")
        if asked.facts.kind == "approval" and len(handed) > 1:
            self.wrong(f"{name}: {asked.title} was handed over {len(handed)} times")
        if tokens != sorted(set(tokens)):
            self.wrong(f"{name}: tokens of {asked.title} do not rise: {tokens}")
        if handed and not finals:
            self.wrong(f"{name}: {asked.title} was handed over without a final")
        if len(log.of(EntryType.RESOLVED, asked.ask)) > 1:
            self.wrong(f"{name}: {asked.title} was resolved twice")

    def _rulings(self, name: str, asked: Line, log: Log) -> None:
        ruled = Counter(one.facts.vote for one in log.of(EntryType.RULING, asked.ask))
        for vote, times in ruled.items():
            if times > 1:
                self.wrong(f"{name}: a vote on {asked.title} was ruled on {times} times {vote!r}")
        # Who went on from a copy decides nothing until it has learnt its own past.
        silent = self.world.lost | {
            name
            for name in self.world.copied
            if self.logs[name].on_hold or self.world.template.ids[name] in self.forks
        }
        lost = {self.world.template.ids[name] for name in silent}
        if asked.author in log.removed or asked.author in lost:
            return
        deadline = asked.facts.deadline
        for vote in log.of(EntryType.VOTE, asked.ask):
            if vote.author not in self.forks and not ruled[vote.hash]:
                self.wrong(f"{name}: a vote on {asked.title} was never ruled on")
        for one in log.of(EntryType.RULING, asked.ask):
            counts = one.facts.ruling in ("accepted", "counted")
            if counts and deadline is not None and one.facts.at >= deadline:
                self.wrong(f"{name}: a vote on {asked.title} counts after the deadline")

    # --- what was acknowledged --------------------------------------------------------------

    def kept(self) -> None:
        """What was acknowledged is in every log."""
        world, history = self.world, self.world.history
        # What a machine had acknowledged and nobody else had yet is lost with its disk.
        spared = world.removed | world.lost | {name.rstrip("'") for name in world.copied}
        spared |= {f"{name}'" for name in world.copied}
        for machine in self.members:
            log = self.logs[machine.name]
            asks = {one.ask for one in log.lines if one.type in (EntryType.ASK, EntryType.NOTE)}
            votes = {one.hash.hex() for one in log.lines if one.type == EntryType.VOTE}
            for asked in history.asked.values():
                if asked.home not in spared and asked.ask not in asks:
                    self.wrong(f"{machine.name} lacks the acknowledged {asked.session}")
            for voted in history.voted:
                if voted.on not in spared and voted.vote not in votes:
                    self.wrong(f"{machine.name} lacks a vote acknowledged to {voted.person}")
            titles = Counter(
                one.title
                for one in log.lines
                if one.type in (EntryType.ASK, EntryType.NOTE)
                and one.author not in self.forks
                and "make" not in one.title
            )
            for title, times in titles.items():
                if times > 1 and not world.copied:
                    self.wrong(f"{machine.name}: {title} was raised {times} times")

    # --- what ran -------------------------------------------------------------------------

    def counts(self) -> None:
        """Count the rare paths that this log shows."""
        sometimes = self.world.sometimes
        for machine in self.members:
            store = open_reader(machine.home)
            told = "SELECT 1 FROM testimony WHERE hash NOT IN (SELECT hash FROM entry) LIMIT 1"
            if store.execute(told).fetchone():
                sometimes("stated in the other history")
            store.close()
        log = self.logs["desk"]
        votes = {one.hash: one for one in log.of(EntryType.VOTE)}
        for one in log.of(EntryType.RULING):
            sometimes(f"vote {one.facts.ruling}")
            vote = votes.get(one.facts.vote)
            if vote is not None and one.facts.at - vote.facts.at > WEEK_MS:
                sometimes("kept vote delivered after a week")
        for one in log.of(EntryType.HANDOVER):
            sometimes(f"hand-over {one.facts.status} {one.facts.reason or ''}".strip())
        for one in log.of(EntryType.FINAL):
            sometimes(f"final {one.facts.outcome}")
            if one.facts.unclear:
                sometimes("sent back as unclear")


def check_quiet(world: World) -> None:
    """Hold what every machine shows right now against what it knows."""
    for machine in world.machines.values():
        if machine.up:
            cards.check(world, machine)
