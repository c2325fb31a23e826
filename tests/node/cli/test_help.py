"""Every command explains itself, is documented with each of its options, and loads lazily."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from node.cli.main import COMMANDS, askmesh
from node.version import VERSION

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "cli.md").read_text()


def commands(
    group: click.Group, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif not command.hidden:
            yield (*path, name), command


LEAVES = dict(commands(askmesh))
GROUPS = ["", "rules", "agent", "sessions", "node", "node address", "standing", "standing operator"]


def options(command: click.Command) -> set[str]:
    return {
        flag
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for flag in (*parameter.opts, *parameter.secondary_opts)
    }


def section(path: tuple[str, ...]) -> str:
    head = f"### `askmesh {' '.join(path)}`\n"
    assert head in DOCUMENT, f"docs/cli.md has no section on {' '.join(path)}"
    return re.split(r"^##", DOCUMENT.partition(head)[2], flags=re.MULTILINE)[0]


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_option_is_documented_and_every_documented_one_exists(path: tuple[str, ...]) -> None:
    documented = set(re.findall(r"^\| `(--[a-z-]+)", section(path), flags=re.MULTILINE))
    assert documented == options(LEAVES[path])


def test_no_command_is_documented_that_does_not_exist() -> None:
    documented = re.findall(r"^### `askmesh ([a-z ]+)`", DOCUMENT, flags=re.MULTILINE)
    assert documented
    assert {tuple(words.split()) for words in documented} == set(LEAVES)


@pytest.mark.parametrize("path", [*LEAVES, *(tuple(g.split()) for g in GROUPS)], ids=" ".join)
def test_every_help_has_an_example(path: tuple[str, ...]) -> None:
    if path in {("mcp",), ("hook",)}:
        assert "Example: askmesh" in (LEAVES[path].help or "")  # their words go to the bridge
        return
    result = CliRunner().invoke(askmesh, [*path, "--help"])
    assert result.exit_code == 0
    assert "Example: askmesh" in result.output
    assert "\\b" not in result.output
    listed = result.output.partition("\nCommands:\n")[2]
    assert "..." not in listed, "a command's short help is cut off"


def test_the_help_lists_every_command_but_the_nodes_own() -> None:
    output = CliRunner().invoke(askmesh, ["--help"]).output
    for name in COMMANDS:
        assert (f"\n  {name} " in output) == (name != "_node")


def test_the_version_is_the_builds() -> None:
    assert CliRunner().invoke(askmesh, ["--version"]).output == f"askmesh {VERSION}\n"


def test_a_command_loads_no_part_of_the_others() -> None:
    text = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from click.testing import CliRunner\n"
        "from node.cli.main import askmesh\n"
        "result = CliRunner().invoke(askmesh, ['--home', '/nonexistent/place', 'list'])\n"
        "assert result.exit_code == 3, result.output\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", text], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "node.cli.reading" in loaded
    heavy = {"rich", "aiohttp", "asyncio", "mcp", "msgspec", "cryptography", "sqlite3"}
    assert not loaded & heavy
    assert not loaded & {"node.cli.up", "node.cli.answer", "node.cli.doctor", "node.cli.agent"}
