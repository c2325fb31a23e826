"""Look at asks: `list`, `show`, `watch`. None of them changes anything."""

import json
from typing import Any

import click

from node.bridge import client
from node.cli.card_text import (
    HEADS,
    TITLE_COLUMN,
    ask_lines,
    history_lines,
    one_line,
    table_row,
)
from node.cli.output import json_option, plural, print_json, print_table
from node.cli.place import Place, pass_place
from sync.decide.visible import visible_line


@click.command("list")
@click.option("--open", "which", flag_value="open", default=True, help="Open asks (default).")
@click.option("--all", "which", flag_value="all", help="Closed ones too, newest first.")
@click.option("--project", metavar="P", help="Only this project (its full id, see `show`).")
@json_option
@pass_place
def list_asks(place: Place, *, which: str, project: str | None, as_json: bool) -> None:
    """List what agents ask, newest first. Changes nothing.

    Example: askmesh list --all --json
    """
    rows = place.call("list", {"closed": which == "all", "project": project})["rows"]
    if as_json:
        print_json({"asks": rows})
        return
    if not rows:
        click.echo("Nothing is asked." if which == "all" else "Nothing is open.")
        return
    now = _now(place)
    print_table(HEADS, [table_row(ask, now) for ask in rows], wide=TITLE_COLUMN)


@click.command()
@click.argument("ask_id", metavar="ID")
@json_option
@pass_place
def show(place: Place, *, ask_id: str, as_json: bool) -> None:
    """Show one ask: its exact call, its answer, its history. Changes nothing.

    Example: askmesh show k7qf-142
    """
    detail = place.call("show", {"ask_id": ask_id})
    if as_json:
        print_json(detail)
        return
    now = _now(place)
    for line in (*ask_lines(detail, now), "", "history", *history_lines(detail, now)):
        click.echo(line)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@pass_place
def watch(place: Place, *, as_json: bool) -> None:
    """Print a line whenever an ask, a session or the rules change. Ctrl-C ends it.

    Example: askmesh watch
    """
    try:
        for name, data in client.watch(place.home):
            if as_json:
                click.echo(json.dumps({"event": name, **data}))
            elif line := _event_line(name, data):
                click.echo(line)
    except KeyboardInterrupt:
        return
    raise client.NodeAway("The node ended the stream; it is stopping.")


def _event_line(name: str, data: dict[str, Any]) -> str | None:
    """What a person wants to read of an event; None for heartbeats."""
    if name != "change":
        return None
    if data.get("ask"):
        return one_line(data["ask"])
    if data.get("session"):
        session = data["session"]
        state = "ended" if session["ended"] else session["status"] or "active"
        open_asks = plural(session["open_asks"], "open ask")
        head = f"session  {session['agent']}@{session['project_name']}"
        return visible_line(f"{head}: {state} ({open_asks})")
    return visible_line(f"{data['topic']}  changed")


def _now(place: Place) -> int:
    """The node's judging clock: ages are never taken from another one."""
    return int(place.node()["now"])
