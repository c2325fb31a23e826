"""`node join`: uses the code that another machine shows, and says first what that means."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import click

from node.bridge.client import NodeAway, Refused
from node.cli.output import json_option, print_json
from node.cli.page import Page, has_person
from node.cli.place import Place, pass_place
from node.cli.running import need_serving
from node.cli.stop import AWAY, Stop
from node.cli.terminal import Terminal, signed_in
from node.fleet.addresses import parse
from sync.decide.visible import visible_line
from sync.wire.pairing_code import read_code

JOIN_S: Final = 120.0
"""Two key derivations, five messages and the switch of the store, on slow machines."""

CODE_TRIES: Final = 3
"""A mistyped code is told apart by its check symbol, without using it up."""


@click.command(short_help="Join the machine that shows a code.")
@click.argument("code", metavar="[CODE]", required=False)
@click.option("--host", metavar="HOST:PORT", help="Where the code is shown, as written there.")
@click.option("--yes", is_flag=True, help="Do it without asking y/N.")
@json_option
@pass_place
def join(place: Place, *, code: str | None, host: str | None, yes: bool, as_json: bool) -> None:
    """Join the fleet of the machine that shows a code; asks for the code when not given.

    Says what will happen and asks y/N. Machines near by that show a code are found by
    themselves; where several do, or none is found, it asks which. Needs your passphrase,
    unless nobody ever signed in on this machine.

    Example: askmesh node join

    Example: askmesh node join K7QF-9M2D-XW4T-X --host 192.168.1.20:40211
    """
    join_by(place, code=code, host=host, yes=yes, as_json=as_json)


def join_by(place: Place, *, code: str | None, host: str | None, yes: bool, as_json: bool) -> None:
    """Join by a code. Raises `Stop`, `NodeAway`, `Refused`, and `Invalid` for a mistyped one."""
    if code:
        read_code(code)
    if host:
        parse(host)
    port = need_serving(place.home).web_port
    fresh = not has_person(port)
    if fresh and code and yes:
        # Nobody to protect yet, and all is said: a script that sets a machine up may do this.
        page = Page(port, timeout=JOIN_S)
        view = _join(None, page, code, host or _only_offer(page))
    else:
        with Terminal() as terminal, _allowed(place, terminal, port, fresh=fresh) as page:
            _say(terminal, page)
            where = host or _where(terminal, page)
            if not yes:
                terminal.confirm("Join?" if where is None else f"Join {visible_line(where)}?")
            view = _join(terminal, page, code, where)
    if as_json:
        print_json(view)
        return
    click.echo(visible_line(view["sentence"]))


@contextlib.contextmanager
def _allowed(place: Place, terminal: Terminal, port: int, *, fresh: bool) -> Iterator[Page]:
    """The page's routes as whoever may join: anyone at all while nobody ever signed in."""
    if fresh:
        yield Page(port, timeout=JOIN_S)
    else:
        with signed_in(place, terminal, timeout=JOIN_S) as page:
            yield page


def _say(terminal: Terminal, page: Page) -> None:
    """Show what joining will do. Raises `Stop` when it is not possible."""
    consequences = page.get("joining")
    check_allowed(consequences)
    terminal.show(["", *(f"- {visible_line(line)}" for line in consequences["sentences"]), ""])


def check_allowed(consequences: dict[str, Any]) -> None:
    """Raise `Stop` with the reason and the way out, when it is not possible."""
    if not consequences["allowed"]:
        first, *rest = consequences["sentences"] or ["This is not possible here."]
        raise Stop(first, hint=" ".join(rest), code="conflict")


def _where(terminal: Terminal, page: Page) -> str | None:
    """The address of the machine to join: the one near by, or as the person says."""
    terminal.show(["Looking for machines near by that show a code …"])
    offers = page.get("pairing", "offers")["offers"]
    if len(offers) == 1:
        terminal.show([f"Found {_offer(offers[0])}."])
        return str(offers[0]["address"])
    if not offers:
        terminal.show(["None was found. The other machine shows its address below the code."])
        return terminal.ask("Address (HOST:PORT):").strip() or _no_address()
    terminal.show([f"{number}. {_offer(offer)}" for number, offer in enumerate(offers, 1)])
    typed = terminal.ask(f"Which one (1 to {len(offers)})?").strip()
    if not typed.isascii() or not typed.isdigit() or not 0 < int(typed[:9]) <= len(offers):
        raise Stop("That is none of them, so nothing was done.", code="not_confirmed")
    return str(offers[int(typed) - 1]["address"])


def _only_offer(page: Page) -> str:
    offers = page.get("pairing", "offers")["offers"]
    if len(offers) == 1:
        return str(offers[0]["address"])
    if not offers:
        return _no_address()
    names = ", ".join(_offer(offer) for offer in offers)
    raise Stop(f"Several machines show a code: {names}.", hint="Say which one by --host.")


def _no_address() -> str:
    raise Stop(
        "No machine near by shows a code.",
        hint="Run `askmesh node pair` on the other machine, then give the address it shows: --host",
        code="not_found",
    )


def _offer(offer: dict[str, Any]) -> str:
    return visible_line(f"{offer['machine']} ({offer['address']})")


def _join(
    terminal: Terminal | None, page: Page, code: str | None, where: str | None
) -> dict[str, Any]:
    for left in range(CODE_TRIES - 1, -1, -1):
        typed = code or _typed(terminal)
        try:
            with _known(), terminal.busy("Joining …") if terminal else contextlib.nullcontext():
                return page.post("joining", body={"code": typed, "address": where})
        except Refused as error:
            if code or terminal is None or error.code != "invalid" or not left:
                raise
            terminal.show([visible_line(error.message)])
    raise AssertionError


@contextlib.contextmanager
def _known() -> Iterator[None]:
    """Say what is not known when the reply does not come, or is not waited for."""
    hint = "Look with `askmesh node list`, here or on the other machine, before you try again."
    try:
        yield
    except NodeAway:
        sentence = "The node has not replied, so whether this machine joined is not known."
        raise Stop(sentence, hint=hint, exit_code=AWAY, code="node_away") from None
    except KeyboardInterrupt:
        sentence = "Not waited for any longer; whether this machine joined is not known."
        raise Stop(sentence, hint=hint, code="stopped") from None


def _typed(terminal: Terminal | None) -> str:
    code = terminal.ask("Code:").strip() if terminal else ""
    if not code:
        raise Stop("No code was typed, so nothing was done.", code="not_confirmed")
    return code
