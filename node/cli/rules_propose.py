"""`askmesh rules propose`: an approval made a rule, shown as what it would change."""

from pathlib import Path
from typing import Any, Final

import click

from node.cli.output import json_option, print_json
from node.cli.place import Place, pass_place
from node.cli.stop import Stop
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import visible, visible_line

TARGET: Final = click.Path(dir_okay=False, path_type=Path)
ACTIONS: Final = {"allowed": "allow", "denied": "deny"}
"""What to do from now on, by how the ask was decided."""


@click.command(short_help="Turn an approval into a rule: always like this.")
@click.argument("ask_id", metavar="ID")
@click.option("--allow", "action", flag_value="allow", help="Such calls run without asking.")
@click.option("--deny", "action", flag_value="deny", help="Such calls are refused.")
@click.option("--days", type=click.IntRange(1, 365), default=7, show_default=True, help="How long.")
@click.option("--no-end", is_flag=True, help="It holds until somebody changes it.")
@click.option("--output", type=TARGET, help="Write the whole rules file there; apply nothing.")
@json_option
@pass_place
def propose(
    place: Place,
    *,
    ask_id: str,
    action: str | None,
    days: int,
    no_end: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Turn the call of an approval into a rule for exactly such calls.

    Without --allow or --deny it does as was decided. Shows what it would change; an owner or
    an admin is asked y/N whether to put it into force, anyone else can pass it on to one.
    With --json or --output nothing is put into force.

    Example: askmesh rules propose k7qf-142 --days 30
    """
    from node.cli.rules import put_into_force, summary

    with Terminal() as terminal, signed_in(place, terminal) as page:
        wanted = action or _decided(page.get("asks", ask_id)["ask"])
        body = {"action": wanted, "days": None if no_end else days}
        found = page.post("asks", ask_id, "rule", body=body)["proposal"]
        if output is not None:
            _write(output, found["source"])
        if as_json:
            print_json({"proposal": found})
            return
        for note in found["notes"]:
            click.echo(visible_line(note))
        if output is not None or not found["may_apply"]:
            click.echo(visible(found["changes"]).rstrip())
            click.echo(_next(output))
            return
        view = page.get("rules")["rules"]
        if (None if view is None else view["version"]) != found["replaces"]:
            raise Stop(
                "Other rules came into force meanwhile.", hint="Propose it again.", code="conflict"
            )
        view = put_into_force(page, terminal, view, name=found["name"], source=found["source"])
    for line in summary(view):
        click.echo(line)


def _decided(ask: dict[str, Any]) -> str:
    outcome = (ask.get("final") or {}).get("outcome")
    if outcome not in ACTIONS:
        raise Stop(
            f"{ask['short']} was neither allowed nor denied, so it is open what to do always.",
            hint="Say --allow or --deny.",
            code="usage",
        )
    return ACTIONS[outcome]


def _write(output: Path, source: str) -> None:
    try:
        with output.open("x") as file:
            file.write(source)
    except OSError as error:
        raise Stop(
            f"{output} could not be written ({error.strerror}).",
            hint="Name a file that does not exist yet.",
            code="not_written",
        ) from error


def _next(output: Path | None) -> str:
    if output is None:
        return (
            "Only an owner or an admin puts rules into force; with --output FILE you can pass"
            " it on to one."
        )
    return f"Nothing was put into force. To do so: askmesh rules apply {output}"
