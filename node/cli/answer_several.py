"""A person answers several asks at once: sees each whole, says yes once, each gets its vote."""

from collections.abc import Sequence
from typing import Any

import click

from node.cli.answer import RULING_S, UNDECIDED, Wish, ballot, check_useful, resolved, unchanged
from node.cli.card_text import RULE, ask_lines, one_line
from node.cli.output import print_json
from node.cli.place import Place
from node.cli.stop import KEPT, REFUSED, Stop
from node.cli.terminal import Terminal, signed_in
from sync.decide.visible import visible_line
from web.limits import VOTES_TOGETHER

COUNTS = frozenset({"accepted", "counted"})


def answer_several(place: Place, ids: Sequence[str], wish: Wish, *, as_json: bool) -> None:
    """Answer these asks alike. One that fails stops no other; then this ends with 1."""
    if len(ids) > VOTES_TOGETHER:
        raise Stop(
            f"{len(ids)} asks were named; at most {VOTES_TOGETHER} are answered together.",
            hint="Name fewer at a time.",
            code="limit",
        )
    with Terminal() as terminal:
        details = [place.call("show", {"ask_id": named}) for named in ids]
        wishes = [resolved(wish, detail["ask"]) for detail in details]
        terminal.show(_shown(details, wish, int(place.node()["now"])))
        for detail, one in zip(details, wishes, strict=True):
            check_useful(detail, one)
        _check_together(details, wish)
        terminal.confirm(_question(details, wish))
        with signed_in(place, terminal) as page:
            asks = [unchanged(page, detail["ask"]) for detail in details]
            votes = [ballot(ask, one, ask=ask["id"]) for ask, one in zip(asks, wishes, strict=True)]
            outcomes = page.post("votes", body={"votes": votes, "wait_s": RULING_S})["outcomes"]
    _report(asks, outcomes, as_json=as_json)


def _check_together(details: Sequence[dict[str, Any]], wish: Wish) -> None:
    """Refuse what the node would: asks named twice, and different calls allowed at once."""
    if len({detail["ask"]["id"] for detail in details}) != len(details):
        raise Stop("One ask is named twice; nothing was sent.", code="invalid")
    if wish.decision != "allow" or wish.unclear:
        return
    for detail in details[1:]:
        if _asked(detail) != _asked(details[0]):
            one, other = details[0]["ask"]["short"], detail["ask"]["short"]
            raise Stop(
                f"{one} and {other} ask for different calls; nothing was sent.",
                hint="Only identical calls can be allowed together. Allow the others one by one.",
                code="invalid",
            )


def _asked(detail: dict[str, Any]) -> object:
    """What is the same where two asks are for the same thing."""
    call, ask = detail["call"], detail["ask"]
    return (ask["title"], ask["detail"], ask["project"]) if call is None else call["canonical"]


def _shown(details: Sequence[dict[str, Any]], wish: Wish, now: int) -> list[str]:
    """Every ask: identical calls once in full and then by line, all others in full."""
    if wish.decision == "allow" and all(_asked(one) == _asked(details[0]) for one in details):
        rest = [one_line(detail["ask"]) for detail in details[1:]]
        return ["", *ask_lines(details[0], now), "", "and the same call for", *rest, ""]
    lines: list[str] = []
    for detail in details:
        lines += ["", RULE, *ask_lines(detail, now)]
    return [*lines, ""]


def _question(details: Sequence[dict[str, Any]], wish: Wish) -> str:
    names = ", ".join(detail["ask"]["short"] for detail in details)
    what = wish.decision.capitalize()
    if wish.unclear:
        return visible_line(f"Send all {len(details)} back as unclear: {names}?")
    said = f" with “{wish.choice or wish.text}”" if wish.decision == "answer" else ""
    return visible_line(f"{what} all {len(details)}{said}: {names}?")


def _report(
    asks: Sequence[dict[str, Any]], outcomes: Sequence[dict[str, Any]], *, as_json: bool
) -> None:
    states = []
    for ask, outcome in zip(asks, outcomes, strict=True):
        receipt, error = outcome["receipt"], outcome["error"]
        states.append(receipt["state"] if receipt else "refused")
        said = receipt["ask"]["card"]["sentence"] if receipt else error["message"]
        if not as_json:
            click.echo(visible_line(f"{ask['short']}  {said}"))
    if as_json:
        print_json({"outcomes": list(outcomes)})
    if any(state not in COUNTS | UNDECIDED for state in states):
        click.get_current_context().exit(REFUSED)
    if UNDECIDED & set(states):
        click.get_current_context().exit(KEPT)
