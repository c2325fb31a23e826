"""What commands print: JSON objects for programs, lines and tables for people.

Text from agents reaches the screen through `visible` only.
"""

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

from node.cli.stop import JSON_META
from sync.decide.visible import visible_line

Function = TypeVar("Function", bound=Callable[..., Any])

PIPED_COLUMNS: Final = 200
"""A table that goes to a file or a pipe has no screen to fit."""


def json_option(function: Function) -> Function:
    """Add `--json`; the function is told as `as_json`, errors as well."""

    def note(context: click.Context, _parameter: click.Parameter, value: bool) -> bool:
        context.meta[JSON_META] = value
        return value

    option = click.option(
        "--json", "as_json", is_flag=True, callback=note, help="Print one JSON object."
    )
    return option(function)


def print_json(value: dict[str, Any]) -> None:
    """Print one object. ASCII only: nothing in it can act on a terminal."""
    click.echo(json.dumps(value, indent=2))


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, wide: int) -> None:
    """Print rows under heads; the column `wide` takes and folds what the others leave."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for number, head in enumerate(heads):
        table.add_column(head, no_wrap=number != wide, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible_line(cell)) for cell in row))
    Console(file=sys.stdout, width=_width(), highlight=False).print(table)


def print_wrapped(head: str, text: str) -> None:
    """Print a text beside its head, folded to the screen."""
    indent = " " * len(head)
    line = visible_line(text)
    for row in textwrap.wrap(line, _width(), initial_indent=head, subsequent_indent=indent):
        click.echo(row)


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_COLUMNS


def plural(count: int, word: str, words: str = "") -> str:
    """`1 ask`, `2 asks`; `words` where an s does not make it many."""
    return f"{count} {word}" if count == 1 else f"{count} {words or f'{word}s'}"
