"""What calls a person: `subscribe`, `unsubscribe`, `mute`, `unmute`, `quiet`.

They answer nothing, and no agent may run them for a person: each needs the passphrase.
"""

import datetime as dt
import os
import re
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import click

from node.cli.durations import Duration
from node.cli.output import json_option, print_json, print_table
from node.cli.place import Place, pass_place
from node.cli.stop import Stop
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import visible_line

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MORNING_HOUR: Final = 8
"""When `tomorrow` begins, for a mute: the next morning, not midnight."""
HEADS: Final = ("AGENT", "PROJECT", "MACHINE", "CALLS YOU")

_HOURS: Final = re.compile(r"(\d{1,2}:\d\d)\s*-\s*(\d{1,2}:\d\d)")
_machine = click.option("--machine", default="", metavar="M", help="Only of asks of this machine.")
_project = click.option("--project", default="", metavar="P", help="Only of asks of this project.")


@click.command(short_help="Be called for an agent's asks; show what calls you.")
@click.argument("agent", metavar="[AGENT]", required=False)
@_project
@_machine
@click.option("--forget", is_flag=True, help="Take back what was said about them.")
@json_option
@pass_place
def subscribe(
    place: Place, *, agent: str | None, project: str, machine: str, forget: bool, as_json: bool
) -> None:
    """Be called for the asks of AGENT: a name, or a pattern such as `ci-*`.

    Everything calls you until you say otherwise, so this is for what `unsubscribe` took away;
    what fits most closely counts. Without AGENT, show what calls you. On all your machines.

    Example: askmesh subscribe release-bot
    """
    if agent is None:
        if project or machine or forget:
            raise click.UsageError("Name the agent as well; '*' means all.")
        with Terminal() as terminal, signed_in(place, terminal) as page:
            _print(place, page.get("attention"), as_json=as_json)
        return
    on = None if forget else True
    _subscribe(place, {"agent": agent, "project": project, "machine": machine, "on": on}, as_json)


@click.command(short_help="Do not be called for an agent's asks.")
@click.argument("agent")
@_project
@_machine
@json_option
@pass_place
def unsubscribe(place: Place, *, agent: str, project: str, machine: str, as_json: bool) -> None:
    """Do not be called for the asks of AGENT: a name, or a pattern such as `ci-*`.

    They stay in your list and you can answer them. An ask that goes on to you because nobody
    answered calls you all the same.

    Example: askmesh unsubscribe 'ci-*' --project shop
    """
    body = {"agent": agent, "project": project, "machine": machine, "on": False}
    _subscribe(place, body, as_json)


@click.command(short_help="Let nothing call you for a while.")
@click.argument("span", metavar="[FOR]", type=Duration(), required=False)
@click.option("--until", metavar="WHEN", help="14:00, tomorrow, or 2026-12-24 09:00.")
@json_option
@pass_place
def mute(place: Place, *, span: float | None, until: str | None, as_json: bool) -> None:
    """Let nothing call you for a while (an hour unless told), on all your machines.

    It ends by itself, after 31 days at the latest. Nothing is answered by it: asks wait,
    deadlines pass, and you can still answer.

    Example: askmesh mute 2h
    """
    if span is not None and until is not None:
        raise click.UsageError("Say for how long, or --until when.")
    now = int(place.node()["now"])
    at = (
        now + round((3600 if span is None else span) * 1000)
        if until is None
        else moment_of(until, now)
    )
    with Terminal() as terminal, signed_in(place, terminal) as page:
        after = page.put("attention", "mute", body={"until": at})
    _print(place, after, as_json=as_json)


@click.command(short_help="Let things call you again.")
@json_option
@pass_place
def unmute(place: Place, *, as_json: bool) -> None:
    """End a mute. Quiet hours and subscriptions stay.

    Example: askmesh unmute
    """
    with Terminal() as terminal, signed_in(place, terminal) as page:
        after = page.put("attention", "mute", body={"until": None})
    _print(place, after, as_json=as_json)


@click.command(short_help="Set hours of the day in which nothing calls you.")
@click.argument("hours", metavar="[FROM-TO]", required=False)
@click.option("--days", default="mon-sun", metavar="D", help="On which they begin: mon-fri,sun.")
@click.option("--zone", metavar="Z", help="Time zone (Europe/Berlin); this machine's unless told.")
@click.option("--off", is_flag=True, help="Have no quiet hours.")
@json_option
@pass_place
def quiet(
    place: Place, *, hours: str | None, days: str, zone: str | None, off: bool, as_json: bool
) -> None:
    """Set hours of the wall clock in which nothing calls you, on all your machines.

    Nothing is answered by it. An ask that goes on to you calls you all the same.

    Example: askmesh quiet 22:00-07:00 --days mon-fri
    """
    if (hours is None) != off:
        raise click.UsageError("Give the hours as FROM-TO, or --off.")
    wanted = None if hours is None else _quiet(hours, days, zone)
    with Terminal() as terminal, signed_in(place, terminal) as page:
        after = page.put("attention", "quiet", body={"quiet": wanted})
    _print(place, after, as_json=as_json)


def _subscribe(place: Place, body: dict[str, Any], as_json: bool) -> None:
    with Terminal() as terminal, signed_in(place, terminal) as page:
        after = page.put("attention", "subscriptions", body=body)
    _print(place, after, as_json=as_json)


def _quiet(hours: str, days: str, zone: str | None) -> dict[str, Any]:
    found = _HOURS.fullmatch(hours.strip())
    if found is None:
        raise click.UsageError(f"{hours!r} are no hours. Write for example 22:00-07:00.")
    return {
        "start": found[1].zfill(5),
        "end": found[2].zfill(5),
        "days": days_of(days),
        "zone": zone or local_zone(),
    }


def days_of(typed: str) -> list[int]:
    """The weekdays in `mon-fri,sun`, Monday as 0. Raises a usage error."""
    days: set[int] = set()
    for part in typed.lower().replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first not in DAYS or (last or first) not in DAYS:
            raise click.UsageError(f"{part!r} are no days. Write for example mon-fri,sun.")
        start, end = DAYS.index(first), DAYS.index(last or first)
        days |= {day % 7 for day in range(start, end + 1 if end >= start else end + 8)}
    return sorted(days)


def local_zone() -> str:
    """The IANA name of this machine's time zone. Raises `Stop` where nothing tells it."""
    named = [os.environ.get("TZ", "").removeprefix(":")]
    named.append(os.path.realpath("/etc/localtime").partition("zoneinfo/")[2])
    try:
        named.append(Path("/etc/timezone").read_text("ascii").strip())
    except (OSError, UnicodeDecodeError):
        named.append("")
    for name in named:
        try:
            return ZoneInfo(name).key
        except (ValueError, OSError, KeyError):
            continue
    raise Stop(
        "This machine does not say in which time zone it is.",
        hint="Name it: --zone Europe/Berlin",
        code="invalid",
    )


def moment_of(typed: str, now: int) -> int:
    """`14:00` (the next one), `tomorrow`, or a date and a time, of this machine's clock."""
    local = dt.datetime.fromtimestamp(now / 1000, dt.UTC).astimezone()
    if typed == "tomorrow":
        day = local.date() + dt.timedelta(days=1)
        return _at(dt.datetime.combine(day, dt.time(MORNING_HOUR)))
    try:
        if re.fullmatch(r"\d{1,2}:\d\d", typed):
            wall = dt.time.fromisoformat(typed.zfill(5))
            today = _at(dt.datetime.combine(local.date(), wall))
            later = dt.datetime.combine(local.date() + dt.timedelta(days=1), wall)
            return today if today > now else _at(later)
        moment = dt.datetime.fromisoformat(typed)
    except ValueError:
        hint = "Write for example 14:00, tomorrow, or 2026-12-24 09:00."
        raise click.UsageError(f"{typed!r} is no time. {hint}") from None
    return _at(moment)


def _at(wall: dt.datetime) -> int:
    return round(wall.timestamp() * 1000)


def clock(milliseconds: int, now: int) -> str:
    """A moment of this machine's clock: `14:00`, with the day where it is not today."""
    moment = dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).astimezone()
    today = dt.datetime.fromtimestamp(now / 1000, dt.UTC).astimezone().date()
    return f"{moment:%H:%M}" if moment.date() == today else f"{moment:%a %Y-%m-%d %H:%M}"


def state_line(view: dict[str, Any], now: int) -> str:
    """`muted until 14:00`, `quiet until 07:00`, or what calls."""
    if view["state"] == "called":
        return "called"
    return f"{view['state']} until {clock(view['until'], now)}"


def called(view: dict[str, Any]) -> str:
    """What calls a person whom nothing hushes right now."""
    if any(not one["on"] for one in view["subscriptions"]):
        return "You are called for what you may answer, but for what is named below."
    hours = " outside of your quiet hours" if view["quiet"] is not None else ""
    return f"You are called for everything you may answer{hours}."


def _print(place: Place, view: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(view)
        return
    now = int(place.node()["now"])
    if view["state"] == "called":
        click.echo(called(view))
    else:
        line = state_line(view, now)
        click.echo(f"You are {line}. Asks wait; answer them when you look: askmesh list")
    hours = view["quiet"]
    if hours is not None:
        days = ",".join(DAYS[day] for day in hours["days"])
        where = hours["zone"] if hours["known"] else f"{hours['zone']}, which is not known here"
        text = f"quiet hours: {hours['start']}-{hours['end']} from {days} ({where})"
        click.echo(visible_line(text))
    rows = [
        (
            one["agent"],
            one["project"] or "any",
            one["machine_name"] or "any",
            "yes" if one["on"] else "no",
        )
        for one in view["subscriptions"]
    ]
    if rows:
        print_table(HEADS, rows, wide=0)
