"""How far logs are held: only a whole reading lowers a head, after a removal."""

from sync.log.chain import EMPTY, Head
from sync.wire.held import Held, digest

ANN, BOB = b"a" * 32, b"b" * 32


def head(seq: int) -> Head:
    return Head(seq=seq, hash=bytes([seq]) * 32)


def test_a_reading_lowers_what_counts_no_more() -> None:
    held = Held({(ANN, 0): head(3), (BOB, 0): head(9), (BOB, 1): head(2)})
    decisions = held.decisions
    held.replace({(ANN, 0): head(3), (BOB, 0): head(5)})
    assert held.head((BOB, 0)) == head(5)
    assert held.head((BOB, 1)) == EMPTY
    assert held.digest == digest({(ANN, 0): head(3), (BOB, 0): head(5)})
    assert held.decisions > decisions


def test_the_same_reading_again_is_no_move() -> None:
    held = Held({(ANN, 0): head(3)})
    moves = held.moves
    held.replace({(ANN, 0): head(3)})
    assert held.moves == moves
