"""Hundreds of nodes in memory: real sessions, the real choice of links, time by rounds.

In one round every frame that is on its way arrives, and what comes of it is stored and sent.
Two rounds without a tick are no time at all: what arrives within them came by push.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random

from sync.log.entry import Entry
from sync.net.choosing import Choosing, lacking
from tests.sync.wire.stores import End, Net, Store


class Node(Store):
    """One machine of a crowd."""

    def __init__(self, number: int, crowd: "Crowd") -> None:
        super().__init__(number)
        self.crowd = crowd
        self.choosing = Choosing(crowd.net.random.random)
        self.away = False

    def publish(self, entries: Sequence[Entry], source: bytes | None) -> None:
        """Push as a mesh does."""
        self.held.stored(entries)
        for end in list(self.ends):
            news = lacking(self.id, end.peer, entries, source=source, links_of=self.crowd.links_of)
            if news:
                end.do(end.session.push(news, end.now))

    def linked(self) -> set[bytes]:
        return {end.peer for end in self.ends}


class Crowd:
    """Machines of one fleet. `says_links`: each knows by presence whom the others link to."""

    def __init__(self, count: int, *, seed: int, says_links: bool = True) -> None:
        self.net = Net(seed)
        self.says_links = says_links
        self.nodes = [Node(number, self) for number in range(1, count + 1)]
        keys = {one.id: one.key.public for one in self.nodes}
        self.by_id = {one.id: one for one in self.nodes}
        for node in self.nodes:
            node.keys = keys
            node.choosing.keep([one for one in keys if one != node.id])

    @property
    def random(self) -> Random:
        return self.net.random

    def links_of(self, node: bytes) -> Iterable[bytes]:
        return self.by_id[node].linked() if self.says_links else ()

    def there(self) -> list[Node]:
        return [node for node in self.nodes if not node.away]

    def leave(self, share: float) -> None:
        """So many machines go away, with their links."""
        for node in self.random.sample(self.there(), int(share * len(self.nodes))):
            node.away = True
        for link in [link for link in self.net.links if any(_away(end) for end in link)]:
            self.net.cut(link)

    def dial(self, homes: Callable[[Node], Iterable[bytes]] = lambda _node: ()) -> int:
        """Link as the choices say; who is away is passed over. Returns the dials in vain."""
        vain, going_on = 0, True
        away = {node.id for node in self.nodes if node.away}
        now = 0.0
        while going_on:
            now += 1.0
            going_on = False
            for node in self.there():
                for peer in sorted(node.choosing.wanted(homes(node)) - node.linked() - away):
                    self.net.link(node, self.by_id[peer])
                passed = node.choosing.pass_over(away, now)
                vain += passed
                going_on = going_on or passed
        return vain

    def round(self) -> int:
        """Let every frame that is on its way arrive. Returns how many did."""
        ends = self.net.ends()
        coming = [(end, len(end.other.out)) for end in ends]
        self.random.shuffle(coming)
        for end, count in coming:
            for _ in range(count):
                end.take()
            while end.jobs:
                end.work()
        return sum(count for _, count in coming)

    def rest(self) -> None:
        """Let rounds pass until nothing is on its way."""
        for _ in range(100):
            if not self.round():
                return
        raise AssertionError("it never comes to rest")

    def rounds_until(self, done: Callable[[Node], bool], most: int = 100) -> int:
        """Return the rounds until it is so on every machine that is there."""
        for number in range(most):
            if all(done(node) for node in self.there()):
                return number
            assert self.round(), "nothing is on its way any more"
        raise AssertionError(f"not everywhere after {most} rounds")


def _away(end: End) -> bool:
    return isinstance(end.store, Node) and end.store.away
