"""The signed-in places of a person: `sessions list`, `sessions end`."""

import datetime as dt
from typing import Any

import click

from node.cli.output import json_option, plural, print_json, print_table
from node.cli.place import Place, pass_place
from node.cli.stop import Stop
from node.cli.terminal import Terminal, signed_in
from node.cli.whose import member

HEADS = ("ID", "KIND", "SINCE", "LAST USED", "WHERE")


@click.group(short_help="List and end your signed-in places.")
def sessions() -> None:
    """The places where you are signed in. Needs a terminal and your passphrase.

    Example: askmesh sessions list
    """


@sessions.command("list")
@json_option
@pass_place
def list_sessions(place: Place, *, as_json: bool) -> None:
    """List where you are signed in on this machine.

    Browsers and terminals. Those of another machine are seen there.

    Example: askmesh sessions list
    """
    with Terminal() as terminal, signed_in(place, terminal) as page:
        rows = page.get("sessions")["sessions"]
    if as_json:
        print_json({"sessions": rows})
        return
    print_table(HEADS, [_row(row) for row in rows], wide=len(HEADS) - 1)


@sessions.command(short_help="End one session, or all of them.")
@click.argument("session_id", metavar="[ID]", required=False)
@click.option("--others", is_flag=True, help="End all of them.")
@click.option("--machine", help="End all of them on another machine of yours.")
@json_option
@pass_place
def end(
    place: Place, *, session_id: str | None, others: bool, machine: str | None, as_json: bool
) -> None:
    """End one session by its id, or all with --others; or all on another machine.

    Another machine must be connected, and this one yours.

    Example: askmesh sessions end --machine studio

    Example: askmesh sessions end --others
    """
    if sum((session_id is not None, others, machine is not None)) != 1:
        raise click.UsageError("Name a session's id, or give --others or --machine.")
    with Terminal() as terminal:
        path = ("sessions", *([session_id] if session_id else []))
        if machine is not None:
            path = ("machines", _other(place, machine), "sessions")
        with signed_in(place, terminal) as page:
            reply = page.delete(*path)
    if as_json:
        print_json(reply)
    else:
        click.echo(f"{plural(reply['ended'], 'session')} ended.")


def _other(place: Place, typed: str) -> str:
    """The id of the machine that is meant. Raises `Stop`, for this one too."""
    machine = member(place, typed)
    if machine["here"]:
        raise Stop(
            "This is that machine.",
            hint="Its sessions are ended one by one, or by: askmesh sessions end --others",
            code="conflict",
        )
    return str(machine["machine"]["id"])


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    mark = " (this one)" if row["current"] else ""
    return (
        row["id"],
        row["kind"] + mark,
        _time(row["created"]),
        _time(row["last_used"]),
        row["where"],
    )


def _time(milliseconds: int) -> str:
    moment = dt.datetime.fromtimestamp(milliseconds / 1000, tz=dt.UTC).astimezone()
    return moment.strftime("%Y-%m-%d %H:%M")
