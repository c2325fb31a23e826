"""A first minute: two sample asks to answer on the page, which remove themselves."""

import time
from typing import Any, Final

import click

from node.bridge.client import NodeAway, Refused
from node.cli.ask import answer_lines
from node.cli.durations import Duration
from node.cli.place import Place, pass_place
from node.cli.running import need_serving
from sync.decide.visible import visible_line

SLICE_S: Final = 20.0
"""Each wait is this long, so that a node that stops is noticed."""

SESSION: Final = "askmesh-demo"
OVER: Final = "the demo is over"

SAMPLES: Final[tuple[dict[str, Any], ...]] = (
    {
        "kind": "question",
        "title": "Demo: which name should the new branch have?",
        "detail": "An agent would wait here for your choice. Nothing happens by your answer.",
        "options": [{"label": "tidy-up"}, {"label": "fix-login"}, {"label": "try-again"}],
        "fallback": "take tidy-up",
    },
    {
        "kind": "approval",
        "title": "Demo: send a greeting",
        "detail": "The call below is only shown: nothing is sent, whatever you say.",
        "call": {"tool": "greet", "arguments": {"to": "everyone", "text": "Hello from askmesh"}},
    },
)


@click.command(short_help="Try it out with two sample asks.")
@click.option("--wait", type=Duration(), default="10m", help="How long to wait. Default: 10m.")
@pass_place
def demo(place: Place, *, wait: float) -> None:
    """Raise a sample question and a sample approval, and show the answers.

    Answer them on the page, or here with `askmesh answer`. Ctrl-C takes them away.

    Example: askmesh demo
    """
    page = need_serving(place.home).page
    until = time.monotonic() + wait
    open_ids: list[str] = []
    try:
        open_ids += (_raise(place, sample, wait) for sample in SAMPLES)
        click.echo(f"Two samples wait for you on {page}")
        click.echo("(`askmesh open` opens it; Ctrl-C takes the samples away)\n")
        for ask_id in list(open_ids):
            answered = _follow(place, ask_id, until)
            if answered is None:
                click.echo("Time is over; the samples are taken away.")
                return
            open_ids.remove(ask_id)
            _say(place, answered)
        click.echo("That is all: an agent asks, you answer once, it goes on.")
    except KeyboardInterrupt:
        click.echo("\nThe samples are taken away.")
    finally:
        for ask_id in open_ids:
            _withdraw(place, ask_id)


def _as_demo(place: Place) -> dict[str, Any]:
    return place.who() | {"agent": "demo", "session": SESSION}


def _call(place: Place, route: str, arguments: dict[str, Any], wait: float = 0.0) -> dict[str, Any]:
    from node.bridge import client

    return client.call(place.home, route, _as_demo(place), arguments, timeout=wait + 30.0)


def _raise(place: Place, sample: dict[str, Any], wait: float) -> str:
    """Raise one sample; its full id."""
    reply = _call(place, "flag", sample | {"deadline_s": max(1.0, wait)})
    if not reply["reach"]:
        why = visible_line(reply["reach_reason"] or "nobody is there")
        click.echo(f"Nobody can answer {reply['id']} now: {why}.", err=True)
    return str(reply["full_id"])


def _follow(place: Place, ask_id: str, until: float) -> dict[str, Any] | None:
    """The answer, or None when the time is over."""
    while (left := until - time.monotonic()) > 0:
        wait = min(SLICE_S, left)
        reply = _call(place, "await", {"ask_id": ask_id, "wait_s": wait}, wait)
        if reply["state"] != "waiting":
            return reply
    return None


def _say(place: Place, reply: dict[str, Any]) -> None:
    for line in (reply["title"], *(f"  {line}" for line in answer_lines(reply)), ""):
        click.echo(line)
    if reply["token"] is not None:
        outcome = {"outcome": "Shown in the demo.", "ok": True, "token": reply["token"]}
        _call(place, "resolve", {"ask_id": reply["full_id"], **outcome})


def _withdraw(place: Place, ask_id: str) -> None:
    try:
        _call(place, "withdraw", {"ask_id": ask_id, "reason": OVER})
    except Refused:
        pass  # it was answered or expired in this moment
    except NodeAway as error:
        click.echo(f"{error.sentence} The samples expire by themselves.", err=True)
