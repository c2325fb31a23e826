"""A machine that was copied, put back or removed: `node go` and `node rejoin`."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import click

from node.bridge.client import Refused
from node.cli.node_join import check_allowed
from node.cli.node_machines import show_words
from node.cli.output import json_option, print_json
from node.cli.page import Page
from node.cli.place import Place, pass_place
from node.cli.running import need_serving
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import visible_line

REJOIN_S: Final = 60.0
"""All that is derived from the log is derived anew, on slow machines too."""


@click.command(short_help="Say that this machine, on hold, may go on.")
@click.option("--yes", is_flag=True, help="Do it without asking y/N.")
@json_option
@pass_place
def go(place: Place, *, yes: bool, as_json: bool) -> None:
    """Say go: this machine decides again although its data looks copied or put back.

    Only needed where no other machine can tell it what it decided last, and only safe
    where no other copy of its data runs. Needs your passphrase.

    Example: askmesh node go
    """
    with Terminal() as terminal, signed_in(place, terminal) as page:
        _say(terminal, page, "hold")
        if not yes:
            terminal.confirm("Go on?")
        fleet = page.post("hold", body={})
    if as_json:
        print_json({"fleet": fleet})
    else:
        click.echo("This machine goes on.")


@click.command(short_help="Give this machine a new identity.")
@click.option("--yes", is_flag=True, help="Do it without asking y/N.")
@json_option
@pass_place
def rejoin(place: Place, *, yes: bool, as_json: bool) -> None:
    """Take on a new identity where the old one is used up: forked, removed, or left.

    Says what will happen and asks y/N. The machine is a fleet of its own then; join the
    old fleet again with `askmesh node join`. Open questions come along, approvals end.
    Needs your passphrase, unless nobody can sign in on this machine any more.

    Example: askmesh node rejoin
    """
    with Terminal() as terminal, _allowed(place, terminal) as page:
        _say(terminal, page, "rejoining")
        if not yes:
            terminal.confirm("Give this machine a new identity?")
        with terminal.busy("Taking on a new identity …"):
            left = page.post("rejoining", body={})
        if left["recovery_words"]:
            show_words(terminal, left["recovery_words"])
    if as_json:
        print_json({"fleet": left["fleet"]})
        return
    click.echo("This machine has a new identity; it is a fleet of its own now.")
    click.echo("To join the old fleet again: `askmesh node pair` there, `askmesh node join` here.")
    click.echo("Then remove the old one there: `askmesh node list`, `askmesh node remove ID`.")


@contextlib.contextmanager
def _allowed(place: Place, terminal: Terminal) -> Iterator[Page]:
    """The page's routes as whoever may: anyone, once nobody can sign in here any more."""
    page = Page(need_serving(place.home).web_port, timeout=REJOIN_S)
    try:
        page.get("rejoining")
    except Refused:
        with signed_in(place, terminal, timeout=REJOIN_S) as signed:
            yield signed
    else:
        yield page


def _say(terminal: Terminal, page: Page, what: str) -> dict[str, Any]:
    """Show what it will do. Raises `Stop` when it is not possible."""
    consequences = page.get(what)
    check_allowed(consequences)
    lines = [f"- {visible_line(line)}" for line in consequences["sentences"]]
    terminal.show(["", *lines, ""])
    return dict(consequences)
