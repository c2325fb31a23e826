"""Random histories of two to four stores: links come and go, and in the end all hold the same."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sync.log.kinds import EntryType
from tests.sync.log.entries import key
from tests.sync.wire.stores import Net, Store, agree

KEYS = [key(number) for number in range(1, 5)]
KINDS = (EntryType.ASK, EntryType.VOTE, EntryType.NOTE)


class History:
    """A history that a seed decides."""

    def __init__(self, seed: int, count: int) -> None:
        self.random = Random(seed)
        self.net = Net(seed)
        # The last one is unknown to all but the first, until that one says who it is.
        known = KEYS[: count - 1] if count > 2 else KEYS[:count]
        self.stores = [Store(number + 1, known=known) for number in range(count)]
        self.stores[0].keys[KEYS[count - 1].node_id] = KEYS[count - 1].public

    def pair(self) -> tuple[Store, Store]:
        one, two = self.random.sample(self.stores, 2)
        return one, two

    def linked(self, one: Store, two: Store) -> bool:
        return any(
            {left.store.id, right.store.id} == {one.id, two.id} for left, right in self.net.links
        )

    def event(self) -> None:
        """One thing that happens."""
        often = [self.meet, self.write, *[self.move] * 2] * 2
        self.random.choice([*often, self.part, self.fill, self.wait, self.write_much])()
        for link in [link for link in self.net.links if any(end.closed for end in link)]:
            assert {end.closed.reason for end in link if end.closed} <= {"It has fallen silent."}
            self.net.cut(link)

    def meet(self) -> None:
        one, two = self.pair()
        # At times a second link to the same node: both dialled at once.
        if not self.linked(one, two) or self.random.random() < 0.1:
            self.net.link(one, two)

    def part(self) -> None:
        if self.net.links:
            self.net.cut(self.random.choice(self.net.links))

    def fill(self) -> None:
        store = self.random.choice(self.stores)
        store.full = not store.full

    def wait(self) -> None:
        self.net.now += self.random.choice((200, 1_000, 5_000))
        for end in self.net.ends():
            end.do(end.session.tick(self.net.now))

    def write_much(self) -> None:
        store = self.random.choice(self.stores)
        for _ in range(self.random.randrange(400)):
            store.write(self.random.choice(KINDS), text=b"x" * 900)

    def write(self) -> None:
        self.random.choice(self.stores).write(self.random.choice(KINDS))

    def move(self) -> None:
        for _ in range(self.random.randrange(60)):
            self.net.step()

    def end(self) -> None:
        """Everybody meets everybody, and nothing is in the way any more."""
        for store in self.stores:
            store.full = False
        if len(self.stores) > 2:
            self.stores[0].write(EntryType.MEMBER, text=self.stores[-1].key.public)
        self.net.settle()
        for one in self.stores:
            for two in self.stores:
                if one.id < two.id and not self.linked(one, two):
                    self.net.link(one, two)
        self.net.settle(100)


def run(seed: int, count: int, events: int = 60) -> History:
    history = History(seed, count)
    for _ in range(events):
        history.event()
    history.end()
    return history


def check(history: History) -> None:
    stores = history.stores
    assert agree(*stores)
    for store in stores:
        assert store.held.heads == store.vector(), "what is told is what is held"
        assert not store.forks
        assert len(store.claims) == 0
    for end in history.net.ends():
        assert (end.session.behind_us, end.session.behind_them) == (0, 0)
        assert end.session.trouble is None
    # And from here on nothing is stored twice.
    vain = sum(store.vain for store in stores)
    for store in stores:
        for kind in KINDS:
            store.write(kind)
    history.net.settle()
    assert agree(*stores), "what is written is there without any time passing"
    history.net.settle(60)
    # A push may overtake an answer of another link, once for each.
    assert sum(store.vain for store in stores) - vain <= len(stores) ** 2 * len(KINDS)


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("seed", range(8))
def test_all_hold_the_same_in_the_end(seed: int, count: int) -> None:
    check(run(seed, count))


@given(seed=st.integers(min_value=100), count=st.integers(min_value=2, max_value=4))
@settings(max_examples=25, deadline=None)
def test_all_hold_the_same_whatever_happens(seed: int, count: int) -> None:
    check(run(seed, count, events=30))


def test_a_second_link_to_the_same_node_stores_little_twice() -> None:
    net, stores = Net(3), [Store(number + 1, known=KEYS) for number in range(2)]
    for _ in range(1_500):
        stores[0].write(text=b"x" * 300, push=False)
    stores[0].held.moved(stores[0].vector())
    net.link(*stores)
    net.link(*stores)
    net.settle(3)
    assert agree(*stores)
    assert stores[1].vain == 0
