"""`backup`: this machine's askmesh in one file, for its owner to keep."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from node.bridge.paths import is_initialised
from node.cli.output import json_option, plural, print_json
from node.cli.place import Place, pass_place
from node.cli.stop import Stop
from node.cli.terminal import Terminal
from sync.decide.visible import visible_line

if TYPE_CHECKING:
    from node.backup.making import Made

FILE: Final = click.Path(dir_okay=False, path_type=Path)
KIB: Final = 1024
_HOLDS: Final = (
    "The backup holds everything of this machine: asks, answers, rules, and its key."
    " Who has it and can open it can speak as this machine."
)
_BARE: Final = (
    "WITHOUT a passphrase: everyone who can read the file has this machine's key and reads"
    " every ask. Keep it where nobody else can."
)


@click.command(short_help="Write all of this machine's askmesh into one file.")
@click.argument("file", type=FILE)
@click.option("--no-passphrase", is_flag=True, help="Do not lock the file: it is a bare secret.")
@json_option
@pass_place
def backup(place: Place, *, file: Path, no_passphrase: bool, as_json: bool) -> None:
    """Back up the store, its long contents, the settings and the key into FILE.

    The node may run. FILE must not exist yet; it is whole, or not there. Only an owner may,
    at a terminal. Put back with `askmesh restore FILE`.

    Example: askmesh backup ~/askmesh-2026-12-02.backup
    """
    if not is_initialised(place.home):
        raise Stop(f"No node was ever started in {place.home}, so there is nothing to back up.")
    with Terminal(on_page=False) as terminal:
        made = _back_up(place, terminal, file.absolute(), bare=no_passphrase)
    if as_json:
        print_json(_as_object(made, file.absolute(), locked=not no_passphrase))
    else:
        _say(made, file.absolute(), locked=not no_passphrase)


def _back_up(place: Place, terminal: Terminal, file: Path, *, bare: bool) -> "Made":
    from node.backup.making import check_new, make
    from node.cli.owner import new_passphrase, prove_owner
    from node.cli.progress import Telling
    from node.store.connection import failure, open_reader

    check_new(file)
    terminal.show([f"Data directory: {visible_line(place.home)}", _HOLDS])
    try:
        with closing(open_reader(Path(place.home))) as store:
            prove_owner(terminal, store, whose="on this machine")
    except sqlite3.Error as error:
        raise failure(error) from None
    if bare:
        terminal.show([_BARE])
        terminal.confirm("Write it without a passphrase?")
    passphrase = None if bare else new_passphrase(terminal)
    at = time.time_ns() // 1_000_000
    with Telling("bytes") as telling:
        return make(Path(place.home), file, passphrase=passphrase, at=at, told=telling.step)


def _say(made: "Made", file: Path, *, locked: bool) -> None:
    entries = sum(head.seq for head in made.manifest.heads)
    click.echo(
        f"{file}: backup of {visible_line(made.manifest.machine)}, {_bytes(made.size)},"
        f" with {plural(entries, 'entry', 'entries')} of its own."
    )
    if made.lacking:
        contents = plural(made.lacking, "long content")
        click.echo(f"  {contents} of asks could not be put in: not here, or damaged.", err=True)
    if locked:
        click.echo("  Without its passphrase nobody can open it, you included: keep both.")
    else:
        click.echo("  It is not locked: whoever reads it has this machine's key.", err=True)


def _bytes(size: int) -> str:
    if size < KIB * KIB:
        return f"{max(1, size // KIB)} KiB"
    return f"{size / KIB / KIB:.1f} MiB"


def _as_object(made: "Made", file: Path, *, locked: bool) -> dict[str, object]:
    manifest = made.manifest
    return {
        "file": str(file),
        "size": made.size,
        "locked": locked,
        "machine": manifest.machine,
        "node": manifest.node,
        "fleet": manifest.fleet,
        "version": manifest.version,
        "at": manifest.at,
        "heads": [{"log": head.log, "seq": head.seq, "hash": head.hash} for head in manifest.heads],
        "files": len(manifest.files),
        "lacking": made.lacking,
    }
