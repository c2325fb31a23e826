"""Spans of time are read and written as people do."""

import click
import pytest

from node.cli.durations import Duration, ago, span

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90.0), ("15m", 900.0), ("24h", 86_400.0), ("7d", 604_800.0), ("1h30m", 5_400.0),
     ("0.5s", 0.5), ("0s", 0.0), ("1w", 604_800.0)],
)  # fmt: skip
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize(
    "text", ["", "60", "3y", "-5s", "s", "1 h", "1h 30m", "∞s", "1e3s", "\u0661s"]
)
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(click.BadParameter, match="for example 90s"):
        Duration().convert(text, None, None)


def test_a_span_has_its_two_largest_units() -> None:
    assert span(0) == "0 s"
    assert span(59_999) == "59 s"
    assert span(2 * HOUR + 5 * 60_000 + 7_000) == "2 h 5 min"
    assert span(24 * HOUR) == "1 d"
    assert span(24 * HOUR + 30_000) == "1 d"
    assert span(-5) == "0 s"


def test_an_age_has_one_unit() -> None:
    assert ago(1_000, 1_500) == "now"
    assert ago(0, 61_000) == "1 min"
    assert ago(0, 49 * HOUR) == "2 d"
    assert ago(5_000, 0) == "now"
