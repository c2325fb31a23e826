"""An owner at the terminal: asked for what only an owner knows."""

import sqlite3
from typing import Final

from node.backup.owner import nobody_signed_in, proved
from node.cli.stop import Stop
from node.cli.terminal import PASSPHRASE_TRIES, Terminal
from node.desk.passphrase import check_new
from sync.errors import Invalid

TWICE: Final = 3
"""Tries to type a new passphrase the same way twice."""


def prove_owner(terminal: Terminal, store: sqlite3.Connection, *, whose: str) -> str:
    """Return the name of the owner who proved to be one. Raises `Stop`."""
    if nobody_signed_in(store):
        raise Stop(
            f"Nobody has ever signed in {whose}, so nobody can prove to be its owner.",
            hint="Run `askmesh down`, then `askmesh up`: it shows the link for the first sign-in.",
            code="not_allowed",
        )
    prompt = f"Passphrase of an owner {whose}, or the recovery words:"
    for _ in range(PASSPHRASE_TRIES):
        typed = terminal.secret(prompt)
        if not typed:
            raise Stop("Nothing was typed, so nothing was done.", code="not_confirmed")
        name = proved(store, typed)
        if name is not None:
            return name
        terminal.show(["That is neither."])
    raise Stop(
        "Nothing was done: only an owner may do this.",
        hint="An owner without a passphrase on this machine types the twelve recovery words.",
        code="not_allowed",
    )


def new_passphrase(terminal: Terminal, prompt: str = "New passphrase for the backup:") -> str:
    """Return a new passphrase that was typed twice, and is a good one. Raises `Stop`."""
    for _ in range(TWICE):
        typed = terminal.secret(prompt)
        if not typed:
            raise Stop("No passphrase was typed, so nothing was done.", code="not_confirmed")
        try:
            check_new(typed)
        except Invalid as error:
            terminal.show([f"{error.sentence} {error.hint}".strip()])
            continue
        if terminal.secret("The same once more:") == typed:
            return typed
        terminal.show(["These were not the same."])
    raise Stop("No passphrase was typed twice, so nothing was done.", code="not_confirmed")
