"""However much chatter there is, decisions come before it."""

from sync.log.kinds import EntryType
from sync.wire import frames
from tests.sync.wire.peers import KEYS
from tests.sync.wire.stores import Net, Store


def test_a_flood_of_chatter_does_not_delay_a_vote() -> None:
    net = Net()
    one, two = Store(1, known=KEYS), Store(2, known=KEYS)
    for _ in range(3_000):
        one.write(EntryType.NOTE, text=b"x" * 2_000, push=False)
    one.held.moved(one.vector())
    left, right = net.link(one, two)
    while len(two.logs[one.id, 1]) < 300:
        net.step()
    vote = one.write(EntryType.VOTE)
    last = frames.decode_frame(left.out[-1])
    assert isinstance(last, frames.Entries)
    assert last.entries == (vote,), "it goes out at once"
    chatter = len(two.logs[one.id, 1])
    before = sum(len(frame) for frame in left.out)
    assert before < 3 * 256 * 1024
    while not two.logs[one.id, 0]:
        net.step()
    assert len(two.logs[one.id, 1]) - chatter < 400, "not more than what was under way"
    assert right.closed is None
    net.settle()
    assert two.vector() == one.vector()


def test_decisions_are_asked_for_and_served_before_chatter() -> None:
    net = Net()
    one, two = Store(1, known=KEYS), Store(2, known=KEYS)
    for _ in range(1_000):
        one.write(EntryType.NOTE, text=b"x" * 1_000, push=False)
    for _ in range(1_000):
        one.write(text=b"x" * 1_000, push=False)
    one.held.moved(one.vector())
    net.link(one, two)
    while len(two.logs[one.id, 0]) < 1_000:
        net.step()
    assert len(two.logs[one.id, 1]) < 300


def test_a_flood_of_one_author_does_not_hold_up_the_decisions_of_another() -> None:
    net = Net()
    one, two, three = (Store(number, known=KEYS) for number in (1, 2, 3))
    for _ in range(3_000):
        one.write(text=b"x" * 1_000, push=False)
    three.write()
    one.keep(three.logs[three.id, 0], three.id)
    one.held.moved(one.vector())
    net.link(one, two)
    while not two.logs[three.id, 0]:
        net.step()
    assert len(two.logs[one.id, 0]) < 1_500
