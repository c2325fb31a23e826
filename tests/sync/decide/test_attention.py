"""What an open ask means for a person: every reason, alone and together, and when it ends."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.decide.attention import (
    CALLED,
    Asked,
    Mode,
    QuietTime,
    Settings,
    Subscription,
    attention,
    called,
    hushed,
    next_change,
    quiet_until,
    subscribed,
)
from sync.decide.people import Person, Role

BERLIN = ZoneInfo("Europe/Berlin")
ANN = Person(id="ann", name="Ann", role=Role.OWNER)
BEN = Person(id="ben", name="Ben", role=Role.MEMBER)
ASKED = Asked(agent="claude", projects=("example.org/team/shop", "shop"), machine="desk")
NIGHTS = QuietTime(days=frozenset(range(5)), start=22 * 60, end=7 * 60, zone=BERLIN)


def at(text: str, zone: ZoneInfo = BERLIN) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


def sub(agent: str, *, on: bool, project: str = "", machine: str = "") -> Subscription:
    return Subscription(agent=agent, project=project, machine=machine, on=on)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ([], True),
        ([sub("claude", on=False)], False),
        ([sub("codex", on=False)], True),
        ([sub("*", on=False)], False),
        ([sub("*", on=False), sub("claude", on=True)], True),
        ([sub("cl*", on=True), sub("*", on=False)], True),
        ([sub("c?aude", on=False), sub("c*", on=True)], False),
        ([sub("claude", on=True), sub("*", on=False, project="shop")], False),
        ([sub("*", on=False, project="shop"), sub("*", on=True, machine="desk")], True),
        ([sub("claude", on=False, machine="laptop")], True),
        ([sub("claude", on=False, project="example.org/*")], False),
        ([sub("claud?", on=False), sub("?laude", on=True)], True),
        ([sub("[c]laude", on=False)], True),
    ],
)
def test_what_fits_most_closely_says_it(said: list[Subscription], wanted: bool) -> None:
    assert subscribed(ASKED, said) is wanted
    assert subscribed(ASKED, said[::-1]) is wanted


@pytest.mark.parametrize(
    ("now", "until"),
    [
        ("2026-12-01T21:59", None),
        ("2026-12-01T22:00", "2026-12-02T07:00"),
        ("2026-12-02T06:59", "2026-12-02T07:00"),
        ("2026-12-02T07:00", None),
        # It begins on a Friday, and so it ends on a Saturday; on Saturday none begins.
        ("2026-12-05T01:00", "2026-12-05T07:00"),
        ("2026-12-05T23:00", None),
        # The night in which clocks go forward is an hour shorter, and ends at 7 all the same.
        ("2027-03-27T23:30", None),
        ("2027-03-29T23:30", "2027-03-30T07:00"),
    ],
)
def test_quiet_hours_are_of_the_wall_clock(now: str, until: str | None) -> None:
    assert quiet_until(NIGHTS, at(now)) == (None if until is None else at(until))


def test_a_night_in_which_clocks_change_ends_by_the_clock_on_the_wall() -> None:
    every = QuietTime(days=frozenset(range(7)), start=22 * 60, end=7 * 60, zone=BERLIN)
    begun, hour = at("2027-03-27T22:00"), 3_600_000
    assert quiet_until(every, begun) == at("2027-03-28T07:00") == begun + 8 * hour


def test_hours_that_follow_each_other_are_one() -> None:
    all_day = QuietTime(days=frozenset({5, 6}), start=0, end=24 * 60 - 1, zone=BERLIN)
    halves = QuietTime(days=frozenset({4, 5, 6}), start=60, end=60 - 1, zone=BERLIN)
    assert quiet_until(all_day, at("2026-12-05T12:00")) == at("2026-12-05T23:59")
    assert quiet_until(halves, at("2026-12-04T12:00")) == at("2026-12-05T00:59")


def test_every_mode_and_what_beats_what() -> None:
    now = at("2026-12-01T23:00")
    muted = Settings(muted_until=now + 1)
    quiet = Settings(quiet=NIGHTS)
    both = Settings(quiet=NIGHTS, muted_until=now + 1)
    off = Settings(subscriptions=(sub("*", on=False),), muted_until=now + 1)
    assert attention(ASKED, ANN, Settings(), now) == CALLED
    assert attention(ASKED, ANN, muted, now).mode is Mode.MUTED
    assert attention(ASKED, ANN, muted, now + 1) == CALLED
    assert attention(ASKED, ANN, quiet, now).mode is Mode.QUIET
    # Of both reasons the one that lasts longer is told.
    assert attention(ASKED, ANN, both, now).until == at("2026-12-02T07:00")
    assert attention(ASKED, ANN, off, now).mode is Mode.NOT_SUBSCRIBED


def test_an_escalation_calls_whoever_it_names_whatever_they_said() -> None:
    asked = Asked(agent="claude", projects=(), machine="m", escalate_at=100, escalate_to="admin")
    off = Settings(subscriptions=(sub("*", on=False),), muted_until=500)
    assert attention(asked, ANN, off, 99).mode is Mode.NOT_SUBSCRIBED
    assert attention(asked, ANN, off, 100).mode is Mode.ESCALATED
    assert attention(asked, ANN, off, 100).calls
    assert attention(asked, BEN, off, 100).mode is Mode.NOT_SUBSCRIBED
    for role in ("tsar", ""):
        unknown = Asked(agent="a", projects=(), machine="m", escalate_at=1, escalate_to=role)
        assert not attention(unknown, ANN, off, 100).calls


def test_where_nobody_is_called_everybody_has_a_reason() -> None:
    mute = Settings(muted_until=10)
    assert called(ASKED, [(ANN, mute), (BEN, Settings())], 5)[0] == 1
    count, others = called(ASKED, [(ANN, mute), (BEN, mute)], 5)
    assert (count, [person.name for person, _ in others]) == (0, ["Ann", "Ben"])
    viewer = Person(id="v", name="V", role=Role.VIEWER)
    assert called(ASKED, [(viewer, mute)], 5) == (0, [])


@given(
    now=st.integers(at("2026-01-01T00:00"), at("2027-12-31T00:00")),
    start=st.integers(0, 1439),
    length=st.integers(1, 1439),
    days=st.tuples(st.frozensets(st.integers(0, 6)), st.none() | st.integers(-1000, 1000)),
    zone=st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"]),
)
def test_nothing_changes_before_the_moment_that_is_told(
    now: int, start: int, length: int, days: tuple[frozenset[int], int | None], zone: str
) -> None:
    quiet_days, mute = days
    quiet = QuietTime(
        days=quiet_days, start=start, end=(start + length) % 1440, zone=ZoneInfo(zone)
    )
    settings = Settings(quiet=quiet, muted_until=None if mute is None else now + mute)
    state, turn = hushed(settings, now), next_change(settings, now)
    if state is not None:
        assert state.until is not None
        assert state.until > now
        assert turn is not None
        assert hushed(settings, state.until) is None
    later = now + 24 * 3_600_000 if turn is None else turn - 1
    assert (hushed(settings, later) is None) is (state is None)


def test_utc_is_a_zone_as_well() -> None:
    quiet = QuietTime(days=frozenset({0}), start=60, end=120, zone=UTC)
    monday = at("2026-11-30T01:30", ZoneInfo("UTC"))
    assert quiet_until(quiet, monday) == monday + 30 * 60_000
