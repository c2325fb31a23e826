"""Stores in memory joined by real sessions over byte pipes, with a clock of its own."""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from random import Random

import msgspec

from sync.decide.statements import rank
from sync.errors import BadEntry, Forked
from sync.log.chain import EMPTY, Head, extend
from sync.log.entry import Entry, NodeKey, seal, sha256, verify
from sync.log.fork import Evidence, Frozen, evidence, side
from sync.log.kinds import EntryType
from sync.log.vector import Place
from sync.wire import actions as act
from sync.wire import frames
from sync.wire.claims import Claims
from sync.wire.held import Held
from sync.wire.session import Session, Us
from sync.wire.testimony import Said, Testimony, merged
from tests.sync.log.entries import FLEET, SALT, key

JUDGING = 1_700_000_000_000


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    heads: dict[Place, Head]
    trouble: str | None = None
    frozen: dict[Place, Frozen] = {}
    testimony: Testimony = {}


class Store:
    """One node: its logs, whom it knows, and its ends of links."""

    def __init__(self, number: int, *, known: Sequence[NodeKey] = ()) -> None:
        self.key = key(number)
        self.id = self.key.node_id
        self.logs: dict[Place, list[Entry]] = defaultdict(list)
        self.keys = {one.node_id: one.public for one in (self.key, *known)}
        self.held = Held()
        self.claims = Claims()
        self.blobs: dict[bytes, bytes] = {}
        self.lacking: set[bytes] = set()
        self.ends: list[End] = []
        self.given = 0
        """Entries that sessions gave to the store."""
        self.vain = 0
        """Of these, entries that were here already."""
        self.frozen: dict[Place, Frozen] = {}
        self.said: dict[bytes, Entry] = {}
        """What was stated beyond forks, by hash."""
        self.full = False
        """Nothing can be stored."""

    def write(self, kind: int = EntryType.ASK, *, text: bytes = b"{}", push: bool = True) -> Entry:
        """Write an entry of our own, and push it as a node does after its commit."""
        place = (self.id, 0 if kind < 64 else 1)
        head = self.head(place)
        one = seal(
            self.key,
            fleet=FLEET,
            seq=head.seq + 1,
            prev=head.hash,
            hlc=7 << 16,
            entry_type=kind,
            facts=b"{}",
            text=SALT + text,
        )
        self.logs[place].append(one)
        if push:
            self.publish([one], None)
        return one

    def publish(self, entries: Sequence[Entry], source: bytes | None) -> None:
        self.held.stored(entries)
        for end in list(self.ends):
            if end.peer != source:
                end.do(end.session.push(entries, end.now))

    def head(self, place: Place) -> Head:
        log = self.logs.get(place)
        return Head(seq=log[-1].header.seq, hash=log[-1].hash) if log else EMPTY

    def vector(self) -> dict[Place, Head]:
        """As far as logs count."""
        ends = {place: self.head(place) for place, log in self.logs.items() if log}
        for place, one in self.frozen.items():
            if ends.get(place, EMPTY).seq >= one.seq:
                ends[place] = self.end(place, one.seq)
        return {place: head for place, head in ends.items() if head.seq}

    @property
    def forks(self) -> set[tuple[Place, int]]:
        return {(place, one.seq) for place, one in self.frozen.items()}

    def end(self, place: Place, seq: int) -> Head:
        log = self.logs[place][: seq - 1]
        return Head(seq=log[-1].header.seq, hash=log[-1].hash) if log else EMPTY

    def convict(self, proofs: Sequence[Evidence]) -> Kept:
        """Keep the earliest fork of each log that is proved, as a real store does."""
        found: dict[Place, Frozen] = {}
        for one in proofs:
            before = self.frozen.get(one.place)
            if one.author not in self.keys or (before is not None and before.seq <= one.seq):
                continue
            try:
                one.verify(self.keys[one.author])
            except BadEntry as error:
                return Kept(heads={}, trouble=error.sentence, frozen=found)
            self.frozen[one.place] = found[one.place] = Frozen(
                evidence=one, end=self.end(one.place, one.seq)
            )
        return Kept(heads={}, frozen=found, testimony=self.testimony())

    def testimony(self) -> dict[bytes, frozenset[Said]]:
        """Keep the lowest of what was stated beyond forks, as a real store does."""
        found: dict[bytes, frozenset[Said]] = {}
        for (author, log), forked in self.frozen.items():
            if log:
                continue
            late = [one for one in self.logs[author, 0][forked.seq - 1 :] if _is_stated(one)]
            self.said |= {one.hash: one for one in late}
            found[author] = merged(
                (
                    rank(one.header.type, one.header.seq, one.hash)
                    for one in self.said.values()
                    if one.header.author == author
                ),
                (),
            )
        return found

    def testify(self, hashes: Sequence[bytes], size: int) -> list[Entry]:
        del size
        return [self.said[one] for one in hashes]

    def attest(self, statements: Sequence[Entry]) -> Kept:
        """Keep what others stated beyond forks."""
        for one in statements:
            forked = self.frozen.get((one.header.author, 0))
            if forked is None or one.header.seq < forked.seq or not _is_stated(one):
                continue
            try:
                verify(one, self.keys[one.header.author])
            except BadEntry as error:
                return Kept(heads={}, trouble=error.sentence, testimony=self.testimony())
            self.said[one.hash] = one
        return Kept(heads={}, testimony=self.testimony())

    def read(self, read: act.Read) -> list[Entry]:
        wanted = read.wanted
        log = self.logs.get((wanted.author, wanted.log), [])[wanted.first - 1 : wanted.last]
        found: list[Entry] = []
        size = 0
        for one in log[: read.entries]:
            size += frames.size_of(one)
            if found and size > read.size:
                break
            found.append(one)
        return found

    def keep(self, run: Sequence[Entry], source: bytes) -> Kept:
        """Store what continues what is here; the first fault ends it, as in a real store."""
        heads: dict[Place, Head] = {}
        fresh: list[Entry] = []
        frozen: dict[Place, Frozen] = {}
        trouble = None
        for one in run:
            place = (one.header.author, one.header.log)
            self.given += 1
            try:
                if one.header.author not in self.keys:
                    raise BadEntry("Nobody has said yet who wrote this.")
                verify(one, self.keys[one.header.author])
                log = self.logs[place]
                forked = self.frozen.get(place)
                if forked is not None and len(log) < one.header.seq >= forked.seq:
                    raise BadEntry("It forked.")
                if one.header.seq <= len(log):
                    self.vain += 1
                    held = log[one.header.seq - 1]
                    if held.hash != one.hash:
                        frozen |= self.convict([evidence(side(held), side(one))]).frozen
                    continue
                heads[place] = extend(self.head(place), one)
            except (BadEntry, Forked) as error:
                if isinstance(error, Forked):
                    held = self.logs[place][-1]
                    frozen |= self.convict([evidence(side(held), side(one))]).frozen
                trouble = error.sentence
                break
            log.append(one)
            fresh.append(one)
            self.learn(one)
        if fresh:
            self.publish(fresh, source)
        return Kept(heads=heads, trouble=trouble, frozen=frozen, testimony=self.testimony())

    def learn(self, entry: Entry) -> None:
        """A member statement makes its node's entries acceptable."""
        if entry.header.type == EntryType.MEMBER and entry.text is not None:
            public = entry.text[len(SALT) :]
            self.keys[sha256(public)] = public


def _is_stated(entry: Entry) -> bool:
    return EntryType.GENESIS < entry.header.type < 16


class End:
    """One side of a link."""

    def __init__(self, store: Store, peer: bytes, net: "Net") -> None:
        self.store = store
        self.peer = peer
        self.net = net
        self.session = Session(
            Us(fleet=FLEET, node=store.id, boot="b", version="1", machine="m", port=7717),
            peer,
            held=store.held,
            claims=store.claims,
            clock=lambda: JUDGING + net.now,
            chance=net.random.random,
        )
        self.out: deque[bytes] = deque()
        self.jobs: deque[Callable[[], list[act.Action]]] = deque()
        self.other: End
        self.closed: act.Close | None = None
        self.opened = False
        self.heard: list[act.Action] = []
        self.sent = 0
        self.kinds: set[int] = set()
        """Types of the frames that came."""

    @property
    def now(self) -> int:
        return self.net.now

    def do(self, wishes: Sequence[act.Action]) -> None:
        for action in wishes:
            match action:
                case act.Send():
                    assert len(action.frame) <= 1024 * 1024
                    self.sent += len(action.frame)
                    self.out.append(action.frame)
                case act.Opened():
                    self.opened = True
                case act.Close():
                    self.closed = action
                case act.Heard() | act.Carried() | act.Farewell():
                    self.heard.append(action)
                case _:
                    self.jobs.append(lambda action=action: self.job(action))  # type: ignore[misc]

    def job(self, action: act.Action) -> list[act.Action]:
        store, session = self.store, self.session
        match action:
            case act.Keep():
                return session.kept(store.keep(action.entries, self.peer), self.now)
            case act.Convict():
                return session.froze(store.convict(action.evidence), self.now)
            case act.Attest():
                kept = store.attest(action.statements)
                return session.attested(action.author, kept, self.now)
            case act.Testify():
                return session.have_testimony(store.testify(action.hashes, action.size), self.now)
            case act.Read():
                return session.have_read(action.wanted, store.read(action), self.now)
            case act.Recount():
                return session.moved(store.vector(), store.testimony(), self.now)
            case act.FindBlobs():
                return session.want_blobs(sorted(store.lacking - store.blobs.keys()))
            case act.ReadBlob():
                return session.have_blob(action.name, store.blobs.get(action.name))
            case act.KeepBlob():
                store.blobs[action.name] = action.data
        return []

    def work(self) -> None:
        """Carry out the oldest wish of the session."""
        if self.jobs and not self.store.full:
            self.do(self.jobs.popleft()())

    def take(self) -> None:
        """Take the oldest frame that is on its way here."""
        if self.other.out:
            frame = self.other.out.popleft()
            self.kinds.add(frame[0])
            self.do(self.session.received(frame, self.now))


class Net:
    """Links between stores. Nothing happens by itself."""

    def __init__(self, seed: int = 0) -> None:
        self.now = 0
        self.random = Random(seed)
        self.links: list[tuple[End, End]] = []

    def link(self, one: Store, two: Store) -> tuple[End, End]:
        left, right = End(one, two.id, self), End(two, one.id, self)
        left.other, right.other = right, left
        self.links.append((left, right))
        for end in (left, right):
            end.store.ends.append(end)
            end.do(end.session.begin(self.now))
        return left, right

    def cut(self, link: tuple[End, End]) -> None:
        self.links.remove(link)
        for end in link:
            end.store.ends.remove(end)
            end.session.closed()

    def ends(self) -> list[End]:
        return [end for link in self.links for end in link]

    def step(self) -> bool:
        """Let one frame or one job happen somewhere; False: nothing is under way."""
        able: list[Callable[[], None]] = []
        for end in self.ends():
            if end.jobs and not end.store.full:
                able.append(end.work)
            if end.other.out:
                able.append(end.take)
        if able:
            self.random.choice(able)()
        return bool(able)

    def settle(self, seconds: int = 0) -> None:
        """Let everything happen that is under way, and so many seconds pass."""
        for second in range(seconds + 1):
            steps = 0
            while self.step():
                steps += 1
                assert steps < 100_000, "it never comes to rest"
            if second < seconds:
                self.now += 1_000
                for end in self.ends():
                    end.do(end.session.tick(self.now))
        assert [end.closed.reason for end in self.ends() if end.closed] == []


def agree(*stores: Store) -> bool:
    """Whether all hold the same."""
    first = stores[0]
    return all(
        (store.vector(), store.testimony()) == (first.vector(), first.testimony())
        for store in stores
    )
