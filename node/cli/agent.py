"""Make agents use askmesh: `agent install`, `agent uninstall`, `agent check`; `mcp`, `hook`."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from node.bridge.start import launcher
from node.cli.needless import report
from node.cli.output import json_option, plural, print_json
from node.cli.place import Place, pass_place
from node.cli.stop import REFUSED

if TYPE_CHECKING:
    from node.agents.kits import claude

HOSTS: Final = click.Choice(["claude"])
PASSED_ON: Final = {
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "help_option_names": [],
}
"""Settings of the two commands whose words belong to the bridge."""


@click.group(short_help="Install into an agent: MCP and gate.")
def agent() -> None:
    """Make an agent use askmesh: its MCP server and the hooks of the gate.

    Example: askmesh agent install claude
    """


_scope_option: Final = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    default="user",
    show_default=True,
    help="All projects of this user, or the one in this folder.",
)


@agent.command(short_help="Write MCP server and hooks.")
@click.argument("host", type=HOSTS)
@_scope_option
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@json_option
@pass_place
def install(place: Place, *, host: str, scope: str, dry_run: bool, as_json: bool) -> None:
    """Write MCP server and hooks into the agent's settings. A backup stays beside each file.

    Example: askmesh agent install claude --dry-run
    """
    _change(place, host, scope, remove=False, dry_run=dry_run, as_json=as_json)


@agent.command(short_help="Take MCP server and hooks out again.")
@click.argument("host", type=HOSTS)
@_scope_option
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@json_option
@pass_place
def uninstall(place: Place, *, host: str, scope: str, dry_run: bool, as_json: bool) -> None:
    """Take MCP server and hooks out of the agent's settings again.

    Example: askmesh agent uninstall claude
    """
    _change(place, host, scope, remove=True, dry_run=dry_run, as_json=as_json)


@agent.command(short_help="Look whether it is installed right.")
@click.argument("host", type=HOSTS)
@_scope_option
@json_option
@pass_place
def check(place: Place, *, host: str, scope: str, as_json: bool) -> None:
    """Look whether the kit is installed as it should be; ends with 1 when it is not.

    Example: askmesh agent check claude
    """
    from node.agents.kits import claude

    findings = claude.check(_where(place, scope))
    missing = [finding for finding in findings if not finding.ok]
    if as_json:
        rows = [{"ok": f.ok, "what": f.what, "fix": f.fix} for f in findings]
        print_json({"agent": host, "scope": scope, "ok": not missing, "findings": rows})
    else:
        for finding in findings:
            click.echo(f"{'ok     ' if finding.ok else 'MISSING'}  {finding.what}")
        for fix in dict.fromkeys(finding.fix for finding in missing):
            click.echo(fix)
    if missing:
        click.get_current_context().exit(REFUSED)


agent.add_command(report)


@click.command(
    context_settings=PASSED_ON,
    add_help_option=False,
    short_help="Serve an agent over MCP; hosts start it.",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@pass_place
def mcp(place: Place, *, words: tuple[str, ...]) -> None:
    """Serve an agent over MCP on standard input and output (hosts start this).

    Example: askmesh mcp
    """
    os.environ["ASKMESH_HOME"] = place.home
    _become(["mcp", *words])


@click.command(
    context_settings=PASSED_ON,
    add_help_option=False,
    short_help="Bring a hook event to the gate.",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@pass_place
def hook(place: Place, *, words: tuple[str, ...]) -> None:
    """Carry one hook event of an agent to the gate (installed hooks run this).

    Example: askmesh hook claude PreToolUse --home ~/.askmesh
    """
    given = [] if "--home" in words else ["--home", place.home]
    _become(["hook", *words, *given])


def _become(words: list[str]) -> None:
    """Go on as the bridge, which runs without this command's imports."""
    program = [sys.executable, "-I", "-S", launcher(), *words]
    os.execv(sys.executable, program)  # noqa: S606 - no shell is wanted


def _where(place: Place, scope: str) -> "claude.Place":
    from node.agents.kits import claude

    return claude.place("project" if scope == "project" else "user", place.home)


def _change(
    place: Place, host: str, scope: str, *, remove: bool, dry_run: bool, as_json: bool
) -> None:
    from node.agents.kits import claude

    planned = claude.plan(_where(place, scope), remove=remove)
    backups = [] if dry_run else claude.apply(planned)
    if as_json:
        print_json(
            {
                "agent": host,
                "scope": scope,
                "changed": not dry_run and bool(planned.changes),
                "files": [str(change.path) for change in planned.changes],
                "backups": [str(backup) for backup in backups],
                "notes": list(planned.notes),
            }
        )
        return
    if dry_run:
        for change in planned.changes:
            click.echo(change.diff)
    _say_changed(planned, backups, dry_run=dry_run)


def _say_changed(planned: "claude.Plan", backups: list[Path], *, dry_run: bool) -> None:
    if not planned.changes:
        click.echo("Nothing to change: it is as it should be.")
        return
    would = "would be " if dry_run else ""
    click.echo(f"{plural(len(planned.changes), 'file')} {would}changed:")
    for change in planned.changes:
        click.echo(f"  {change.path}")
    for backup in backups:
        click.echo(f"  backup: {backup}")
    for note in planned.notes:
        click.echo(note)
