"""The gate's rules: `rules check`, `rules show`, `rules apply`."""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from node.cli.output import json_option, plural, print_json
from node.cli.place import Place, pass_place
from node.cli.stop import Stop
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import visible, visible_line

if TYPE_CHECKING:
    from node.gate.rules import Rules

SOURCE: Final = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@click.group(short_help="Check, show and apply the gate's rules.")
def rules() -> None:
    """The rules of the gate: which calls are allowed, asked about, refused.

    Only rules that a person applied are in force; a file is a proposal.

    Example: askmesh rules check rules.toml
    """


@rules.command()
@click.argument("file", type=SOURCE)
@json_option
def check(*, file: Path, as_json: bool) -> None:
    """Check a rules file. Needs no node and changes nothing.

    Example: askmesh rules check rules.toml
    """
    parsed = _parsed(file, _read(file))
    if as_json:
        print_json({"ok": True, "version": parsed.version, "count": len(parsed.rules)})
    else:
        click.echo(f"{file}: {plural(len(parsed.rules), 'rule')}, version {parsed.version}.")


@rules.command(short_help="Show the rules in force, or compare FILE.")
@click.argument("file", type=SOURCE, required=False)
@json_option
@pass_place
def show(place: Place, *, file: Path | None, as_json: bool) -> None:
    """Show the rules in force; with FILE, whether that file is what is in force.

    Example: askmesh rules show rules.toml
    """
    force = place.node()["rules"]
    applied = None if file is None else force is not None and force["source"] == _read(file)
    if as_json:
        print_json({"rules": force} | ({} if file is None else {"applied": applied}))
        return
    if file is None:
        _print_in_force(force)
        return
    if applied:
        click.echo(f"{file} is in force (version {force['version']}).")
        return
    click.echo(f"{file} is not applied. What differs from the rules in force:")
    for line in _difference(force, _read(file)):
        click.echo(line)
    click.echo(f"To put it in force: askmesh rules apply {file}")


@rules.command()
@click.argument("file", type=SOURCE)
@json_option
@pass_place
def apply(place: Place, *, file: Path, as_json: bool) -> None:
    """Put a rules file into force. For people: needs a terminal and your passphrase.

    Shows what changes against the rules in force, asks y/N, then for the passphrase.

    Example: askmesh rules apply rules.toml
    """
    source = _read(file)
    parsed = _parsed(file, source)
    with Terminal() as terminal:
        force = place.node()["rules"]
        if force is not None and force["version"] == parsed.version:
            click.echo(f"{file} is in force already (version {parsed.version}).")
            return
        terminal.show(["", *_difference(force, source), ""])
        terminal.confirm(f"Put these {plural(len(parsed.rules), 'rule')} into force?")
        with signed_in(place, terminal) as page:
            body = {
                "name": file.name,
                "source": source,
                "replaces": force["version"] if force is not None else None,
            }
            view = page.put("rules", body=body)
    view = view.get("rules", view)
    if as_json:
        print_json({"rules": view})
    else:
        click.echo(f"In force: {visible_line(view['name'])}, version {view['version']}.")


def _read(file: Path) -> str:
    from node.limits import RULES_BYTES

    with file.open("rb") as opened:
        content = opened.read(RULES_BYTES + 1)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Stop(
            f"{file} is not UTF-8 text (byte {error.start}).", code="rules_refused"
        ) from error


def _parsed(file: Path, source: str) -> "Rules":
    """The rules of a file. Raises `Stop` with every problem, its line and its fix."""
    from node.gate.rules import RulesRefused, as_json, parse

    try:
        return parse(source, file.name)
    except RulesRefused as error:
        lines = [f"{file} is refused; the rules in force stay as they are."]
        for problem in error.problems:
            lines += [f"  {file}:{problem.line}: {problem.reason}", f"    {problem.fix}"]
        stop = Stop("\n".join(lines), code=error.code)
        stop.more = {"problems": as_json(error.problems)}
        raise stop from error


def _print_in_force(force: dict[str, Any] | None) -> None:
    if force is None:
        click.echo("No rules were ever applied: the agent's host decides when to ask.")
        return
    by = visible_line(f"{force['name']}, applied by {force['applied_by']}")
    click.echo(f"# version {force['version']}, {plural(force['count'], 'rule')}: {by}")
    click.echo(visible(force["source"]))


def _difference(force: dict[str, Any] | None, source: str) -> list[str]:
    """A unified diff from the rules in force to a file's text, made visible."""
    before = force["source"] if force is not None else ""
    lines = difflib.unified_diff(
        visible(before).splitlines(),
        visible(source).splitlines(),
        f"in force ({force['version'] if force is not None else 'none'})",
        "the file",
        lineterm="",
    )
    return list(lines)
