"""`recover`: sign in by the recovery words when nothing else works any more."""

import click

from node.cli.output import json_option, print_json
from node.cli.page import Page
from node.cli.people import typed_twice
from node.cli.place import Place, pass_place
from node.cli.running import need_serving
from node.cli.stop import Stop
from node.cli.terminal import Terminal

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
    when they are back. Needs a terminal; the
    words are never taken from an argument, a file or a pipe.

    Example: askmesh recover
    """
    with Terminal() as terminal:
        terminal.show(MEANS)
        words = terminal.secret("Recovery words:")
        if not words.strip():
            raise Stop("No words were typed, so nothing was done.", code="not_confirmed")
        page = Page(need_serving(place.home).web_port)
        page.post("session", body={"recovery": words, "where": "askmesh recover"})
        page.put("passphrase", body={"passphrase": typed_twice(terminal), "old": None})
        page.delete("sessions", "mine")
    if as_json:
        print_json({"recovered": True})
    else:
        click.echo("All sessions have ended. Sign in with the new passphrase: askmesh open")
