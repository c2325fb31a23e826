"""The gate's rules: `rules check`, `rules show`, `rules apply`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from node.bridge.client import NodeAway, Refused
from node.cli.durations import moment
from node.cli.output import json_option, plural, print_json
from node.cli.place import Place, pass_place
from node.cli.rules_explain import explain
from node.cli.rules_history import history, show_version
from node.cli.rules_propose import propose
from node.cli.stop import REFUSED, Stop
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
@pass_place
def check(place: Place, *, file: Path, as_json: bool) -> None:
    """Check a rules file. Needs no node and changes nothing.

    Where a node runs, it also says what its people and machines cannot reach by now.

    Example: askmesh rules check rules.toml
    """
    found = parsed(file, read(file))
    notes = _notes(file, found, _status(place))
    if as_json:
        known = {"ok": True, "version": found.version, "count": len(found.rules)}
        print_json(known | {"notes": notes})
        return
    click.echo(f"{file}: {plural(len(found.rules), 'rule')}, version {found.version}.")
    click.echo("".join(f"{line}\n" for line in noted(str(file), notes)), nl=False)


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

    The version is made from the text of the rules: the same text has the same version. Ends
    with 1 when FILE could not be applied.

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
    compared = None if file is None else compare(file, force, _status(place))
    if as_json:
        print_json({"rules": force} | (compared.object if compared else {}))
    else:
        for line in [*summary(force), *(compared.lines if compared else [])]:
            click.echo(line)
        if source and force is not None:
            click.echo(visible(force["source"]))
    if compared is not None and compared.refused:
        click.get_current_context().exit(REFUSED)


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
        parsed(file, source, repository=False)
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
    notes = noted(name, checked.get("notes", []))
    terminal.show(["", *visible(checked["changes"]).splitlines(), *notes, ""])
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


def parsed(file: Path, source: str, *, repository: bool | None = None) -> "Rules":
    """The rules of a file. Raises `Stop` with every problem, its line and its fix.

    `repository`: whether it is read as a repository's own; None: by its name.
    """
    from node.gate.repository import FILE
    from node.gate.rules import RulesRefused, as_json, parse

    own = file.name == FILE if repository is None else repository
    try:
        return parse(source, file.name, tightening=own)
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


def _notes(file: Path, found: "Rules", status: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What of a file has no effect, by the node's clock, people and machines where it runs."""
    from node.gate.remarks import Reach, remarks
    from node.gate.repository import FILE, without_effect
    from node.gate.rules import as_json

    now = time.time_ns() // 1_000_000 if status is None else int(status["now"])
    reach = None if status is None else Reach.told(status.get("allows"))
    own = without_effect(found) if file.name == FILE else []
    return as_json(sorted([*own, *remarks(found, now, reach)], key=lambda note: note.line))


def noted(name: str, notes: list[dict[str, Any]]) -> list[str]:
    """Notes as lines of text, each with its line and its fix."""
    lines: list[str] = []
    for note in notes:
        at = f"{name}:{note['line']}"
        lines += [visible_line(f"  {at}: {note['reason']}"), visible_line(f"    {note['fix']}")]
    return lines


def _status(place: Place) -> dict[str, Any] | None:
    """What the node says of itself; None where none answers."""
    try:
        return place.node()
    except (NodeAway, Refused):
        return None


class Compared(NamedTuple):
    """How a file stands to what is in force."""

    lines: list[str]
    object: dict[str, Any]
    refused: bool


def compare(file: Path, force: dict[str, Any] | None, status: dict[str, Any] | None) -> Compared:
    """Say whether a file is in force, could be, or is refused and why."""
    source = read(file)
    if is_in_force(force, source):
        return Compared([f"{file} is what is in force."], {"applied": True}, refused=False)
    try:
        found = parsed(file, source)
    except Stop as stop:
        lines = [visible(line) for line in stop.message.splitlines()]
        return Compared(lines, {"applied": False, **stop.more}, refused=True)
    notes = _notes(file, found, status)
    changed = force is not None and force["name"] == file.name
    other = "is no longer what was applied under its name" if changed else "is not applied"
    return Compared(
        [
            f"{file} {other}. To put it in force: askmesh rules apply {file}",
            *noted(str(file), notes),
        ],
        {"applied": False, "notes": notes},
        refused=False,
    )


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
    return [visible_line(line) for line in lines] + noted(force["name"], force.get("notes", []))


def _rules(force: dict[str, Any]) -> str:
    return plural(int(force["count"]), "rule")


def _by(applied: dict[str, Any]) -> str:
    return f"by {applied['applied_by']} on {applied['machine']}, {moment(applied['applied_at'])}"
