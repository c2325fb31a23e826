"""An owner has the text of an ask erased on every machine: types its id, then the passphrase."""

import textwrap

import click

from node.cli.card_text import ask_lines
from node.cli.output import json_option, print_json, print_wrapped
from node.cli.place import Place, pass_place
from node.cli.stop import Stop
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import visible_line

SHOWN = 12
"""Lines of the ask that are shown: enough to know it again."""
WARNING = (
    "Its words go from every machine of the fleet, for good: title, text, call, answers and"
    " outcome. Who asked, who decided and when stays, and can be verified. What is open is"
    " withdrawn. Backups that were made before keep it."
)


@click.command()
@click.argument("ask_id", metavar="ID")
@click.option("--reason", metavar="T", help="Why. This is kept, and everyone reads it.")
@json_option
@pass_place
def redact(place: Place, *, ask_id: str, reason: str | None, as_json: bool) -> None:
    """Erase the text of an ask on every machine. For owners: needs a terminal and passphrase.

    Shows the ask, and has its id typed again. Machines that are away erase it once they are
    back. A secret that was in it is to be changed all the same.

    Example: askmesh redact k7qf-142 --reason "a token was in the call"
    """
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
    print_wrapped(
        "",
        visible_line(
            f"The text of {after['short']} is erased on this machine, and on each other one as"
            " soon as it hears of it. Change any secret that was in it: others may have read it."
        ),
    )
