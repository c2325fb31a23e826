"""Check again, offline or beside a running node, everything the store claims: `verify`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from node.cli.output import json_option, plural, print_json
from node.cli.place import Place, pass_place
from node.cli.progress import Telling
from node.cli.stop import REFUSED
from sync.decide.visible import visible

if TYPE_CHECKING:
    from node.verify.report import Checked
    from node.verify.whole import Verified

MARKS: Final = {True: "ok   ", False: "FAULT"}


@click.command(short_help="Check every signature and proof again.")
@json_option
@pass_place
def verify(place: Place, *, as_json: bool) -> None:
    """Check the store again: chains, signatures, finals, hand-overs, forks, tables, calls.

    Only reads, so a node may run meanwhile; without one it checks any
    data directory, a copy too. Ends with 1 when it finds a fault; each comes with its remedy.

    Example: askmesh verify
    """
    from node.verify.whole import verify as check

    with Telling("entries") as telling:

        def done(checked: "Checked") -> None:
            telling.pause()
            if not as_json:
                _print(checked)

        verified = check(Path(place.home), telling.step, done)
    if as_json:
        print_json(_object(place.home, verified))
    else:
        _print_end(verified)
    if verified.faults:
        click.get_current_context().exit(REFUSED)


def _print(checked: "Checked") -> None:
    click.echo(visible(f"{MARKS[not checked.faults]}  {checked.kind:<10}  {checked.what}"))
    for finding in checked.findings:
        click.echo(visible(f"         {finding.level}: {finding.what}"))
        if finding.remedy:
            click.echo(visible(f"           → {finding.remedy}"))
    if checked.more:
        click.echo(f"         and {checked.more:,} more like these")


def _print_end(verified: "Verified") -> None:
    entries = next((kind.count for kind in verified.kinds if kind.kind == "entries"), 0)
    speed = f"{plural(entries, 'entry', 'entries')} in {verified.seconds:.1f} s"
    if verified.seconds >= 1:
        speed += f", {verified.entries_per_second:,} a second"
    if verified.faults:
        click.echo(f"{plural(verified.faults, 'fault')} found ({speed}).")
    else:
        click.echo(f"All of it holds ({speed}).")


def _object(home: str, verified: "Verified") -> dict[str, Any]:
    import msgspec

    kinds = [{**msgspec.to_builtins(kind), "ok": not kind.faults} for kind in verified.kinds]
    return {
        "ok": not verified.faults,
        "home": home,
        "seconds": round(verified.seconds, 3),
        "entries_per_second": verified.entries_per_second,
        "kinds": kinds,
    }
