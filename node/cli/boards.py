"""The boards that agents of this project keep, in a shell: `boards`."""

from typing import Any, Final

import click

from node.cli.output import json_option, print_json, print_table
from node.cli.place import Place, pass_place
from sync.decide.visible import visible_line

HEADS: Final = ("BOARD", "DONE", "BLOCKED", "")
ROWS: Final = ("STATUS", "ROW", "NOTE", "NEXT")


@click.command(short_help="Show the boards that agents of this project keep.")
@click.argument("title", metavar="[TITLE]", required=False)
@json_option
@pass_place
def boards(place: Place, *, title: str | None, as_json: bool) -> None:
    """List the boards of this project or, with TITLE, show the rows of one. Changes nothing.

    Example: askmesh boards "Release 4"
    """
    reply = place.call("board_get", {"title": title})
    if as_json:
        print_json(reply)
    elif title is not None:
        _print_board(reply["board"])
    elif reply["boards"]:
        print_table(HEADS, [_summary(one) for one in reply["boards"]], wide=0)
    else:
        click.echo("This project has no boards.", err=True)


def _summary(one: dict[str, Any]) -> tuple[str, ...]:
    done = f"{one['done']} of {one['rows']}"
    return one["title"], done, str(one["blocked"]), "archived" if one["archived"] else ""


def _print_board(board: dict[str, Any]) -> None:
    click.echo(visible_line(board["title"] + (" (archived)" if board["archived"] else "")))
    cells = [
        (row["status"], row["label"], row["outcome"] or row["note"], row["next_step"])
        for row in board["rows"]
    ]
    print_table(ROWS, cells, wide=2)
    if board["erased"]:
        click.echo(f"{board['erased']} rows were erased.")
