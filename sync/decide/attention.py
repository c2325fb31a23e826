"""What one open ask means for one person right now: whether it calls them, and if not, why.

One function, so that badge, title, list and notices never disagree. It only says how loud
an ask is: whether someone may answer, and whether an ask is open, is decided elsewhere and
never asks this room. A quieter ask is shown and can be answered like any other.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import Enum
from fnmatch import fnmatchcase

import msgspec

from sync.decide.people import Person, eligible
from sync.limits import DAY_MS

DAY_MINUTES = 24 * 60
CHAINED = 8
"""Quiet times that follow each other without a gap are told as one, up to a week of them."""


class Mode(Enum):
    """What an open ask means for a person."""

    CALLED = "called"
    """It needs them."""
    ESCALATED = "escalated"
    """Nobody answered in time, so it calls them whatever they said."""
    NOT_SUBSCRIBED = "not_subscribed"
    """They do not want to be called for this agent."""
    MUTED = "muted"
    """They muted everything for a stated time."""
    QUIET = "quiet"
    """It is one of their quiet hours."""


CALLS = frozenset({Mode.CALLED, Mode.ESCALATED})
"""What counts in the badge, the title and the list of what needs someone."""


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    """A mode, and until when it holds where that is known."""

    mode: Mode = Mode.CALLED
    until: int | None = None

    @property
    def calls(self) -> bool:
        """Whether the ask calls the person."""
        return self.mode in CALLS


CALLED = Attention()


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """A person wants (`on`) or does not want to be called for what fits.

    `agent` and `project` may hold `*` and `?`; an empty `project` or `machine` fits any.
    """

    agent: str
    project: str = ""
    machine: str = ""
    """A node id."""
    on: bool


class QuietTime(msgspec.Struct, frozen=True, kw_only=True):
    """Hours of the wall clock in `zone`, beginning on these weekdays (Monday is 0).

    Minutes of the day; an `end` that is not after `start` lies on the next day.
    """

    days: frozenset[int]
    start: int
    end: int
    zone: tzinfo


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What one person said about being called. Nothing said: everything calls."""

    subscriptions: tuple[Subscription, ...] = ()
    muted_until: int | None = None
    quiet: QuietTime | None = None


NOTHING_SAID = Settings()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What of an open ask says whom it calls."""

    agent: str
    projects: tuple[str, ...]
    """The names under which its project is known."""
    machine: str
    role: str | None = None
    escalate_at: int | None = None
    escalate_to: str | None = None


def attention(asked: Asked, person: Person, settings: Settings, now: int) -> Attention:
    """Return what an open ask means for `person`, who may answer it, at `now`."""
    if escalated(asked, now) and passed_to(asked, person):
        return Attention(mode=Mode.ESCALATED)
    if not subscribed(asked, settings.subscriptions):
        return Attention(mode=Mode.NOT_SUBSCRIBED)
    return hushed(settings, now) or CALLED


def escalated(asked: Asked, now: int) -> bool:
    """Whether it has waited so long that it goes on to others."""
    return asked.escalate_at is not None and now >= asked.escalate_at


def passed_to(asked: Asked, person: Person) -> bool:
    """Whether an escalation of it means this person. An unknown role means nobody."""
    wanted = asked.escalate_to
    return wanted is not None and eligible(person, wanted) and eligible(person, asked.role)


def hushed(settings: Settings, now: int) -> Attention | None:
    """Return what keeps everything quiet for a person at `now`; None: nothing does."""
    muted, quiet = settings.muted_until, quiet_until(settings.quiet, now)
    if muted is not None and now < muted and (quiet is None or quiet <= muted):
        return Attention(mode=Mode.MUTED, until=muted)
    if quiet is not None:
        return Attention(mode=Mode.QUIET, until=quiet)
    return None


def subscribed(asked: Asked, subscriptions: Sequence[Subscription]) -> bool:
    """Whether a person wants to be called for this: what fits most closely says so.

    Where two fit alike, the one that calls wins: too loud is seen, too quiet is not.
    """
    fitting = [(_closeness(one), one.on) for one in subscriptions if fits(one, asked)]
    return max(fitting)[1] if fitting else True


def fits(one: Subscription, asked: Asked) -> bool:
    """Whether a subscription is about this ask."""
    return (
        fnmatchcase(asked.agent, _pattern(one.agent))
        and one.machine in ("", asked.machine)
        and (
            not one.project
            or any(fnmatchcase(name, _pattern(one.project)) for name in asked.projects)
        )
    )


def _pattern(typed: str) -> str:
    # Only * and ? are wild: a bracket stands for itself.
    return typed.replace("[", "[[]")


def _closeness(one: Subscription) -> tuple[bool, bool, bool, int]:
    wild = "*" in one.agent or "?" in one.agent
    plain = len(one.agent.replace("*", "").replace("?", ""))
    return bool(one.machine), bool(one.project), not wild, plain


def quiet_until(quiet: QuietTime | None, now: int) -> int | None:
    """Return when the quiet hours that hold at `now` end; None: it is not quiet."""
    if quiet is None:
        return None
    end: int | None = None
    at = now
    for _ in range(CHAINED):
        found = [stop for start, stop in _around(quiet, at) if start <= at < stop]
        if not found:
            break
        end = at = max(found)
    return end


def _around(quiet: QuietTime, now: int) -> Iterable[tuple[int, int]]:
    """Give the quiet times that begin near `now`, as moments."""
    today = datetime.fromtimestamp(now / 1000, UTC).astimezone(quiet.zone).date()
    for offset in (-1, 0, 1):
        day = today + timedelta(days=offset)
        if day.weekday() in quiet.days:
            last = day if quiet.end > quiet.start else day + timedelta(days=1)
            yield _moment(day, quiet.start, quiet.zone), _moment(last, quiet.end, quiet.zone)


def _moment(day: date, minutes: int, zone: tzinfo) -> int:
    wall = datetime.combine(day, datetime.min.time()) + timedelta(minutes=minutes)
    return round(wall.replace(tzinfo=zone).timestamp() * 1000)


def next_change(settings: Settings, now: int) -> int | None:
    """Return when time alone next changes what a person is called for; None: never.

    It may name a moment at which nothing changes, and misses none within a day.
    """
    moments = [settings.muted_until] if settings.muted_until is not None else []
    if settings.quiet is not None:
        near = [*_around(settings.quiet, now), *_around(settings.quiet, now + DAY_MS)]
        moments += [moment for times in near for moment in times]
    return min((moment for moment in moments if moment > now), default=None)


def called(
    asked: Asked, persons: Iterable[tuple[Person, Settings]], now: int
) -> tuple[int, list[tuple[Person, Attention]]]:
    """Return how many of those who may answer are called, and the others with the reason."""
    found = [
        (person, attention(asked, person, settings, now))
        for person, settings in persons
        if eligible(person, asked.role)
    ]
    others = [(person, state) for person, state in found if not state.calls]
    return len(found) - len(others), others
