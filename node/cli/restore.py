"""`restore`: a backup becomes this machine's askmesh again, by its owner."""

import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from node.cli.output import json_option, print_json
from node.cli.place import Place, pass_place
from node.cli.stop import Stop
from node.cli.terminal import PASSPHRASE_TRIES, Terminal
from node.cli.up import check_free
from sync.decide.visible import visible_line

if TYPE_CHECKING:
    from node.backup.contents import Manifest
    from node.backup.restoring import Restored

FILE: Final = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
_WILL: Final = (
    "Restoring puts this machine back to that moment. Its open approvals are withdrawn, what was"
    " allowed and not used yet is void, questions stay open, and everyone is signed out."
    " What other machines know of its later asks and answers comes back from them."
    " Never run the old and the restored one at once: they would contradict each other for good."
)


@click.command(short_help="Put a backup in place.")
@click.argument("file", type=FILE)
@click.option("--replace", is_flag=True, help="Move the node that lies there aside first.")
@json_option
@pass_place
def restore(place: Place, *, file: Path, replace: bool, as_json: bool) -> None:
    """Put back what `askmesh backup` wrote into FILE; every byte is checked first.

    Only an owner may, at a terminal, by their passphrase of then or the recovery words. The
    node must not run. With --replace what is there is moved aside, never deleted.

    Example: askmesh restore ~/askmesh-2026-12-02.backup
    """
    check_free(place.home)
    with Terminal(on_page=False) as terminal, file.open("rb") as source:
        done = _restore(place, terminal, source, replace=replace)
    if as_json:
        print_json(_as_object(place, done))
    else:
        _say(place, done)


def _restore(place: Place, terminal: Terminal, file: BinaryIO, *, replace: bool) -> "Restored":
    from node.backup.restoring import Asking, restore
    from node.cli.owner import prove_owner
    from node.cli.progress import Telling

    telling = Telling("bytes")

    def owner(store: sqlite3.Connection, manifest: "Manifest") -> str:
        telling.pause()
        machine = visible_line(manifest.machine)
        terminal.show([f"Backup of {machine} of {_date(manifest.at)}.", _WILL])
        return prove_owner(terminal, store, whose=f"on {machine}")

    asking = Asking(passphrase=_Passphrase(terminal), owner=owner)
    terminal.show([f"Data directory: {visible_line(place.home)}"])
    with telling:
        return restore(
            Path(place.home),
            file,
            asking,
            replace=replace,
            at=time.time_ns() // 1_000_000,
            told=telling.step,
        )


class _Passphrase:
    """Asks for the passphrase of the file, and gives up after some tries."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._tries = 0

    def __call__(self) -> str:
        if self._tries:
            self._terminal.show(["That is not the passphrase of this backup."])
        if self._tries == PASSPHRASE_TRIES:
            raise Stop(
                "That is not the passphrase of this backup; nothing was changed.",
                hint="It was chosen when the backup was made, and is not the one to sign in with.",
                code="wrong_passphrase",
            )
        self._tries += 1
        typed = self._terminal.secret("Passphrase of the backup:")
        if not typed:
            raise Stop("No passphrase was typed, so nothing was done.", code="not_confirmed")
        return typed


def _say(place: Place, done: "Restored") -> None:
    manifest = done.manifest
    click.echo(
        f"{visible_line(manifest.machine)} is restored in {place.home}, as it was on"
        f" {_date(manifest.at)}."
    )
    if done.aside is not None:
        click.echo(f"  What was there lies in {done.aside}; delete it when you are sure.")
    click.echo("  Start it with `askmesh up`.")


def _as_object(place: Place, done: "Restored") -> dict[str, object]:
    manifest = done.manifest
    return {
        "home": place.home,
        "machine": manifest.machine,
        "node": manifest.node,
        "fleet": manifest.fleet,
        "at": manifest.at,
        "by": done.by,
        "aside": None if done.aside is None else str(done.aside),
    }


def _date(at: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at / 1000))
