"""`askmesh rules history`: who put which rules into force, and what each version changed."""

from typing import Any

import click

from node.cli.durations import moment
from node.cli.output import json_option, print_json, print_table
from node.cli.place import Place, pass_place
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import visible, visible_line

HEADS = ("version", "applied", "by", "on", "lines", "name")


@click.command(short_help="List the versions of the rules there were.")
@click.argument("version", metavar="[VERSION]", required=False)
@json_option
@pass_place
def history(place: Place, *, version: str | None, as_json: bool) -> None:
    """List the versions of the rules, latest first; with VERSION, what that one changed.

    Says who put them into force, when, and on which machine. Needs your passphrase. To put
    an old one into force again: askmesh rules apply --version VERSION.

    Example: askmesh rules history 3f2a
    """
    if version is not None:
        found = _version(place, version)
        if as_json:
            print_json(found)
            return
        for line in _lines(found["version"]):
            click.echo(line)
        click.echo(visible(found["changes"]).rstrip() or "It changed nothing.")
        return
    with Terminal() as terminal, signed_in(place, terminal) as page:
        told = page.get("rules", "history")
    if as_json:
        print_json(told)
        return
    if not told["versions"]:
        click.echo("No rules were ever applied.")
        return
    print_table(HEADS, [_row(one) for one in told["versions"]], wide=5)
    if told["more"]:
        click.echo("There were more before these; each is found by its version.")


def show_version(place: Place, version: str, *, as_json: bool) -> None:
    """Print one version: by whom, and its text."""
    found = _version(place, version)
    if as_json:
        print_json(found)
        return
    for line in _lines(found["version"]):
        click.echo(line)
    click.echo(visible(found["source"]))


def _version(place: Place, version: str) -> dict[str, Any]:
    with Terminal() as terminal, signed_in(place, terminal) as page:
        return page.get("rules", "history", version.lower())


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    name = f"{one['name']} (in force)" if one["in_force"] else one["name"]
    lines = f"+{one['added']} -{one['removed']}"
    when = moment(one["applied_at"])
    return one["version"], when, one["applied_by"], one["machine"], lines, name


def _lines(one: dict[str, Any]) -> list[str]:
    force = ", in force" if one["in_force"] else ""
    replaced = ", ".join(one["replaces"]) or "none"
    return [
        visible_line(f"{one['name']}, version {one['version']}{force}"),
        visible_line(
            f"  applied by {one['applied_by']} on {one['machine']}, {moment(one['applied_at'])},"
            f" in place of {replaced}"
        ),
    ]
