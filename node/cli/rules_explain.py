"""`askmesh rules explain`: which rule a call meets, and why none before it."""

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from node.cli.output import json_option, print_json
from node.cli.place import Place, pass_place
from node.cli.stop import Stop
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import visible_line
from sync.limits import BLOB_BYTES

if TYPE_CHECKING:
    from node.gate.law import Law
    from node.gate.rules import Rules

SOURCE: Final = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
ELSEWHERE: Final = (
    "The call was made on another machine: what a .askmesh.toml of its folder there says is not"
    " in this."
)
SIGN: Final = {"no": "-", "unsure": "?", "yes": "*"}


class Call(NamedTuple):
    """The call that is explained."""

    tool: str
    arguments: object
    cwd: str | None
    agents: tuple[str, ...]
    here: bool = True
    """Whether its folder is one of this machine."""


@click.command(short_help="Say which rule a call meets, and why.")
@click.argument("ask", required=False)
@click.option("--file", type=SOURCE, help="Rules to explain; else those in force (passphrase).")
@click.option("--tool", metavar="NAME", help="The tool as the host calls it.")
@click.option("--argument", metavar="KEY=TEXT", multiple=True, help="An argument; repeatable.")
@click.option("--cwd", metavar="DIR", help="The folder of the call; else this one.")
@click.option(
    "--agent", metavar="NAME", multiple=True, help="The agent's name; its older ones too."
)
@json_option
@pass_place
def explain(
    place: Place,
    *,
    ask: str | None,
    file: Path | None,
    tool: str | None,
    argument: tuple[str, ...],
    cwd: str | None,
    agent: tuple[str, ...],
    as_json: bool,
) -> None:
    """Say which rule a call meets, why none before it does, and what would happen.

    The .askmesh.toml of the call's folder and of the repository around it counts as well.

    The call is given by options, as JSON on standard input (`-`: tool, arguments, cwd,
    agents, or what Claude Code gives its hooks), or by the id of an ASK. Changes nothing.

    Example: askmesh rules explain --file rules.toml --tool Bash --argument "command=git push"
    """
    if (ask is None) == (tool is None):
        raise click.UsageError("Give one call: --tool NAME, `-` for JSON, or the id of an ask.")
    call = None
    if tool is not None:
        call = Call(tool, _arguments(argument), cwd or str(Path.cwd()), agent)
    elif ask == "-":
        call = _from_json(sys.stdin.buffer.read(BLOB_BYTES + 1), cwd, agent)
    if call is None or file is None:
        with Terminal() as terminal, signed_in(place, terminal) as page:
            if call is None:
                here = page.get("state")["node"]["machine"]["id"]
                call = _of_ask(page.get("asks", str(ask)), agent, here)
            rules = _in_force(page.get("rules")["rules"]) if file is None else _of_file(file)
    else:
        rules = _of_file(file)
    own = None if file is None else file.name
    _tell(call, _law(rules, call, own=own), as_json=as_json)


def _law(rules: "Rules", call: Call, *, own: str | None) -> "Law":
    """These rules, and those of the repository in which the call is made."""
    from node.gate.law import Law
    from node.gate.repository import FILE, around, of_rules
    from node.gate.rules import EMPTY

    now = time.time_ns() // 1_000_000
    if own == FILE:
        # It is explained as what it is, and does not stand over itself a second time.
        return Law(account=EMPTY, repository=(of_rules(rules),), now=now)
    looks = call.here and call.cwd is not None
    repository = around(os.path.realpath(call.cwd or "")) if looks else ()
    return Law(account=rules, repository=repository, now=now)


def _tell(call: Call, law: "Law", *, as_json: bool) -> None:
    from node.gate import explain as gate

    found = gate.explain(law, call.tool, call.arguments, call.cwd, agents=call.agents)
    told = gate.as_json(found)
    if as_json:
        print_json(told)
        return
    for step in told["steps"]:
        name = f" [{step['agent']}]" if step["agent"] and len(call.agents) > 1 else ""
        line = f"{SIGN[step['matches']]} {step['file']}:{step['line']} {step['rule']}{name}"
        click.echo(visible_line(f"{line}: {step['why']}"))
    click.echo(visible_line(f"{found.headline} {found.outcome}".strip()))
    if not call.here:
        click.echo(ELSEWHERE)


def _arguments(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Arguments as they were typed; `a.b` is `b` inside of `a`."""
    arguments: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not key or not equals:
            raise click.UsageError(f"--argument {pair!r:.60}: write KEY=TEXT.")
        *folders, last = key.split(".")
        inside = arguments
        for folder in folders:
            inside = inside.setdefault(folder, {})
            if not isinstance(inside, dict):
                raise click.UsageError(f"--argument {pair!r:.60}: {folder} is a text already.")
        inside[last] = text
    return arguments


def _from_json(data: bytes, cwd: str | None, agents: tuple[str, ...]) -> Call:
    """A call as JSON: ours, or a hook's input."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Stop(
            "Standard input holds no JSON.",
            hint='Write {"tool": "Bash", "arguments": {"command": "git push"}}.',
            code="bad_call",
        ) from error
    found = found if isinstance(found, dict) else {}
    tool = found.get("tool", found.get("tool_name"))
    where = cwd or found.get("cwd") or str(Path.cwd())
    names = found.get("agents", [])
    if not isinstance(tool, str) or not isinstance(where, str) or not _texts(names):
        raise Stop(
            "The JSON on standard input is no call.",
            hint="It has `tool` and `cwd` (texts), `arguments`, and `agents` (a list of texts).",
            code="bad_call",
        )
    arguments = found.get("arguments", found.get("tool_input", {}))
    return Call(tool, arguments, where, agents or tuple(names))


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _of_ask(view: dict[str, Any], agents: tuple[str, ...], here: str) -> Call:
    """The exact call of an approval."""
    call = view.get("call")
    if not isinstance(call, dict) or "tool" not in call:
        raise Stop(
            "That ask is no tool call, or its call is not on this machine.",
            hint="Ask on the machine where it was raised.",
            code="no_call",
        )
    names = agents or tuple(filter(None, [view["ask"].get("agent")]))
    local = view["ask"]["machine"]["id"] == here
    return Call(call["tool"], call.get("arguments"), call.get("cwd"), names, local)


def _in_force(view: dict[str, Any] | None) -> "Rules":
    """The rules in force, read anew here."""
    from node.gate.rules import EMPTY, RulesRefused, parse

    if view is None:
        return EMPTY
    try:
        first, *others = (
            parse(each["source"], each["name"]) for each in view.get("siblings") or [view]
        )
    except RulesRefused as error:
        raise Stop(
            "The rules in force were written for another askmesh, so here every call is refused.",
            hint="Update askmesh on this machine, or explain a file: --file FILE.",
            code=error.code,
        ) from error
    return replace(first, siblings=tuple(others))


def _of_file(file: Path) -> "Rules":
    from node.cli.rules import parsed, read

    return parsed(file, read(file))
