"""`node pair`: shows a code here, or uses one that another machine shows."""

import contextlib
import json
import math
import signal
import time
from collections.abc import Iterator
from typing import Any, Final

import click

from node.bridge.client import NodeAway, Refused
from node.cli.durations import span
from node.cli.node_join import join_by
from node.cli.page import Page, has_person
from node.cli.place import Place, pass_place
from node.cli.running import need_serving
from node.cli.stop import JSON_META, Stop
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import visible_line

POLL_S: Final = 1.0
"""How often the countdown moves, and the node is asked how the code stands."""

BORDER: Final = 2
"""White modules around a QR code: scanners need some, and four would not fit small screens."""


def _note_json(context: click.Context, _parameter: click.Parameter, value: bool) -> bool:
    context.meta[JSON_META] = value
    return value


@click.command(short_help="Show a code for another machine, or use one.")
@click.argument("code", metavar="[CODE]", required=False)
@click.option("--host", metavar="HOST:PORT", help="Where the code is shown, as written there.")
@click.option("--yes", is_flag=True, help="Join without asking y/N.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    callback=_note_json,
    help="Print one JSON object a line: the first has the code.",
)
@pass_place
def pair(place: Place, *, code: str | None, host: str | None, yes: bool, as_json: bool) -> None:
    """Show a one-time code, and wait until another machine has used it.

    The other machine uses it with `askmesh node pair CODE`, or with `askmesh node join`,
    which asks for the code. It lives ten minutes and is used up by the first try, right
    or wrong. Ctrl-C withdraws it. Needs your passphrase. For owners and admins.

    Example: askmesh node pair

    Example: askmesh node pair K7QF-9M2D-XW4T-X --host 192.168.1.20:40211
    """
    if code is not None or host is not None:
        join_by(place, code=code, host=host, yes=yes, as_json=as_json)
        return
    if yes:
        raise click.UsageError("--yes is for the machine that uses a code: give the code.")
    if not has_person(need_serving(place.home).web_port):
        raise Stop(
            "Nobody has ever signed in on this machine, so it cannot let another one in.",
            hint="To use the code that another machine shows, run: askmesh node join",
            code="not_allowed",
        )
    with Terminal() as terminal, signed_in(place, terminal) as page, withdrawn(page):
        _show_and_wait(place, terminal, page, as_json=as_json)


@contextlib.contextmanager
def withdrawn(page: Page) -> Iterator[None]:
    """Take the code away when nobody waits any longer: Ctrl-C, a closed window, a broken link."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        _withdraw(page)
        raise Stop("The code was withdrawn; nothing was paired.", code="stopped") from None
    except (OSError, NodeAway, Refused):
        _withdraw(page)
        raise


def _withdraw(page: Page) -> None:
    with contextlib.suppress(NodeAway, Refused):
        page.delete("pairing")


def _show_and_wait(place: Place, terminal: Terminal, page: Page, *, as_json: bool) -> None:
    view = page.post("pairing", body={})["pairing"]
    if as_json:
        _print_line(view)
    view = show_and_wait(place, terminal, page, view)
    if as_json:
        _print_line(view)
        return
    click.echo(visible_line(view["sentence"]))
    name = visible_line(view["machine"]["name"]) if view["machine"] else "NAME"
    click.echo(f"Say whose machine it is: askmesh node assign {name} PERSON")


def show_and_wait(
    place: Place, terminal: Terminal, page: Page, view: dict[str, Any]
) -> dict[str, Any]:
    """Show a code that was just made until it was used; how it ended. Raises `Stop`."""
    end = time.monotonic() + (view["expires"] - int(place.node()["now"])) / 1000
    terminal.show(_code_lines(view))
    view = _wait(terminal, page, view, end)
    if view["state"] != "paired":
        raise Stop(view["sentence"], hint=_again(view), code=_code_of(view))
    return view


def _wait(terminal: Terminal, page: Page, view: dict[str, Any], end: float) -> dict[str, Any]:
    """How the code ended; a countdown moves until then."""
    minted = view["id"]
    while view["state"] == "waiting":
        left = max(0, math.ceil(end - time.monotonic()))
        words = f"Waiting for the other machine: {span(left * 1000)} left. Ctrl-C withdraws it."
        terminal.restate(words)
        time.sleep(POLL_S)
        found = page.get("pairing")["pairing"]
        if found is None or found["id"] != minted:
            raise Stop(
                "Another code was made meanwhile, so this one is void.",
                hint="Only one code waits at a time.",
                code="stopped",
            )
        view = found
    terminal.restate("")
    return view


def _code_lines(view: dict[str, Any]) -> list[str]:
    code = visible_line(view["code"])
    lines = ["", *qr_lines(view["code"]), "", f"Code: {code}", ""]
    lines += ["On the other machine, within ten minutes:", f"  askmesh node pair {code}"]
    if view["addresses"]:
        lines += ["or, where it does not find this one:"]
        lines += [
            f"  askmesh node pair {code} --host {visible_line(address)}"
            for address in view["addresses"]
        ]
    return [*lines, ""]


def qr_lines(text: str) -> list[str]:
    """A QR code drawn in half blocks, dark on light whatever the terminal's colours are."""
    import segno

    rows = [list(row) for row in segno.make_qr(text, error="m").matrix_iter(border=BORDER)]
    if len(rows) % 2:
        rows.append([0] * len(rows[0]))
    glyphs = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}
    return [
        "\x1b[30;107m"
        + "".join(glyphs[upper, lower] for upper, lower in zip(above, below, strict=True))
        + "\x1b[0m"
        for above, below in zip(rows[::2], rows[1::2], strict=True)
    ]


def _print_line(view: dict[str, Any]) -> None:
    """How the code stands, for a program; the picture is for people."""
    click.echo(json.dumps({name: view[name] for name in view if name != "qr"}))


def _code_of(view: dict[str, Any]) -> str:
    return "pairing_failed" if view["state"] == "failed" else str(view["state"])


def _again(view: dict[str, Any]) -> str:
    return "" if view["state"] == "stopped" else "For a new code: askmesh node pair"
