"""An owner has the text of an ask erased on every machine: types its id, then the passphrase."""

import textwrap
from typing import Any

import click

from node.cli.card_text import ask_lines
from node.cli.output import json_option, print_json, print_wrapped
from node.cli.place import Place, pass_place
from node.cli.stop import Stop
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import visible, visible_line

SHOWN = 12
"""Lines of the ask that are shown: enough to know it again."""
WARNING = (
    "Its words go from every machine of the fleet, for good: title, text, call, answers and"
    " outcome. Who asked, who decided and when stays, and can be verified. What is open is"
    " withdrawn. Backups that were made before keep it."
)
MESSAGE_WARNING = (
    "Its words go from every machine of the fleet, for good. Who wrote it, to whom, and what became"
    " of it stays. Backups that were made before keep it."
)


@click.command()
@click.argument("ask_id", metavar="ID")
@click.option("--reason", metavar="T", help="Why. This is kept, and everyone reads it.")
@json_option
@pass_place
def redact(place: Place, *, ask_id: str, reason: str | None, as_json: bool) -> None:
    """Erase the text of an ask on every machine. For owners: needs a terminal and passphrase.

    Or that of a message between agents. Shows it, and has its id typed again. Machines that
    are away erase it once they are back. Change any secret that was in it all the same.

    Example: askmesh redact k7qf-142 --reason "a token was in the call"
    """
    if is_message(ask_id):
        after = _redact_message(place, ask_id, reason)
        if as_json:
            print_json({"message": after})
        else:
            _say_erased(after)
        return
    with Terminal() as terminal:
        detail = place.call("show", {"ask_id": ask_id})
        ask = detail["ask"]
        if (ask.get("erased") or {}).get("by"):
            raise Stop(f"The text of {ask['short']} was erased already.", code="conflict")
        terminal.show(
            [
                "",
                *ask_lines(detail, int(place.node()["now"]))[:SHOWN],
                "",
                *textwrap.wrap(WARNING),
                "",
            ]
        )
        typed = terminal.ask(f"To erase it, type {ask['short']}:").strip()
        if typed != ask["short"]:
            raise Stop("That is not its id, so nothing was erased.", code="not_confirmed")
        with signed_in(place, terminal) as page:
            body = {"confirm": typed} | ({} if reason is None else {"reason": reason})
            after = page.post("asks", ask["id"], "erasing", body=body)["ask"]
    if as_json:
        print_json({"ask": after})
        return
    _say_erased(after)


def is_message(typed: str) -> bool:
    """Whether an id that was typed is a message's."""
    return typed.strip().lower().rpartition("-")[2].startswith("m")


def _redact_message(place: Place, message: str, reason: str | None) -> dict[str, Any]:
    """Show a message between agents, have its id typed, and have its words erased."""
    with Terminal() as terminal, signed_in(place, terminal) as page:
        talk = page.get("messages", message)["messages"]
        prefix, _, number = message.strip().lower().rpartition("-")
        found = next(
            one
            for one in talk
            if one["id"].startswith(prefix) and one["id"].rpartition("-")[2] == number
        )
        if (found["erased"] or {}).get("by"):
            raise Stop(f"The text of {found['short']} was erased already.", code="conflict")
        body = found["body"] or "(its text was erased on this machine)"
        head = visible_line(f"{found['short']} from {found['sender']} in {found['project_name']}")
        lines = [head, visible_line(found["subject"]), *visible(body).splitlines()]
        terminal.show(["", *lines[:SHOWN], "", *textwrap.wrap(MESSAGE_WARNING), ""])
        typed = terminal.ask(f"To erase it, type {found['short']}:").strip()
        if typed != found["short"]:
            raise Stop("That is not its id, so nothing was erased.", code="not_confirmed")
        wanted = {"confirm": typed} | ({} if reason is None else {"reason": reason})
        erased: dict[str, Any] = page.post("messages", found["id"], "erasing", body=wanted)
        return dict(erased["message"])


def _say_erased(after: dict[str, Any]) -> None:
    print_wrapped(
        "",
        visible_line(
            f"The text of {after['short']} is erased on this machine, and on each other one as"
            " soon as it hears of it. Change any secret that was in it: others may have read it."
        ),
    )
