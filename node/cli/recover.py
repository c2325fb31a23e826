"""`recover`: sign in by the recovery words when nothing else works any more."""

import contextlib

import click

from node.bridge.client import NodeAway, Refused
from node.cli.output import json_option, print_json
from node.cli.owner import new_passphrase
from node.cli.page import Page
from node.cli.place import Place, pass_place
from node.cli.running import need_serving
from node.cli.stop import Stop
from node.cli.terminal import PASSPHRASE_TRIES, Terminal
from node.identity import recovery_from_words
from sync.errors import Invalid

MEANS = (
    "",
    "The recovery words let an owner in who has lost every other way, and stop whoever got in:",
    "- every session ends, on every machine of the fleet, as soon as it hears of it;",
    "- open approvals are withdrawn there as well, so their agents must ask again;",
    "- your passphrase is void everywhere; you set a new one for this machine now;",
    "- every page shows for a week that the words were used.",
    "",
)


@click.command(short_help="Use the recovery words: a new passphrase, all sessions ended.")
@json_option
@pass_place
def recover(place: Place, *, as_json: bool) -> None:
    """Use the twelve recovery words on any machine of an owner, and set a new passphrase.

    Ends all sessions of the fleet and withdraws open approvals, on machines that are away
    when they are back. Needs a terminal; the words are never taken from an argument, a
    file or a pipe.

    Example: askmesh recover
    """
    with Terminal() as terminal:
        page = Page(need_serving(place.home).web_port)
        terminal.show(MEANS)
        words = _words(terminal)
        # Asked for before anything ends: whoever stops here has changed nothing.
        passphrase = new_passphrase(terminal, "New passphrase:")
        page.post("session", body={"recovery": words, "where": "askmesh recover"})
        try:
            page.put("passphrase", body={"passphrase": passphrase, "old": None})
        finally:
            with contextlib.suppress(NodeAway, Refused):
                page.delete("sessions", "mine")
    if as_json:
        print_json({"recovered": True})
    else:
        click.echo("All sessions have ended. Sign in with the new passphrase: askmesh open")


def _words(terminal: Terminal) -> str:
    """What was typed and can be recovery words; whether it is, the node says. Raises `Stop`."""
    for _ in range(PASSPHRASE_TRIES):
        words = terminal.secret("Recovery words:")
        if not words.strip():
            raise Stop("No words were typed, so nothing was done.", code="not_confirmed")
        try:
            recovery_from_words(words)
        except Invalid as error:
            terminal.show([f"{error.sentence} {error.hint}".strip()])
        else:
            return words
    raise Stop("Nothing was done: no recovery words were typed.", code="not_confirmed")
