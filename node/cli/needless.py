"""A person says that something need not have been asked; and how often that was so."""

import click

from node.cli.output import json_option, print_json, print_table
from node.cli.place import Place, pass_place
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import visible_line

HEADS = ("AGENT", "INSTRUCTIONS", "ASKED", "NEEDLESS")


@click.command()
@click.argument("ask_id", metavar="ID")
@click.option("--undo", is_flag=True, help="It need be asked after all.")
@json_option
@pass_place
def needless(place: Place, *, ask_id: str, undo: bool, as_json: bool) -> None:
    """Say that an ask need not have been asked. For people: needs a terminal and passphrase.

    It answers nothing. It is counted for the agent: see `askmesh agent report`.

    Example: askmesh needless k7qf-142
    """
    with Terminal() as terminal:
        ask = place.call("show", {"ask_id": ask_id})["ask"]
        terminal.show([visible_line(f"{ask['short']}  {ask['agent']}: {ask['title']}")])
        with signed_in(place, terminal) as page:
            body = {"needless": not undo}
            after = page.put("asks", ask["id"], "needless", body=body)["ask"]
    if as_json:
        print_json({"ask": after})
        return
    counts = "no more counts" if undo else "counts"
    click.echo(visible_line(f"{after['short']} {counts} as one that need not have been asked."))


@click.command(short_help="How much each agent asked needlessly.")
@json_option
@pass_place
def report(place: Place, *, as_json: bool) -> None:
    """Show how much each agent asked, and how much of it people marked as needless.

    By version of the instructions that told it when to ask. Changes nothing.

    Example: askmesh agent report
    """
    rows = place.call("report", {})["agents"]
    if as_json:
        print_json({"agents": rows})
        return
    if not rows:
        click.echo("No agent has asked anything yet.")
        return
    print_table(
        HEADS,
        [
            (row["agent"], row["contract"] or "unknown", str(row["asked"]), str(row["needless"]))
            for row in rows
        ],
        wide=0,
    )
