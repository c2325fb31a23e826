"""What sessions of one node share: who fetches what, and how far all is held."""

from sync.log.chain import EMPTY, Head
from sync.wire.actions import FindBlobs
from sync.wire.blob_transfer import Fetching
from sync.wire.claims import Claims
from sync.wire.conduct import Conduct
from sync.wire.held import Held
from tests.sync.log.entries import chain, head_of, where

PLACE = (bytes(32), 0)


def test_one_fetches_at_a_time() -> None:
    claims = Claims()
    assert claims.take(PLACE, "one")
    assert claims.take(PLACE, "one")
    assert not claims.take(PLACE, "two")
    claims.release(PLACE, "two")
    assert not claims.take(PLACE, "two")
    claims.release(PLACE, "one")
    assert claims.take(PLACE, "two")


def test_a_link_that_ends_holds_nothing() -> None:
    claims = Claims()
    claims.take(PLACE, "one")
    claims.take(b"blob", "one")
    claims.take(b"other", "two")
    claims.release_all("one")
    assert len(claims) == 1
    claims.clear()
    assert len(claims) == 0


def looks(fetching: Fetching) -> bool:
    return any(isinstance(action, FindBlobs) for action in fetching.tick(1))


def test_what_one_link_leaves_another_one_looks_for() -> None:
    """It may never have looked: the entries that name it came on the link that ended."""
    claims = Claims()
    one, two = (Fetching(claims, Conduct()) for _ in range(2))
    one.want([b"blob"], 1)
    assert not looks(two)
    one.close()
    assert looks(two)
    assert not looks(two)
    two.want([b"blob"], 1)
    two.none(b"blob", 1)
    three = Fetching(claims, Conduct())
    assert not looks(three)
    claims.blobs_moved += 1
    assert looks(three)


def test_a_head_moves_forward_only() -> None:
    made = chain(3)
    held = Held()
    before = held.digest
    held.stored(made[:2])
    assert held.head(where(made[0])) == head_of(made[1])
    after = (held.moves, held.decisions, held.digest)
    assert after[2] != before
    held.moved({where(made[0]): head_of(made[0])})
    held.stored(made[:1])
    assert (held.moves, held.decisions, held.digest) == after
    held.moved({(bytes(32), 1): Head(seq=1, hash=bytes(32))})
    assert held.decisions == after[1], "chatter says nothing of who belongs"
    assert held.moves == after[0] + 1
    held.clear()
    assert held.digest == before
    assert held.head(where(made[0])) == EMPTY
