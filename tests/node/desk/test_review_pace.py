"""The pace of many sessions: what is over is forgotten."""

from node.desk.context import Limits
from node.desk.raising import Pace


def test_sessions_that_fell_silent_are_forgotten() -> None:
    now = 0.0
    most = Limits(
        open_asks_per_session=200, asks_per_second_session=20, asks_per_second_node=1_000_000
    )
    pace = Pace(most, lambda: now)
    for number in range(10_000):
        now += 0.01
        pace.check(f"s-{number}")
    assert len(pace._recent) <= 4_200
