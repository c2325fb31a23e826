"""What is well with this node and what is not, each with its remedy: `doctor`."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

import click

from node.bridge.paths import is_initialised
from node.cli.examination import examine
from node.cli.examine_network import network
from node.cli.finding import Finding
from node.cli.output import json_option, plural, print_json
from node.cli.place import Place, pass_place
from node.cli.stop import REFUSED
from sync.decide.visible import visible

Result = TypeVar("Result")

PATIENCE_S: Final = 1.0
"""Work that takes longer says that it goes on."""

MARKS: Final = {"ok": "ok     ", "note": "note   ", "warning": "warning", "fault": "FAULT  "}


@click.command(short_help="Find what is wrong, and its remedy.")
@click.option("--rebuild", is_flag=True, help="Rebuild the tables from the log and compare them.")
@json_option
@pass_place
def doctor(place: Place, *, rebuild: bool, as_json: bool) -> None:
    """Look at program, data directory, store, node, ports, network, machines and gate.

    Changes nothing. Each finding comes with its remedy. A fault keeps askmesh from
    working, or soon will: with one it ends with 1. A warning does not.

    Example: askmesh doctor --rebuild
    """
    findings: list[Finding] = []
    for finding in _all(place.home, rebuild=rebuild):
        findings.append(finding)
        if not as_json:
            _print(finding)
    faults = sum(finding.level == "fault" for finding in findings)
    warnings = sum(finding.level == "warning" for finding in findings)
    if as_json:
        rows = [
            {"about": f.about, "level": f.level, "what": f.what, "remedy": f.remedy}
            for f in findings
        ]
        print_json({"ok": not faults, "home": place.home, "findings": rows})
    elif faults or warnings:
        said = [plural(n, word) for n, word in ((faults, "fault"), (warnings, "warning")) if n]
        click.echo(f"{' and '.join(said)} found.")
    else:
        click.echo("All is well.")
    if faults:
        click.get_current_context().exit(REFUSED)


def _all(home: str, *, rebuild: bool) -> Iterator[Finding]:
    yield from examine(home)
    if not is_initialised(home):
        return
    yield from with_progress(lambda: list(network(home)), "trying the network")
    if rebuild:
        yield from _rebuilt(home)


def _print(finding: Finding) -> None:
    click.echo(visible(f"{MARKS[finding.level]}  {finding.about:<10} {finding.what}"))
    if finding.remedy:
        click.echo(visible(f"                     → {finding.remedy}"))


def _rebuilt(home: str) -> Iterator[Finding]:
    """Whether the tables rebuilt from the log equal the live ones."""
    differences = with_progress(lambda: _compared(home), "comparing the rebuilt tables")
    for difference in differences:
        yield Finding(
            about="rebuild",
            level="fault",
            what=difference,
            remedy="`askmesh verify` says what is hurt. Stop the node, keep a copy of the folder,"
            " and restore a backup (`askmesh restore`).",
        )
    if not differences:
        yield Finding(about="rebuild", what="The tables rebuilt from the log equal the live ones.")


def _compared(home: str) -> list[str]:
    import sqlite3

    from node.store.rebuild import compare

    try:
        return compare(Path(home))
    except sqlite3.Error as error:
        return [f"The store cannot be read: {error}."]


def with_progress(work: Callable[[], Result], words: str) -> Result:
    """Do the work; when it takes longer than a second, say each second that it goes on."""
    result: list[Result] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    seconds = 0
    while thread.is_alive():
        thread.join(PATIENCE_S)
        if thread.is_alive():
            seconds += 1
            click.echo(f"… {words} ({seconds} s)", err=True)
    if failure:
        raise failure[0]
    return result[0]
