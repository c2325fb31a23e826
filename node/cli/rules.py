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
from sync.limits import NAME_CHARACTERS

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
    notes = _notes(file, parsed)
    if as_json:
        known = {"ok": True, "version": parsed.version, "count": len(parsed.rules)}
        print_json(known | ({} if notes is None else {"notes": notes}))
        return
    click.echo(f"{file}: {plural(len(parsed.rules), 'rule')}, version {parsed.version}.")
    for note in notes or []:
        click.echo(visible(f"  {file}:{note['line']}: {note['reason']}\n    {note['fix']}"))


@rules.command(short_help="Show the rules in force, or compare FILE.")
@click.argument("file", type=SOURCE, required=False)
@click.option("--source", is_flag=True, help="Print their text. Needs your passphrase.")
@json_option
@pass_place
def show(place: Place, *, file: Path | None, source: bool, as_json: bool) -> None:
    """Show which rules are in force; with FILE, whether that file is what is in force.

    The version is made from the text of the rules: the same text has the same version.

    Example: askmesh rules show rules.toml
    """
    if source:
        with Terminal() as terminal, signed_in(place, terminal) as page:
            force = page.get("rules")["rules"]
    else:
        force = place.node()["rules"]
    applied = None if file is None else _is_in_force(force, _read(file))
    if as_json:
        print_json({"rules": force} | ({} if file is None else {"applied": applied}))
        return
    click.echo(_summary(force))
    if file is not None and applied:
        click.echo(f"{file} is what is in force.")
    elif file is not None:
        click.echo(f"{file} is not applied. To put it in force: askmesh rules apply {file}")
    if source and force is not None:
        click.echo(visible(force["source"]))


@rules.command()
@click.argument("file", type=SOURCE)
@json_option
@pass_place
def apply(place: Place, *, file: Path, as_json: bool) -> None:
    """Put a rules file into force. For people: needs a terminal and your passphrase.

    Shows what changes against the rules in force, then asks y/N.

    Example: askmesh rules apply rules.toml
    """
    source = _read(file)
    count = plural(len(_parsed(file, source).rules), "rule")
    with Terminal() as terminal, signed_in(place, terminal) as page:
        view = page.get("rules")["rules"]
        if not _is_in_force(view, source):
            terminal.show(["", *_difference(view, source), ""])
            terminal.confirm(f"Put {count} into force?")
            replaces = view["version"] if view is not None else None
            body = {"name": file.name[:NAME_CHARACTERS], "source": source, "replaces": replaces}
            view = page.put("rules", body=body)["rules"]
    if as_json:
        print_json({"rules": view})
    else:
        click.echo(_summary(view))


def _read(file: Path) -> str:
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


def _notes(file: Path, parsed: "Rules") -> list[dict[str, Any]] | None:
    """What of a repository's file has no effect; None for another file."""
    from node.gate.repository import FILE, without_effect
    from node.gate.rules import as_json

    return as_json(without_effect(parsed)) if file.name == FILE else None


def _is_in_force(force: dict[str, Any] | None, source: str) -> bool:
    from node.gate.rules import version_of

    return force is not None and force["version"] == version_of(source)


def _summary(force: dict[str, Any] | None) -> str:
    if force is None:
        return "No rules were ever applied: the agent's host decides when to ask."
    return visible_line(
        f"In force: {force['name']}, version {force['version']}, {plural(force['count'], 'rule')}."
    )


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
