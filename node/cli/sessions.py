"""The signed-in places of a person: `sessions list`, `sessions end`."""

import datetime as dt
from typing import Any

import click

from node.cli.output import json_option, plural, print_json, print_table
from node.cli.place import Place, pass_place
from node.cli.terminal import Terminal, signed_in

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

    Browsers and terminals. A session is ended on the machine where it lives.

    Example: askmesh sessions list
    """
    with Terminal() as terminal, signed_in(place, terminal) as page:
        rows = page.get("sessions")["sessions"]
    if as_json:
        print_json({"sessions": rows})
        return
    print_table(HEADS, [_row(row) for row in rows], wide=len(HEADS) - 1)


@sessions.command()
@click.argument("session_id", metavar="[ID]", required=False)
@click.option("--others", is_flag=True, help="End all of them.")
@json_option
@pass_place
def end(place: Place, *, session_id: str | None, others: bool, as_json: bool) -> None:
    """End one session by its id, or all with --others.

    Example: askmesh sessions end --others
    """
    if (session_id is None) != others:
        raise click.UsageError("Name a session's id, or give --others.")
    with Terminal() as terminal, signed_in(place, terminal) as page:
        reply = page.delete("sessions", *([session_id] if session_id else []))
    if as_json:
        print_json(reply)
    else:
        click.echo(f"{plural(reply['ended'], 'session')} ended.")


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
