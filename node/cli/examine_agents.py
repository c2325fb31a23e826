"""The examination of agent kits: installed whole, and leading to this data directory."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from node.agents.kits import claude
from node.agents.kits.json_file import parse, read_text
from node.cli.finding import Finding
from sync.errors import AskmeshError

AT = {"user": "for all projects of this user", "project": "for the project in this folder"}


def kits(home: str) -> Iterator[Finding]:
    """Whether each kit that is installed is whole, and leads here."""
    found = [*_kit("user", home), *_kit("project", home)]
    yield from found
    if not found:
        what = "Not installed for Claude Code."
        remedy = "To install it: `askmesh agent install claude`"
        yield Finding(about="gate", level="note", what=what, remedy=remedy)


def _kit(scope: claude.Scope, home: str) -> Iterator[Finding]:
    try:
        where = claude.place(scope, home)
        findings = claude.check(where)
        elsewhere = _elsewhere(where)
    except AskmeshError as error:
        yield Finding(about="gate", level="fault", what=error.sentence, remedy=error.hint)
        return
    option = "" if scope == "user" else " --scope project"
    for other in elsewhere:
        yield Finding(
            about="gate",
            level="fault",
            what=f"The hooks of Claude Code {AT[scope]} lead to another data directory: {other}.",
            remedy=f"To lead them here: `askmesh --home {home} agent install claude{option}`",
        )
    missing = [finding for finding in findings if not finding.ok]
    # Wrapper and hooks that are not switched off say nothing about where they are installed.
    if elsewhere or len(missing) >= len(findings) - 2:
        return
    if not missing:
        yield Finding(about="gate", what=f"Installed for Claude Code, {AT[scope]}.")
    for finding in missing:
        what = f"Missing {AT[scope]}: {finding.what}"
        yield Finding(about="gate", level="fault", what=what, remedy=finding.fix)


def _elsewhere(where: claude.Place) -> list[Path]:
    """Data directories of other nodes that the hooks lead to."""
    settings = parse(where.settings, read_text(where.settings))
    scripts = {Path(words[0]) for words in map(_words, _commands(settings.get("hooks"))) if words}
    mine = where.script
    return sorted(
        script.parent.parent
        for script in scripts
        if script != mine and script.parts[-2:] == mine.parts[-2:]
    )


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _commands(value: Any) -> Iterator[str]:  # noqa: ANN401 -- somebody's JSON
    """Every command in the hooks, wherever it stands."""
    if isinstance(value, dict):
        command = value.get("command")
        if isinstance(command, str):
            yield command
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _commands(item)
