"""Ask from a shell or a script: `ask`, and what follows an answer: `resolve`, `withdraw`."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, get_args

import click

from node.bridge import client
from node.cli.durations import Duration
from node.cli.output import json_option, print_json
from node.cli.place import Place, pass_place
from node.cli.stop import KEPT, REFUSED, Stop, stop_for
from node.desk.requests import Kind
from sync.decide.visible import visible, visible_line
from sync.errors import OnHold

GOOD: Final = frozenset({"allowed", "answered", "posted"})
SLACK_S: Final = 30.0
"""Beyond the wait itself, before a silent node counts as stuck."""

PATIENCE_S: Final = 10.0
"""A node that restarts is back within this; the request id makes the second try safe."""

AGAIN: Final = "Once the node runs (`askmesh up`), the same command with its --key waits again."


@click.command()
@click.option("--kind", type=click.Choice(get_args(Kind)), required=True, help="What kind of row.")
@click.option("--title", required=True, help="One line that stands alone.")
@click.option("--detail", default="", help="More, as plain text; - reads standard input.")
@click.option("--option", "options", multiple=True, metavar="O", help="A choice; repeat it.")
@click.option("--call", "call_text", metavar="JSON", help="The exact call; - reads standard input.")
@click.option("--deadline", type=Duration(), help="How long people have, for example 24h.")
@click.option("--fallback", help="What you will do yourself when nobody answers a question.")
@click.option("--key", help="The same key in the same session is the same ask.")
@click.option("--wait", type=Duration(), help="Wait this long for the answer, for example 60s.")
@json_option
@pass_place
def ask(
    place: Place,
    *,
    kind: str,
    title: str,
    detail: str,
    options: tuple[str, ...],
    call_text: str | None,
    deadline: float | None,
    fallback: str | None,
    key: str | None,
    wait: float | None,
    as_json: bool,
) -> None:
    """Ask people something, tell them something, or ask for approval.

    Prints the ask's id; with --wait the answer too. Ends with 0 when it is recorded
    (with --wait: allowed or answered), 1 when it was denied, declined, expired or
    withdrawn, 4 when it still waits, or its allow is held back (an account is on hold).
    To go on waiting, run it again with its --key.

    Example: askmesh ask --kind question --title "Port?" --option 8000 --option 9000 --wait 10m

    Example: askmesh ask --kind approval --title "Deploy" --call '{"tool":"deploy","arguments":{}}'
    """
    flag: dict[str, Any] = {
        "kind": kind,
        "title": title,
        "detail": _text(detail),
        "options": [{"label": label} for label in options],
        "call": _call(call_text),
        "deadline_s": deadline,
        "fallback": fallback,
        "key": key,
    }
    reply = place.call("flag", flag)
    with _it_stays():
        if not as_json:
            _say_recorded(reply)
        if wait is not None and reply["state"] != "posted":
            reply |= _waited(place, reply, wait)
            if not as_json:
                _say_answer(reply)
    if as_json:
        print_json(reply)
    if wait is not None:
        click.get_current_context().exit(_exit_code(reply["state"]))


@click.command()
@click.argument("ask_id", metavar="ID")
@click.option("--outcome", required=True, help="What came of it, in a sentence.")
@click.option("--failed", is_flag=True, help="It did not work out.")
@click.option("--token", type=int, help="Of the hand-over, as `ask --json` gave it.")
@json_option
@pass_place
def resolve(
    place: Place, *, ask_id: str, outcome: str, failed: bool, token: int | None, as_json: bool
) -> None:
    """Say what came of an answer your session took.

    Example: askmesh resolve k7qf-142 --outcome "Deployed 4.2"
    """
    arguments = {"ask_id": ask_id, "outcome": outcome, "ok": not failed, "token": token}
    reply = place.call("resolve", arguments)
    if as_json:
        print_json(reply)
    else:
        click.echo(f"{reply['id']} is resolved.")


@click.command()
@click.argument("ask_id", metavar="ID")
@click.option("--because", "reason", required=True, help="Why it is not needed any more.")
@json_option
@pass_place
def withdraw(place: Place, *, ask_id: str, reason: str, as_json: bool) -> None:
    """Close an open ask of your own session.

    Example: askmesh withdraw k7qf-142 --because "found it in the docs"
    """
    reply = place.call("withdraw", {"ask_id": ask_id, "reason": reason})
    if as_json:
        print_json(reply)
    else:
        click.echo(f"{reply['id']} is withdrawn.")


def _text(given: str) -> str:
    """The text as given; `-` stands for standard input."""
    return sys.stdin.read() if given == "-" else given


def _call(text: str | None) -> object:
    if text is None:
        return None
    try:
        text = _text(text)
        value: object = json.loads(text, parse_constant=_no_number)
        return value
    except (ValueError, RecursionError) as error:
        raise Stop(
            f"The call is not JSON: {error}.",
            hint='Write it as {"tool": "name", "arguments": {…}}.',
            code="invalid",
        ) from error


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _exit_code(state: str) -> int:
    if state == "waiting":
        return KEPT
    return 0 if state in GOOD else REFUSED


@contextmanager
def _it_stays() -> Iterator[None]:
    """From when it is recorded on, whoever leaves is told that it stays open."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("\nIt stays open; nobody waits for it here any more.", err=True)
        raise click.exceptions.Exit(KEPT) from None


def _waited(place: Place, recorded: dict[str, Any], wait: float) -> dict[str, Any]:
    """Where the ask stands after waiting, over restarts of the node.

    Raises `Stop` that names the ask: it is recorded, whatever became of the waiting.
    """
    try:
        return client.call(
            place.home,
            "await",
            place.who(),
            {"ask_id": recorded["full_id"], "wait_s": wait},
            timeout=wait + SLACK_S,
            patience=PATIENCE_S,
        )
    except client.Refused as error:
        # It is decided, and is handed over once the hold has ended: no verdict yet.
        kept = error.code == OnHold.code
        stop = stop_for(error)
        stop.exit_code = KEPT if kept else stop.exit_code  # type: ignore[misc]  # as in `Stop`
        raise _named(stop, recorded) from error
    except client.NodeAway as error:
        stop = stop_for(error)
        stop.hint = f"{recorded['id']} is recorded and stays open. {AGAIN}"
        raise _named(stop, recorded) from error


def _named(stop: Stop, recorded: dict[str, Any]) -> Stop:
    """The same, so that a script that reads the one object still knows its ask."""
    stop.more = {"id": recorded["id"], "full_id": recorded["full_id"]}
    return stop


def _say_recorded(reply: dict[str, Any]) -> None:
    click.echo(reply["id"])
    if reply["already_open"]:
        still = " and is still open" if reply["state"] == "waiting" else ""
        click.echo(f"This was asked before{still}.", err=True)
    if reply["state"] == "waiting" and not reply["reach"]:
        why = reply["reach_reason"] or "nobody is there"
        click.echo(f"Nobody can answer now: {visible_line(why)}. It is kept.", err=True)


def _say_answer(reply: dict[str, Any]) -> None:
    if reply["state"] == "waiting":
        click.echo("No answer yet; it stays open.", err=True)
        return
    for line in answer_lines(reply):
        click.echo(line)


def answer_lines(reply: dict[str, Any]) -> list[str]:
    """The answer: the verdict first, then the choice and the words of whoever gave it."""
    by = f" by {reply['by']}" if reply["by"] else ""
    reason = f": {reply['reason']}" if reply["reason"] else ""
    # Neither a no nor an answer: whoever reads "declined" would not ask again.
    state = "sent back as unclear" if reply.get("unclear") else reply["state"]
    lines = [visible_line(f"{state}{by}{reason}")]
    lines += [
        visible(f"{name}: {reply[name]}") for name in ("choice", "text", "because") if reply[name]
    ]
    if reply["state"] == "expired" and reply["fallback"]:
        lines.append(visible(f"your own fallback, nobody's answer: {reply['fallback']}"))
    return lines
