"""The gate's rules: `rules check`, `rules show`, `rules apply`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from node.cli.durations import moment
from node.cli.output import json_option, plural, print_json
from node.cli.place import Place, pass_place
from node.cli.rules_explain import explain
from node.cli.rules_history import history, show_version
from node.cli.rules_propose import propose
from node.cli.stop import Stop
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import visible, visible_line
from sync.limits import NAME_CHARACTERS

if TYPE_CHECKING:
    from node.cli.page import Page
    from node.gate.rules import Rules

SOURCE: Final = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@click.group(short_help="Check, show and apply the gate's rules.")
def rules() -> None:
    """The rules of the gate: which calls are allowed, asked about, refused.

    Only rules that a person applied are in force; a file is a proposal.

    Example: askmesh rules check rules.toml
    """


rules.add_command(explain)
rules.add_command(history)
rules.add_command(propose)


@rules.command()
@click.argument("file", type=SOURCE)
@json_option
def check(*, file: Path, as_json: bool) -> None:
    """Check a rules file. Needs no node and changes nothing.

    Example: askmesh rules check rules.toml
    """
    found = parsed(file, read(file))
    notes = _notes(file, found)
    if as_json:
        known = {"ok": True, "version": found.version, "count": len(found.rules)}
        print_json(known | ({} if notes is None else {"notes": notes}))
        return
    click.echo(f"{file}: {plural(len(found.rules), 'rule')}, version {found.version}.")
    for note in notes or []:
        click.echo(visible(f"  {file}:{note['line']}: {note['reason']}\n    {note['fix']}"))


@rules.command(short_help="Show the rules in force, or compare FILE.")
@click.argument("file", type=SOURCE, required=False)
@click.option("--source", is_flag=True, help="Print their text. Needs your passphrase.")
@click.option("--version", metavar="V", help="Print one of before, by the beginning of its name.")
@json_option
@pass_place
def show(
    place: Place, *, file: Path | None, source: bool, version: str | None, as_json: bool
) -> None:
    """Show which rules are in force, by whom; with FILE, whether it is what is in force.

    The version is made from the text of the rules: the same text has the same version.

    Example: askmesh rules show rules.toml
    """
    if version is not None:
        if file is not None or source:
            raise click.UsageError("--version names the rules to show: give no file beside it.")
        show_version(place, version, as_json=as_json)
        return
    if source:
        with Terminal() as terminal, signed_in(place, terminal) as page:
            force = page.get("rules")["rules"]
    else:
        force = place.node()["rules"]
    applied = None if file is None else is_in_force(force, read(file))
    if as_json:
        print_json({"rules": force} | ({} if file is None else {"applied": applied}))
        return
    for line in summary(force):
        click.echo(line)
    if file is not None and applied:
        click.echo(f"{file} is what is in force.")
    elif file is not None:
        click.echo(f"{file} is not applied. To put it in force: askmesh rules apply {file}")
    if source and force is not None:
        click.echo(visible(force["source"]))


@rules.command()
@click.argument("file", type=SOURCE, required=False)
@click.option("--version", metavar="V", help="Put an old version into force again, as a new one.")
@json_option
@pass_place
def apply(place: Place, *, file: Path | None, version: str | None, as_json: bool) -> None:
    """Put a rules file into force. For people: needs a terminal and your passphrase.

    Shows what changes against the rules in force, then asks y/N. Of several versions that
    were applied at the same time, applying one settles which is meant.

    Example: askmesh rules apply rules.toml
    """
    if (file is None) == (version is None):
        raise click.UsageError("Give one: a FILE, or --version V.")
    source = "" if file is None else read(file)
    if file is not None:
        parsed(file, source)
    with Terminal() as terminal, signed_in(place, terminal) as page:
        name = "" if file is None else file.name[:NAME_CHARACTERS]
        if version is not None:
            old = page.get("rules", "history", version)
            name, source = old["version"]["name"], old["source"]
        view = page.get("rules")["rules"]
        if not is_in_force(view, source):
            view = put_into_force(page, terminal, view, name=name, source=source)
    if as_json:
        print_json({"rules": view})
        return
    for line in summary(view):
        click.echo(line)


def put_into_force(
    page: "Page", terminal: Terminal, view: dict[str, Any] | None, *, name: str, source: str
) -> dict[str, Any]:
    """Show what changes, ask y/N, apply. Raises `Stop` with all that is wrong with the rules."""
    checked = page.post("rules", "check", body={"source": source})
    if not checked["ok"]:
        raise refused(name, checked["errors"])
    terminal.show(["", *visible(checked["changes"]).splitlines(), ""])
    from node.gate.rules import parse

    terminal.confirm(f"Put {plural(len(parse(source, name).rules), 'rule')} into force?")
    replaces = view["version"] if view is not None else None
    body = {"name": name, "source": source, "replaces": replaces}
    applied: dict[str, Any] = page.put("rules", body=body)["rules"]
    return applied


def read(file: Path) -> str:
    """The text of a rules file, as far as one may be long."""
    from node.limits import RULES_BYTES

    with file.open("rb") as opened:
        content = opened.read(RULES_BYTES + 1)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Stop(
            f"{file} is not UTF-8 text (byte {error.start}).",
            hint="Save it as UTF-8. Nothing was changed.",
            code="rules_refused",
        ) from error


def parsed(file: Path, source: str) -> "Rules":
    """The rules of a file. Raises `Stop` with every problem, its line and its fix."""
    from node.gate.rules import RulesRefused, as_json, parse

    try:
        return parse(source, file.name)
    except RulesRefused as error:
        raise refused(str(file), as_json(error.problems)) from error


def refused(name: str, problems: list[dict[str, Any]]) -> Stop:
    """That rules are not put into force, with every problem, its line and its fix."""
    lines = [f"{name} is refused; the rules in force stay as they are."]
    for problem in problems:
        lines += [f"  {name}:{problem['line']}: {problem['reason']}", f"    {problem['fix']}"]
    stop = Stop("\n".join(lines), code="rules_refused")
    stop.more = {"problems": problems}
    return stop


def _notes(file: Path, found: "Rules") -> list[dict[str, Any]] | None:
    """What of a repository's file has no effect; None for another file."""
    from node.gate.repository import FILE, without_effect
    from node.gate.rules import as_json

    return as_json(without_effect(found)) if file.name == FILE else None


def is_in_force(force: dict[str, Any] | None, source: str) -> bool:
    """Whether this very text is what is in force, and nothing beside it."""
    return force is not None and force["version"] == version_of(source)


def version_of(source: str) -> str:
    """How a rules file is named."""
    from node.gate import rules as gate

    return gate.version_of(source)


def summary(force: dict[str, Any] | None) -> list[str]:
    """What is in force, and by whom; several versions that were applied at the same time."""
    if force is None:
        return ["No rules were ever applied: the agent's host decides when to ask."]
    lines = [f"In force: {force['name']}, version {force['version']}, {_rules(force)}."]
    siblings = force.get("siblings", [])
    lines += [f"  applied {_by(force)}"] if not siblings and "applied_by" in force else []
    if siblings:
        lines.append(
            f"{len(siblings)} versions were applied at the same time. All are in force, and of"
            " what they say the strictest counts:"
        )
        lines += [f"  {one['version']}  {one['name']}, applied {_by(one)}" for one in siblings]
        lines.append(
            "To settle it: askmesh rules apply --version V, or a file. Where an owner applied"
            " one of them, only an owner settles it."
        )
    return [visible_line(line) for line in lines]


def _rules(force: dict[str, Any]) -> str:
    return plural(int(force["count"]), "rule")


def _by(applied: dict[str, Any]) -> str:
    return f"by {applied['applied_by']} on {applied['machine']}, {moment(applied['applied_at'])}"
